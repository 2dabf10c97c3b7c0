//! `inspect`: what is in an image, and whether Windows would load it.
//!
//! Exit codes: 0 when Windows would load every image, 1 when it would refuse one, 2 when a file cannot be read as an
//! image or the command line is wrong.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use driver_package::pe::LinkerMap;
use driver_package::report::{json, table};
use driver_package::{Image, Target, Verdict};
use windows_releases::Release;

use super::{Command, Outcome, print};

pub(crate) const COMMAND: Command = Command { name: "inspect", help, run };

const HELP: &str = "\
Shows what is in driver images and whether Windows would load them

Usage: driver-package inspect [flags] FILE...

Flags:
  --json             prints a JSON list with one object for each file
  --map FILE         takes the name of the entry point from this linker map;
                     without, from the one beside the image
  --windows RELEASE  the Windows that is to load it: a name from the list below
                     or a build number (win11-24h2)
  --rules            prints every rule with its reason and its source
  --help             prints this text (also -h)

Exit codes: 0 Windows would load every image; 1 it would refuse one, the
reasons are printed; 2 wrong usage, or a file that is no intact image.
";

fn help() -> String {
    format!("{HELP}\nReleases of Windows:\n{}", Release::list())
}

/// Larger than any driver; the file is held in memory.
const LARGEST_FILE: u64 = 256 << 20;

#[derive(Default)]
struct Options {
    json: bool,
    map: Option<PathBuf>,
    target: Target,
    files: Vec<PathBuf>,
}

enum Request {
    Print(String),
    Inspect(Options),
}

fn run(words: &[OsString]) -> Outcome {
    match parse(words)? {
        Request::Print(text) => Ok(print(&text)),
        Request::Inspect(options) => Ok(inspect(&options)),
    }
}

fn parse(words: &[OsString]) -> Result<Request, String> {
    let mut words = words.iter();
    let mut options = Options::default();
    let mut only_files = false;
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if only_files || !text.starts_with('-') {
            options.files.push(word.into());
            continue;
        }
        let mut value = || words.next().ok_or_else(|| format!("`{text}` needs a value"));
        match text.as_ref() {
            "--help" | "-h" => return Ok(Request::Print(help())),
            "--rules" => return Ok(Request::Print(table::rule_list())),
            "--json" => options.json = true,
            "--map" => options.map = Some(value()?.into()),
            "--windows" => options.target.release = release(&value()?.to_string_lossy())?,
            "--" => only_files = true,
            _ => return Err(format!("unknown flag `{text}`")),
        }
    }
    match options.files.len() {
        0 => Err("no file given".into()),
        1 => Ok(Request::Inspect(options)),
        _ if options.map.is_some() => Err("`--map` goes with a single file".into()),
        _ => Ok(Request::Inspect(options)),
    }
}

fn release(text: &str) -> Result<Release, String> {
    text.parse().map_err(|error: windows_releases::UnknownRelease| error.to_string())
}

/// Looks at every file, whatever the others are; the worst of them decides the exit code.
fn inspect(options: &Options) -> u8 {
    let style = table::Style { bold: io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let mut reports = Vec::new();
    let mut worst = 0;
    for file in &options.files {
        let name = file.to_string_lossy();
        match load(file, options) {
            Ok(image) => {
                let verdict = Verdict::of(&image, options.target);
                worst = worst.max(u8::from(!verdict.is_loadable()));
                reports.push(if options.json {
                    json::image(&name, &image, &verdict)
                } else {
                    table::image(&name, &image, &verdict, style)
                });
                for finding in verdict.refusals().filter(|_| options.json) {
                    eprintln!("{name}: refused: {}: {}", finding.rule.id, finding.found);
                }
            }
            Err(reason) => {
                eprintln!("error: {name}: {reason}");
                worst = 2;
            }
        }
    }
    print(&if options.json { json::list_of(&reports) + "\n" } else { reports.join("\n") }).max(worst)
}

fn load(file: &Path, options: &Options) -> Result<Image, String> {
    let bytes = read(file).map_err(|error| error.to_string())?;
    let mut image = Image::parse(&bytes).map_err(|error| error.to_string())?;
    let beside = file.with_extension("map");
    let map = match &options.map {
        Some(path) => Some(read(path).map_err(|error| format!("{}: {error}", path.display()))?),
        None => read(&beside).ok(),
    };
    if let Some(map) = map {
        image.name_entry(LinkerMap::new(&String::from_utf8_lossy(&map)));
    }
    Ok(image)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if length as u64 > LARGEST_FILE {
        return Err(io::Error::other(format!("it is larger than {LARGEST_FILE} bytes")));
    }
    Ok(bytes)
}
