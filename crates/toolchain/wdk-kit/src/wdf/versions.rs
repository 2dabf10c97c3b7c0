//! The differences between versions of the framework.
//!
//! ```text
//! functions 15 444                    KMDF 1.15 has the first 444 functions of the table
//! since 19 WDF_X WDF_Y.Field Member   types, fields and enumerators that are not in versions before 1.19
//! value 15 Member 3                   an enumerator that has another value in 1.15 and before
//! ```

use std::collections::BTreeMap;

use super::notation::{Declaration, What};
use super::reader::entries;

/// The minor versions of KMDF 1 that the kit has.
pub const MINORS: [u8; 11] = [9, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33];

/// The lines of the file, by name.
#[derive(Default)]
pub(crate) struct Versions {
    functions: BTreeMap<u8, usize>,
    since: BTreeMap<String, u8>,
    /// Values up to a version, the oldest first.
    values: BTreeMap<String, Vec<(u8, String)>>,
}

impl Versions {
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, String> {
        let mut versions = Self::default();
        for (place, entry) in entries(file, text)? {
            let words: Vec<&str> = entry.split_whitespace().collect();
            let understood = match words.as_slice() {
                ["functions", minor, count] => minor.parse().ok().zip(count.parse().ok()).map(|(minor, count)| {
                    versions.functions.insert(minor, count);
                }),
                ["since", minor, names @ ..] => minor.parse().ok().map(|minor: u8| {
                    versions.since.extend(names.iter().map(|name| ((*name).to_owned(), minor)));
                }),
                ["value", minor, name, value] => minor.parse().ok().map(|minor: u8| {
                    versions.values.entry((*name).to_owned()).or_default().push((minor, (*value).to_owned()));
                }),
                _ => None,
            };
            understood.ok_or_else(|| place.error("expected `functions`, `since` or `value` with a minor version"))?;
        }
        for values in versions.values.values_mut() {
            values.sort();
        }
        Ok(versions)
    }

    /// Returns the number of functions in a version.
    pub(crate) fn functions(&self, minor: u8) -> Option<usize> {
        self.functions.get(&minor).copied()
    }

    /// Returns the declaration as it is in a version, or `None` if the version does not have it.
    pub(crate) fn filter(&self, declaration: &Declaration, minor: u8) -> Option<Declaration> {
        let is_there = |name: &str| self.since.get(name).is_none_or(|since| *since <= minor);
        if !is_there(&declaration.name) {
            return None;
        }
        let mut known = declaration.clone();
        // The version is part of the name of the function table.
        known.name = known.name.replace("WdfFunctions_01033", &format!("WdfFunctions_010{minor:02}"));
        match &mut known.what {
            What::Record(fields) | What::Union(fields) => {
                fields.retain(|field| is_there(&format!("{}.{}", declaration.name, field.name)));
            }
            What::Enumeration(members) => {
                members.retain(|(name, _)| is_there(name));
                for (name, value) in members {
                    let older = self.values.get(name).and_then(|all| all.iter().find(|(until, _)| minor <= *until));
                    if let Some((_, older)) = older {
                        value.clone_from(older);
                    }
                }
            }
            _ => {}
        }
        Some(known)
    }
}
