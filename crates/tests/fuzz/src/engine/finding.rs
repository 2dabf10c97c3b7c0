//! An input that breaks a promise: kept as a file, with the way to see it again.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;

/// An input and what it did.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// What was fuzzed.
    pub target: &'a Target,
    /// What happened: a panic's message, a time, a signal.
    pub what: String,
    /// Where the input came from: a seed and a number, or another engine.
    pub origin: String,
}

impl Finding<'_> {
    /// Keeps the input in the folder and returns what to tell the user.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn keep(&self, folder: &Path, input: &[u8]) -> io::Result<String> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("finding-{:016x}", fingerprint(input)));
        fs::write(&path, input)?;
        self.describe(&path)
    }

    /// Writes the description beside an input that is a file already, and returns it.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn describe(&self, input: &Path) -> io::Result<String> {
        let mut text = format!("{} broke on an input\n", self.target.name);
        let _ = writeln!(text, "  what       {}", self.what.trim_end().replace('\n', "\n             "));
        let _ = writeln!(text, "  from       {}", self.origin);
        let _ = writeln!(text, "  input      {}", input.display());
        let _ = writeln!(text, "  reproduce  cargo xtask fuzz {} --replay {}", self.target.name, input.display());
        let mut beside = PathBuf::from(input).into_os_string();
        beside.push(".txt");
        fs::write(beside, &text)?;
        Ok(text)
    }
}

/// A name for an input: FNV-1a.
fn fingerprint(input: &[u8]) -> u64 {
    input.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::{Finding, fingerprint};
    use crate::TARGETS;

    #[test]
    fn a_finding_is_kept_with_the_way_to_reproduce_it() {
        let folder = std::env::temp_dir().join(format!("etw-fuzz-finding-{}", std::process::id()));
        let finding = Finding { target: &TARGETS[0], what: "it\npanicked".into(), origin: "a test".into() };
        let text = finding.keep(&folder, b"input").unwrap();
        let path = folder.join(format!("finding-{:016x}", fingerprint(b"input")));
        assert_eq!(std::fs::read(&path).unwrap(), b"input");
        assert!(text.contains(&format!("cargo xtask fuzz etl --replay {}", path.display())), "{text}");
        assert_eq!(std::fs::read_to_string(path.with_extension("txt")).unwrap(), text);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn other_inputs_have_other_names() {
        assert_ne!(fingerprint(b"a"), fingerprint(b"b"));
    }
}
