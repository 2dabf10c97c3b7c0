//! The symbolic names of Win32 error codes, without `ERROR_`.
//!
//! Each line of the table contains a code, its name, and the names of the consecutive codes that follow. The names are
//! those of Microsoft's metadata, `windows-sys` 0.61.

const NAMES: &str = include_str!("names.txt");

/// Returns the name of a code, if it has one.
pub(super) fn name(code: u32) -> Option<&'static str> {
    entries().find(|(number, _)| *number == code).map(|(_, name)| name)
}

fn entries() -> impl Iterator<Item = (u32, &'static str)> {
    NAMES.lines().flat_map(|line| {
        let (first, names) = line.split_once(' ').unwrap_or_default();
        // The tests read every line, so they would find an invalid number.
        (first.parse().unwrap_or(u32::MAX)..).zip(names.split(' '))
    })
}

#[cfg(test)]
mod tests {
    use etw_types::Win32Error;

    use super::{entries, name};

    #[test]
    fn codes_rise_and_names_are_names() {
        let all: Vec<_> = entries().collect();
        assert!(all.len() > 2000);
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || b"_0123456789".contains(&byte));
        assert!(all.iter().all(|(code, name)| *code < 0x1_0000 && !name.is_empty() && is_name(name)));
    }

    #[test]
    fn the_names_that_other_crates_know_are_the_same() {
        let known = (0..0x1_0000).filter_map(|code| Some((code, Win32Error::from_int(code).name()?)));
        let mut count = 0;
        for (code, full) in known {
            assert_eq!(name(code), full.strip_prefix("ERROR_"), "{code}");
            count += 1;
        }
        assert!(count > 30);
    }
}
