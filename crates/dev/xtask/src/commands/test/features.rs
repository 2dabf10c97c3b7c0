//! Checks the crates with the choices of Cargo features that the other steps do not build.
//!
//! The other steps build the whole workspace at once. Cargo then enables every feature that any crate asks for, which
//! hides code that does not compile without it.

use super::build_once;
use crate::context::Context;
use crate::steps::{Outcome, Step};
use driver_build::Error;

pub(super) const STEP: Step = Step::new("features", "crates with and without their features", check);

/// A package, and the arguments that choose its features. The other steps build the default choices.
const CHOICES: [(&str, &[&str]); 10] = [
    ("command-line", &["--no-default-features"]),
    ("etw-types", &[]),
    ("etw-types", &["--features=std"]),
    ("wdk-etw", &[]),
    ("wdk-etw-log", &["--no-default-features"]),
    ("etw-manifest", &["--no-default-features"]),
    ("windows-releases", &["--no-default-features"]),
    ("etwctl", &["--no-default-features"]),
    ("etwctl", &[]),
    ("etwctl", &["--features=tls"]),
];

fn check(context: &Context) -> Result<Outcome, Error> {
    for (package, choice) in CHOICES {
        let check = build_once(context.cargo()).args(["check", "--quiet", "--package", package]).args(choice);
        // Warnings of a dependency in a local folder are shown to its users.
        let (_, messages, result) = check.run_silently();
        if result.is_err() || messages.contains("warning:") {
            return Err(Error::Failed(format!("{package} {}\n{}", choice.join(" "), messages.trim_end())));
        }
    }
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::CHOICES;
    use crate::context::Context;
    use std::fs;

    /// The feature that only the sample enables: it needs a kit.
    const OF_THE_SAMPLE: (&str, &str) = ("wdk-etw", "wdk-sys");

    /// The feature of a package that is not a member of the workspace. A test of cargo-driver builds the sample without it.
    const OUTSIDE: (&str, &str) = ("wdk-kmdf", "kmdf-1-15");

    /// The folders of crates that users build, with or without their features.
    const PRODUCTS: [&str; 6] = ["driver", "base", "traces", "machine", "toolchain", "programs"];

    /// Returns the lines of a manifest that declare features.
    fn features(manifest: &str) -> Vec<(&str, &str)> {
        let lines = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once(" = ")).collect()
    }

    #[test]
    fn every_feature_is_checked_with_and_without() {
        let context = Context::new(Vec::new());
        let read = |manifest| fs::read_to_string(context.path(manifest)).unwrap();
        let mut checked = Vec::new();
        for dir in PRODUCTS.map(|product| context.path(&format!("crates/{product}"))) {
            let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
            for dir in entries.filter(|path| path.is_dir()) {
                let package = dir.file_name().unwrap().to_str().unwrap();
                let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
                let declared = features(&manifest);
                let default = declared.iter().find(|(name, _)| *name == "default").map_or("", |(_, list)| list);
                let is_checked = |feature: &str| feature != "default" && (package, feature) != OUTSIDE;
                for (feature, _) in declared.iter().filter(|(feature, _)| is_checked(feature)) {
                    let on = format!("--features={feature}");
                    let is_default = default.contains(&format!("\"{feature}\""));
                    let without: &[&str] = if is_default { &["--no-default-features"] } else { &[] };
                    let needs_on = !is_default && (package, *feature) != OF_THE_SAMPLE;
                    assert!(CHOICES.contains(&(package, without)), "{package} is not checked without {feature}");
                    let with = CHOICES.contains(&(package, &[&on]));
                    assert_eq!(with, needs_on, "{package} with {feature}");
                    checked.push(format!("{package}/{feature}"));
                }
            }
        }
        assert!(checked.contains(&"etwctl/tls".into()), "{checked:?}");
        assert!(read("driver-sample/Cargo.toml").contains("wdk-etw\", features = [\"wdk-sys\"]"));
    }
}
