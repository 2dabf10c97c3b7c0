//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use windows_releases::{Release, UnknownRelease};

/// The help text, with the releases of Windows.
pub(crate) fn help() -> String {
    format!("{HELP}\n\nreleases of Windows:\n{}", Release::list())
}

const HELP: &str = "\
Runs the sample driver under a session and shows what it traced.

usage: demo FILE.sys --output FOLDER [--os RELEASE]

  --output FOLDER  where demo.etl, demo.json and demo.html go
  --os RELEASE     the Windows that is imitated, from the list below (win11-24h2)

exit codes: 0 done; 1 failed, or the driver did something wrong; 2 wrong usage";

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) image: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) os: Release,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Run(Options),
}

pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let (mut image, mut output, mut os) = (None, None, Release::default());
    while let Some(argument) = arguments.next() {
        // Files may have names that are no text; nothing else may.
        let word = argument.to_string_lossy();
        let mut value = || arguments.next().ok_or_else(|| format!("`{word}` needs a value"));
        match word.as_ref() {
            "-h" | "--help" => return Ok(Command::Help),
            "--output" => output = Some(PathBuf::from(value()?)),
            "--os" => os = value()?.to_string_lossy().parse().map_err(|error: UnknownRelease| error.to_string())?,
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            _ if image.is_none() => image = Some(PathBuf::from(&argument)),
            _ => return Err(format!("`{word}` is one file too many")),
        }
    }
    let image = image.ok_or("no file given")?;
    Ok(Command::Run(Options { image, output: output.ok_or("`--output` is missing")?, os }))
}

#[cfg(test)]
mod tests {
    use windows_releases::Release;

    use super::{Command, parse};
    use std::ffi::OsString;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        line.split_whitespace().map(OsString::from).collect::<Vec<_>>().into_iter()
    }

    #[cfg(unix)]
    #[test]
    fn files_may_have_names_that_are_no_text() {
        let odd: OsString = std::os::unix::ffi::OsStringExt::from_vec(b"a\xFF.sys".to_vec());
        let Ok(Command::Run(options)) = parse(words("--output out").chain([odd.clone()])) else { panic!("a run") };
        assert_eq!(options.image.as_os_str(), odd);
        assert!(parse(words("a.sys --output out --os").chain([odd])).unwrap_err().contains("unknown Windows release"));
    }

    #[test]
    fn a_run_is_described() {
        let Ok(Command::Run(options)) = parse(words("a.sys --output out --os win7")) else { panic!("a run") };
        assert_eq!((options.image.to_str(), options.output.to_str()), (Some("a.sys"), Some("out")));
        assert_eq!(options.os, Release::Win7);
        assert_eq!(parse(words("--help")), Ok(Command::Help));
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        for (line, reason) in [
            ("", "no file given"),
            ("a.sys", "`--output` is missing"),
            ("a.sys b.sys --output out", "`b.sys` is one file too many"),
            ("a.sys --output", "`--output` needs a value"),
            ("--fast", "unknown option `--fast`"),
        ] {
            assert_eq!(parse(words(line)), Err(reason.into()), "{line}");
        }
    }
}
