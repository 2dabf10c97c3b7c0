//! The command line.

use std::path::PathBuf;

use clap::Parser;
use command_line::{VERSION, exit};
use windows_releases::Release;

/// Runs the sample driver under a trace session and shows its events.
#[derive(Clone, Debug, Parser, PartialEq, Eq)]
#[command(
    name = "demo",
    version = VERSION,
    max_term_width = 100,
    after_help = format!("{}\n\nReleases of Windows:\n{}", exit::HELP, Release::list())
)]
pub(crate) struct Options {
    /// The driver's image
    #[arg(value_name = "FILE.sys")]
    pub(crate) image: PathBuf,
    /// The folder for demo.etl, demo.json and demo.html
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: PathBuf,
    /// The release of Windows to emulate, from the list below
    #[arg(long, value_name = "RELEASE", default_value_t)]
    pub(crate) os: Release,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;
    use windows_releases::Release;

    use super::Options;

    fn parse(line: &str, last: Option<OsString>) -> Result<Options, String> {
        let words = ["demo"].into_iter().chain(line.split_whitespace()).map(OsString::from).chain(last);
        Options::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn files_may_have_names_that_are_not_valid_utf_8() {
        let odd: OsString = std::os::unix::ffi::OsStringExt::from_vec(b"a\xFF.sys".to_vec());
        assert_eq!(parse("--output out", Some(odd.clone())).unwrap().image.as_os_str(), odd);
        assert!(parse("a.sys --output out --os", Some(odd)).is_err());
    }

    #[test]
    fn a_run_is_described() {
        let options = parse("a.sys --output out --os win7", None).unwrap();
        assert_eq!((options.image.to_str(), options.output.to_str()), (Some("a.sys"), Some("out")));
        assert_eq!(options.os, Release::Win7);
    }

    #[test]
    fn a_wrong_command_line_is_refused_with_its_reason() {
        for (line, reason) in [
            ("--output out", "<FILE.sys>"),
            ("a.sys", "--output <FOLDER>"),
            ("a.sys b.sys --output out", "unexpected argument 'b.sys'"),
            ("a.sys --output out --os win3", "unknown Windows release `win3`"),
        ] {
            let error = parse(line, None).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
