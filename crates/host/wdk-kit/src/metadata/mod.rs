//! C headers and lists of exports from Microsoft's metadata.
//!
//! The metadata is what `windows-bindgen` 0.66 publishes, `Windows.Wdk.winmd` and `Windows.Win32.winmd`. `kit/metadata` says
//! which parts of it are used; what the headers in `kit/include` declare themselves is left alone.

mod declared;
mod header;
mod records;
mod select;
mod table;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use windows_metadata::reader::{File, Index};

use header::Text;
use table::Table;
use types::Speller;

/// A processor, as the metadata numbers it.
#[derive(Clone, Copy)]
pub(crate) struct Processor {
    /// The macro that is defined for it.
    pub(crate) macro_name: &'static str,
    pub(crate) bit: i32,
}

/// x64 and ARM64.
pub(crate) const PROCESSORS: [Processor; 2] =
    [Processor { macro_name: "_AMD64_", bit: 2 }, Processor { macro_name: "_ARM64_", bit: 4 }];

/// What is generated.
#[derive(Default)]
pub(crate) struct Generated {
    /// Each header's two halves by its name, for all processors.
    pub(crate) headers: BTreeMap<String, (String, String)>,
    /// What each module exports, for all processors.
    pub(crate) exports: BTreeMap<String, BTreeSet<String>>,
}

/// Reads the metadata in `folder` and writes headers; `tables` and `written` are the texts of `kit/metadata` and of the
/// headers that are written by hand.
pub(crate) fn generate(folder: &Path, tables: &[(&str, &str)], written: &[&str]) -> Result<Generated, String> {
    let mut table = Table::default();
    for (name, text) in tables {
        if name.ends_with(".h") {
            table.records.extend(declared::records(text));
        } else {
            table.read(name, text)?;
        }
    }
    let mut declared = BTreeSet::new();
    for text in written {
        declared.extend(declared::names(text));
    }
    let mut generated = Generated::default();
    for processor in PROCESSORS {
        let files = ["Windows.Wdk.winmd", "Windows.Win32.winmd"].map(|name| {
            let path = folder.join(name);
            File::read(&path).ok_or_else(|| format!("{}: not readable as metadata", path.display()))
        });
        let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
        let index = Index::new_for_architecture(files, processor.bit);
        let speller = Speller::new(&index, &table);
        for_processor(&speller, processor, &declared, &mut generated);
    }
    Ok(generated)
}

fn for_processor(speller: &Speller<'_>, processor: Processor, declared: &BTreeSet<String>, generated: &mut Generated) {
    let headers = select::select(speller, declared);
    let mut names = declared.clone();
    // Names of the metadata are not given to pointers, wherever they are.
    for (_, header) in &headers {
        names.extend(header.types.iter().map(|of| of.name().trim_start_matches('_').to_owned()));
        names.extend(header.constants.iter().map(|(name, _)| name.clone()));
        names.extend(header.routines.iter().map(|of| of.method.name().to_owned()));
    }
    for (name, header) in &headers {
        let Text { early, late } = header::write(speller, header, &mut names);
        let (all_early, all_late) = generated.headers.entry(name.clone()).or_default();
        for (text, all) in [(early, all_early), (late, all_late)] {
            let _ = write!(all, "#if defined({})\n{text}#endif\n", processor.macro_name);
        }
        for routine in &header.routines {
            generated.exports.entry(routine.module.clone()).or_default().insert(routine.method.name().to_owned());
        }
    }
}
