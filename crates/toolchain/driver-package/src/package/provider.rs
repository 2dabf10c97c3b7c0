//! The driver's ETW providers, found in its image.
//!
//! A TraceLogging provider has its traits in the image: a size, its name, and records. `TraceLoggingProvider.h` puts them into blobs
//! with the provider's id. Others, such as `wdk-etw`, have the id elsewhere; it is derived from the name, so that a name whose id is
//! also in the image is a provider's, also if another tool wrote it. A provider of a manifest is in a resource. One whose name is made at run time is not found.

use std::collections::HashMap;
use std::path::Path;

use etw_types::{Guid, traits};
use memchr::memmem;

use super::events::BLOBS;
use super::manifest;
use crate::problem::Problem;

/// A provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) id: Guid,
}

/// The type of a blob with a provider: one byte, followed by the id and the traits.
const BLOB: u8 = 4;
/// The longest traits that are looked for, and the most that are compared with ids: both bound the work.
const LONGEST: usize = 1024;
const MOST: usize = 4096;

impl Provider {
    /// The provider of this name. Its id is that in the image, or the one that is derived from the name.
    fn named(name: &str, image: &[u8]) -> Self {
        let mut all = Self::all(image).into_iter().chain(Self::from_manifest(image));
        let found = all.find(|provider| provider.name.eq_ignore_ascii_case(name));
        Self { name: name.to_owned(), id: found.map_or_else(|| Guid::from_name(name), |provider| provider.id) }
    }

    /// The provider that a package records: the one that was asked for, or the first in the image; that of a manifest only if there is no
    /// other. With several, a warning names them.
    pub(super) fn choose(asked: Option<&str>, image: &[u8], file: &Path, warnings: &mut Vec<Problem>) -> Option<Self> {
        if let Some(name) = asked {
            return Some(Self::named(name, image));
        }
        let mut all = Self::all(image);
        if all.is_empty() {
            all = Self::from_manifest(image);
        }
        if let [first, _, ..] = all.as_slice() {
            let names: Vec<&str> = all.iter().map(|provider| provider.name.as_str()).collect();
            let text = format!(
                "the image has the providers {}; the scripts record {}: choose another one with --provider",
                names.join(", "),
                first.name
            );
            warnings.push(Problem::warning(file, "provider", text));
        }
        all.into_iter().next()
    }

    /// The providers of the manifest in an image. One without a name is called by its id.
    fn from_manifest(image: &[u8]) -> Vec<Self> {
        let named = |provider: etw_manifest::manifest::Provider| {
            let name = if provider.name.is_empty() { provider.guid.to_string() } else { provider.name };
            Self { name, id: provider.guid }
        };
        manifest::providers(image).into_iter().map(named).collect()
    }

    /// The TraceLogging providers in an image, in the order of their traits.
    pub(super) fn all(image: &[u8]) -> Vec<Self> {
        let has_blobs = memmem::find(image, &BLOBS).is_some();
        let mut found: Vec<(usize, Self)> = Vec::new();
        let mut candidates = HashMap::<[u8; 16], (usize, Self)>::new();
        for at in 0..image.len() {
            let Some(name) = name_at(image, at) else { continue };
            let blob = at.checked_sub(17).and_then(|start| image.get(start..at)?.split_first());
            match blob {
                Some((&BLOB, id)) if has_blobs => {
                    let id = id.first_chunk().map(|id| Guid::from_bytes_le(*id)).unwrap_or_default();
                    found.push((at, Self { name: name.to_owned(), id }));
                }
                _ if candidates.len() < MOST => {
                    let id = Guid::from_name(name);
                    candidates.entry(id.to_bytes_le()).or_insert_with(|| (at, Self { name: name.to_owned(), id }));
                }
                _ => {}
            }
        }
        for bytes in image.windows(16) {
            if candidates.is_empty() {
                break;
            }
            found.extend(bytes.first_chunk().and_then(|id| candidates.remove(id)));
        }
        found.sort_by_key(|(at, _)| *at);
        let mut all: Vec<Self> = Vec::new();
        for (_, provider) in found {
            if !all.contains(&provider) {
                all.push(provider);
            }
        }
        all
    }
}

/// The name in the traits at a place of an image, if there are any.
fn name_at(image: &[u8], at: usize) -> Option<&str> {
    let rest = image.get(at..)?;
    let size = usize::from(u16::from_le_bytes(*rest.first_chunk()?));
    let traits = traits::validate(rest.get(..size.min(LONGEST))?).ok()?;
    let name = str::from_utf8(traits.name()).ok()?;
    (!name.is_empty() && !name.contains(char::is_control)).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use etw_types::Guid;

    use super::{BLOB, BLOBS, LONGEST, Provider};

    fn traits(name: &str) -> Vec<u8> {
        let size = u16::try_from(name.len() + 3).unwrap();
        [&size.to_le_bytes(), name.as_bytes(), &[0]].concat()
    }

    fn names(image: &[u8]) -> Vec<String> {
        Provider::all(image).into_iter().map(|provider| provider.name).collect()
    }

    #[test]
    fn a_name_whose_id_is_in_the_image_is_a_provider() {
        let id = Guid::from_name("My.Driver").to_bytes_le();
        let image = [&[1, 2, 3], traits("My.Driver").as_slice(), &[0; 9], &id, &traits("Other")].concat();
        assert_eq!(Provider::all(&image), [Provider { name: "My.Driver".into(), id: Guid::from_name("My.Driver") }]);
        assert_eq!(names(&traits("My.Driver")), [""; 0], "without the id, it may be any text");
        for end in 0..image.len() {
            let _ = Provider::all(&image[..end]);
        }
    }

    #[test]
    fn a_blob_of_microsofts_header_has_the_id() {
        let id = Guid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        let blob = [&[BLOB], id.to_bytes_le().as_slice(), &traits("My.Driver")].concat();
        let image = [b"ETW0\x10\0\0\x01", BLOBS.as_slice(), &blob, &[1]].concat();
        assert_eq!(Provider::all(&image), [Provider { name: "My.Driver".into(), id }]);
        assert_eq!(Provider::named("my.driver", &image).id, id);
        assert_eq!(Provider::named("Other", &image).id, Guid::from_name("Other"));
        assert_eq!(names(&blob), [""; 0], "without the header");
    }

    #[test]
    fn of_several_providers_the_first_is_recorded_and_all_are_named() {
        let image: Vec<u8> = ["B", "A"]
            .iter()
            .flat_map(|name| [traits(name), Guid::from_name(name).to_bytes_le().to_vec()].concat())
            .collect();
        let mut warnings = Vec::new();
        let chosen = Provider::choose(None, &image, Path::new("a.sys"), &mut warnings).unwrap();
        assert_eq!(chosen.name, "B");
        assert!(warnings[0].text.contains("providers B, A"), "{warnings:?}");
        assert!(warnings[0].text.contains("--provider"), "{warnings:?}");
        assert_eq!(Provider::choose(Some("A"), &image, Path::new("a.sys"), &mut Vec::new()).unwrap().name, "A");
    }

    #[test]
    fn an_image_that_is_full_of_names_takes_no_longer() {
        let name = "x".repeat(LONGEST - 4);
        let image = traits(&name).repeat(2000);
        assert_eq!(names(&image), [""; 0]);
    }
}
