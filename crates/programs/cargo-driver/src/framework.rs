//! `cargo driver framework`, and the framework that tests and runs use.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use driver_build::{Error, Host};
use driver_package::verify::{self, Context, Trust};

use crate::arguments::{Framework, here};

/// The environment variable that names nt-host's framework. If it is empty, that is the imitation.
pub(crate) const VARIABLE: &str = "NT_HOST_FRAMEWORK";

/// Runs the command of nt-host, which keeps the copies. A file must have a signature of Microsoft's.
pub(crate) fn framework(host: &Host, line: &Framework) -> Result<(), Error> {
    let words: Vec<OsString> = match line {
        Framework::Add { file } => {
            check_signature(file)?;
            vec!["add".into(), file.into()]
        }
        Framework::List => vec!["list".into()],
        Framework::Remove { version } => vec!["remove".into(), version.into()],
    };
    host.program("nt-host").args(["framework"]).args(words).replace_ourselves()
}

fn check_signature(file: &Path) -> Result<(), Error> {
    let bytes = fs::read(file).map_err(|error| Error::Usage(format!("{}: {error}", file.display())))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let account = verify::file(file, &bytes, None, &Context::new(now));
    if account.trust() >= Trust::Pinned {
        return Ok(());
    }
    let objection = account.objection().map(|check| format!("{}: {}", check.what, check.text));
    let reason = objection.unwrap_or_else(|| "its certificates do not lead to a root of Microsoft's".into());
    Err(Error::Usage(format!("{} is not Microsoft's framework: {reason}", file.display())))
}

/// Returns the framework that the command line or the driver's settings choose. The environment comes before the settings,
/// and nt-host reads it itself.
pub(crate) fn chosen(option: Option<&Path>, setting: Option<PathBuf>) -> Option<PathBuf> {
    choose(option, env::var_os(VARIABLE).is_some(), setting)
}

/// A path becomes absolute, because tests run in another folder.
fn choose(option: Option<&Path>, is_in_environment: bool, setting: Option<PathBuf>) -> Option<PathBuf> {
    let option = option.map(|path| if path.exists() { here(path) } else { path.to_owned() });
    option.or_else(|| setting.filter(|_| !is_in_environment))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::choose;

    #[test]
    fn the_option_comes_before_the_environment_and_the_environment_before_the_settings() {
        let option = Some(Path::new("1.9"));
        let setting = Some(PathBuf::from("1.33"));
        assert_eq!(choose(option, true, setting.clone()).as_deref(), Some(Path::new("1.9")));
        assert_eq!(choose(None, true, setting.clone()), None);
        assert_eq!(choose(None, false, setting.clone()), setting);
        assert_eq!(choose(None, false, None), None);
        let dir = choose(Some(Path::new("src")), false, setting).unwrap();
        assert!(dir.is_absolute(), "{}", dir.display());
        assert!(dir.ends_with("src"), "{}", dir.display());
    }
}
