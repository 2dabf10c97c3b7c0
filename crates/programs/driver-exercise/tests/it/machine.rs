//! A stand-in for a Windows machine that plays the sample's trace, which nt-host makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use driver_exercise::{Evidence, Plan, expect};
use test_support::windows;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository")
}

pub(crate) fn manifest() -> PathBuf {
    root().join("driver-sample/Cargo.toml")
}

/// What nt-host made of the sample's plan: the expected trace, another one of the same steps, and the replies.
pub(crate) struct Made {
    pub(crate) expected: PathBuf,
    played: PathBuf,
    replies: String,
}

pub(crate) static MADE: LazyLock<Made> = LazyLock::new(|| {
    let image = root().join("target/driver/x64/driver_sample.sys");
    assert!(image.is_file(), "{} is not there: run `cargo xtask build` first", image.display());
    let (_, plan) = Plan::from_manifest(&manifest()).unwrap();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [expected, played] = ["expected.etl", "played.etl"].map(|name| dir.join(name));
    let replies = expect::run(&image, &plan, &expected).unwrap();
    assert_eq!(expect::run(&image, &plan, &played).unwrap().len(), replies.len());
    let replies: Vec<String> = replies.iter().map(|reply| serde_json::to_string(reply).unwrap()).collect();
    Made { expected, played, replies: replies.join("\n") + "\n" }
});

/// A machine with a package.
pub(crate) struct Machine(pub(crate) windows::Machine);

impl Machine {
    pub(crate) fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("machine-{name}"));
        let machine = windows::Machine::new(&dir, &MADE.played, &MADE.replies).unwrap();
        fs::create_dir_all(dir.join("package")).unwrap();
        for (name, text) in [("package/package.psd1", "@{}"), ("driver-client", "a program")] {
            fs::write(dir.join(name), text).unwrap();
        }
        Self(machine)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Runs the exercise.
    pub(crate) fn exercise(&self, options: &[&str]) -> Output {
        let old = std::env::var("PATH").unwrap();
        Command::new(env!("CARGO_BIN_EXE_driver-exercise"))
            .args(["run", "--place", "a test", "--package"])
            .arg(self.path("package"))
            .arg("--manifest-path")
            .arg(manifest())
            .arg("--client")
            .arg(self.path("driver-client"))
            .arg("--expected")
            .arg(&MADE.expected)
            .arg("--out")
            .arg(self.path("out"))
            .args(options)
            .env("PATH", format!("{}:{old}", self.path("").display()))
            .output()
            .unwrap()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence::read(&self.path("out/evidence.json")).unwrap()
    }
}

pub(crate) fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}
