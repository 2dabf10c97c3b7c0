//! `inspect`: shows the contents of an image, and whether Windows would load it.
//!
//! Exit codes: 0 if Windows would load every image, 1 if it would refuse one, 2 if a file is not an intact image or
//! the command line is wrong.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use windows_releases::Release;

use command_line::{error, exit, message, print};

use super::Outcome;
use super::failure::Failure;
use crate::pe::LinkerMap;
use crate::report::{json, table};
use crate::rules::SIGNATURE_DIGEST;
use crate::{Image, Target, Verdict};

/// Show the contents of driver images and whether Windows would load them
#[derive(Args)]
#[command(after_help = format!(
    "Exit codes: 0 Windows would load every image; 1 it would refuse one, the reasons are printed; 2 wrong usage, or a file \
     that is not an intact image.\n\nReleases of Windows:\n{}",
    Release::list()
))]
pub(super) struct Arguments {
    /// Images: .sys, .dll or .exe
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON with one object for each file
    #[arg(long)]
    json: bool,
    /// Take the name of the entry point from this linker map; without it, from the map beside the image
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// The Windows release that loads it: a name from the list below, or a build number
    #[arg(long, value_name = "RELEASE", default_value_t = Target::default().release)]
    windows: Release,
    /// Print every rule with its reason and its source
    #[arg(long)]
    rules: bool,
}

impl Arguments {
    /// Returns whether only the rules are printed.
    pub(super) fn is_listing(&self) -> bool {
        self.rules
    }
}

/// The maximum size of a file, which is read into memory. No driver is larger.
const LARGEST_FILE: u64 = 256 << 20;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    if arguments.rules {
        print(&table::rule_list());
        return Ok(exit::SUCCESS);
    }
    if arguments.map.is_some() && arguments.files.len() > 1 {
        return Err(Failure::Missing("--map can only be used with a single file"));
    }
    Ok(inspect(arguments))
}

/// Inspects every file, even after an error. Returns the highest exit code.
fn inspect(options: &Arguments) -> u8 {
    let target = Target { release: options.windows };
    let style = table::Style { bold: command_line::has_colours(&io::stdout()) };
    let mut reports = Vec::new();
    let mut worst = 0;
    for file in &options.files {
        let name = file.to_string_lossy();
        match load(file, options) {
            Ok((image, bytes)) => {
                let mut verdict = Verdict::judge(&image, target);
                if let Some(found) = crate::verify::changed(&bytes) {
                    verdict = verdict.with(&SIGNATURE_DIGEST, found);
                }
                worst = worst.max(u8::from(!verdict.is_loadable()));
                reports.push(if options.json {
                    json::image(&name, &image, &verdict)
                } else {
                    table::image(&name, &image, &verdict, style)
                });
                for finding in verdict.refusals().filter(|_| options.json) {
                    message(&format!("{name}: refused: {}: {}", finding.rule.id, finding.found));
                }
            }
            Err(failure) => {
                error(&failure.to_string());
                worst = exit::USAGE;
            }
        }
    }
    print(&if options.json { json::list_of(&reports) + "\n" } else { reports.join("\n") });
    worst
}

fn load(file: &Path, options: &Arguments) -> Result<(Image, Vec<u8>), Failure> {
    let bytes = read(file, LARGEST_FILE).map_err(Failure::file(file))?;
    let mut image = Image::parse(&bytes).map_err(|error| Failure::content(file, error.to_string()))?;
    let beside = file.with_extension("map");
    let map = match &options.map {
        Some(path) => Some(read(path, LARGEST_FILE).map_err(Failure::file(path))?),
        None => read(&beside, LARGEST_FILE).ok(),
    };
    if let Some(map) = map {
        image.name_entry(LinkerMap::new(&String::from_utf8_lossy(&map)));
    }
    Ok((image, bytes))
}

/// Reads a file that has at most `limit` bytes.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if length as u64 > limit {
        return Err(io::Error::other(format!("the file is larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::read;

    #[test]
    fn a_file_may_be_as_large_as_the_limit() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let whole = std::fs::read(&path).unwrap();
        let length = whole.len() as u64;
        assert_eq!(read(&path, length).unwrap(), whole);
        let error = read(&path, length - 1).unwrap_err().to_string();
        assert_eq!(error, format!("the file is larger than {} bytes", length - 1));
    }
}
