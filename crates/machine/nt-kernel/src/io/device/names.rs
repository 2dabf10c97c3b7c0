//! Device names: their spellings, and the resolution of symbolic links.

use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::GuestPtr;

use crate::case::is_same_name;
use crate::ex::paths::canonical;
use crate::io::device::{Device, Link};
use crate::{kernel, lock};

/// The maximum number of symbolic links that are followed, so that a circle of links ends.
const MAX_LINKS: u32 = 32;

/// Returns whether two names are spellings of the same name.
pub fn are_same(one: &str, other: &str) -> bool {
    is_same_name(&canonical(one), &canonical(other))
}

/// Returns the part of `name` that follows `base`: empty, or a path that begins with a backslash.
pub fn rest_behind(name: &str, base: &str) -> Option<String> {
    let name = canonical(name);
    let base = canonical(base);
    let same = !base.is_empty() && is_same_name(name.get(..base.len())?, &base);
    let rest = name.get(base.len()..).filter(|rest| same && (rest.is_empty() || rest.starts_with('\\')));
    rest.map(str::to_owned)
}

/// Follows symbolic links.
fn follow(links: &[Link], name: &str) -> String {
    let mut name = name.to_owned();
    for _ in 0..MAX_LINKS {
        let next = links.iter().find_map(|link| Some(format!("{}{}", link.target, rest_behind(&name, &link.name)?)));
        match next {
            Some(next) => name = next,
            None => break,
        }
    }
    name
}

/// Returns the device that a name resolves to, and the part of the name that follows the device's name.
pub fn resolve(name: &str) -> Option<(GuestPtr<DEVICE_OBJECT>, String)> {
    let io = lock(&kernel().io);
    let name = follow(&io.links, name);
    let named = |device: &Device| Some((device.object, rest_behind(&name, &device.name)?));
    // If several device names match, the longest one is used.
    io.devices.iter().filter_map(named).min_by_key(|(_, rest)| rest.len())
}

#[cfg(test)]
mod tests {
    use super::{Link, are_same, follow, rest_behind};

    #[test]
    fn spellings_of_a_win32_name_are_one_name() {
        for name in [r"\\.\Foo", r"\DosDevices\Foo", r"\??\foo", r"\GLOBAL??\FOO", r"\DosDevices\Global\Foo"] {
            assert!(are_same(name, r"\??\Foo"), "{name}");
        }
        assert!(!are_same(r"\Device\Foo", r"\??\Foo"));
    }

    #[test]
    fn links_lead_on_and_the_rest_is_for_the_driver() {
        let link = |name: &str, target: &str| Link { name: name.into(), target: target.into(), from: 0 };
        let links = [link(r"\DosDevices\Foo", r"\??\Bar"), link(r"\??\Bar", r"\Device\Foo0")];
        assert_eq!(follow(&links, r"\\.\foo\a\b"), r"\Device\Foo0\a\b");
        assert_eq!(rest_behind(r"\Device\Foo0\a\b", r"\Device\foo0").as_deref(), Some(r"\a\b"));
        assert_eq!(rest_behind(r"\Device\Foo01", r"\Device\Foo0"), None);
        // A circle of links must not hang.
        let circle = [link(r"\??\A", r"\??\B"), link(r"\??\B", r"\??\A")];
        assert!(follow(&circle, r"\??\A").starts_with(r"\??\"));
    }
}
