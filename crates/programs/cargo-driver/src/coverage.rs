//! `cargo driver test --coverage`: the lines of a driver that its tests reach.

use std::path::Path;

use command_line::{OutputDir, OwnDir};
use driver_build::Error;

/// The variable with the folder into which each test program writes what it reached; see `nt_host::Builder::coverage`.
pub(crate) const VARIABLE: &str = "NT_HOST_COVERAGE";

/// A recording of what the tests reach.
pub(crate) struct Recording {
    dir: OutputDir,
    parts: OwnDir,
}

impl Recording {
    /// Begins a recording whose result goes to `dir`. `parts` is for the files of the test programs; those of an earlier
    /// recording are removed.
    pub(crate) fn begin(dir: OutputDir, parts: OwnDir) -> Result<Self, Error> {
        parts.empty()?;
        dir.create()?;
        Ok(Self { dir, parts })
    }

    /// The folder for the files of the test programs.
    pub(crate) fn parts(&self) -> &Path {
        self.parts.path()
    }

    /// Merges the files of the test programs, writes the result and prints its table.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn end(self) -> Result<(), Error> {
        use std::{fs, io};

        let failed = |error: io::Error| Error::Usage(error.to_string());
        let mut all = nt_host::LineCoverage::default();
        for entry in fs::read_dir(self.parts.path()).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            all.merge(&nt_host::LineCoverage::read(path).map_err(failed)?);
        }
        if all.is_empty() {
            let text =
                "no test ran a driver with line information: tests load it with nt-host, and its PDB is beside it";
            return Err(Error::Failed(text.into()));
        }
        let info = self.dir.file("coverage.info")?;
        let page = self.dir.file("index.html")?;
        all.write(info.as_ref()).and_then(|()| all.write(page.as_ref())).map_err(failed)?;
        command_line::print(&all.to_string());
        driver_build::setup::note(&format!("{}\n{}", info.as_ref().display(), page.as_ref().display()));
        Ok(())
    }

    /// Drivers run only on Linux for x86-64.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub(crate) fn end(self) -> Result<(), Error> {
        Err(Error::Failed(format!("{}: drivers do not run on this host", self.dir.path().display())))
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use command_line::{Inputs, Outputs, OwnDir};

    use super::Recording;

    #[test]
    fn the_files_of_all_test_programs_are_merged_and_those_of_an_earlier_run_are_not() {
        let place = std::env::temp_dir().join(format!("cargo-driver-coverage-{}", std::process::id()));
        let out = Outputs::new(Inputs::new()).dir(&place.join("out").into());
        let begin = || Recording::begin(out.clone(), OwnDir::new(place.join("parts"))).expect("folders");
        let recording = begin();
        fs::write(recording.parts().join("old.info"), "SF:/old.rs\nDA:1,1\nend_of_record\n").expect("a file");
        let recording = begin();
        assert!(begin().end().is_err(), "no test ran a driver");
        for (name, lines) in [("a.info", "DA:1,1\nDA:2,0\nDA:3,0"), ("b.info", "DA:1,1\nDA:2,4\nDA:3,0")] {
            let text = format!("SF:/driver.rs\n{lines}\nend_of_record\n");
            fs::write(recording.parts().join(name), text).expect("a file");
        }
        recording.end().expect("a table");
        let merged = nt_host::LineCoverage::read(place.join("out/coverage.info")).expect("lcov's format");
        assert_eq!(merged.files().collect::<Vec<_>>(), [("/driver.rs", 2, 3)]);
        assert_eq!(merged.lines("/driver.rs").collect::<Vec<_>>(), [(1, 2), (2, 4), (3, 0)]);
        let page: PathBuf = place.join("out/index.html");
        assert!(fs::read_to_string(page).is_ok_and(|page| page.contains("66.6 % (2 of 3 lines)")));
        fs::remove_dir_all(&place).expect("the folders are gone");
    }
}
