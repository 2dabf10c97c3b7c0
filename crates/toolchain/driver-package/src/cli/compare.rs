//! `compare`: what differs between two packages of one driver, for example ours and the WDK's.
//!
//! Exit codes: 0 if nothing differs, 3 if something does, 2 if a package cannot be read or the command line is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use command_line::{error, escaped, exit, print};
use serde_json::json;
use windows_constants::image::RT_VERSION;

use super::Outcome;
use super::failure::Failure;
use crate::inf::{Fault, Inf, Text};
use crate::package::providers;
use crate::pe::{Image, Imported, ResourceType, resources};
use crate::verify::Members;
use crate::version::version_values;

/// Compare two packages of one driver: image, INF and catalog
#[derive(Args)]
#[command(
    after_help = "Compares the properties that a linker and a kit decide: sections, imports, flags, the framework, resources, \
                  ETW providers, debug entries, the entries of the INF, and which files the catalog lists. Ignores addresses, sizes, signatures and DriverVer.\n\
                  Exit codes: 0 nothing differs; 3 something differs; 2 wrong usage, or a file that cannot be read."
)]
pub(super) struct Arguments {
    /// The folder of the first package
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// The folder of the second package
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Properties and their values. A property with several values is a list without order.
type Facts = BTreeMap<&'static str, BTreeSet<String>>;

#[expect(clippy::unnecessary_wraps, reason = "the shape of every command")]
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let [first, second] = [&arguments.first, &arguments.second].map(|path| facts(path));
    let (first, second) = match (first, second) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(failure), _) | (_, Err(failure)) => {
            error(&failure.to_string());
            return Ok(exit::USAGE);
        }
    };
    let empty = BTreeSet::new();
    let names: BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let mut differences = Vec::new();
    for name in names {
        let one = first.get(name).unwrap_or(&empty);
        let other = second.get(name).unwrap_or(&empty);
        let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| these.difference(those).cloned().collect();
        let (one, other): (Vec<String>, Vec<String>) = (only(one, other), only(other, one));
        if !one.is_empty() || !other.is_empty() {
            differences.push((name, one, other));
        }
    }
    if arguments.json {
        let list: Vec<_> = differences
            .iter()
            .map(|(name, one, other)| json!({ "property": name, "first": one, "second": other }))
            .collect();
        print(&format!("{:#}\n", json!({ "schema_version": 1, "differences": list })));
    } else {
        print(&text(&differences));
    }
    Ok(if differences.is_empty() { exit::SUCCESS } else { exit::FINDINGS })
}

fn text(differences: &[(&str, Vec<String>, Vec<String>)]) -> String {
    let mut text = String::new();
    for (name, first, second) in differences {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}");
        for (sign, values) in [('-', first), ('+', second)] {
            for value in values {
                let _ = writeln!(text, "  {sign} {}", escaped(value));
            }
        }
    }
    if differences.is_empty() {
        text.push_str("the packages have the same properties\n");
    }
    text
}

/// The only file of a folder with this extension.
fn only(dir: &Path, extension: &str) -> Result<(PathBuf, Vec<u8>), Failure> {
    let at = Failure::file(dir);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(&at)? {
        let path = entry.map_err(&at)?.path();
        if path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension)) {
            found.push(path);
        }
    }
    let [path] = found.as_slice() else {
        let count = found.len();
        return Err(Failure::content(dir, format!("{count} files with the extension .{extension}, expected one")));
    };
    let bytes = fs::read(path).map_err(Failure::file(path))?;
    Ok((path.clone(), bytes))
}

fn facts(dir: &Path) -> Result<Facts, Failure> {
    let mut facts = Facts::new();
    let (path, image) = only(dir, "sys")?;
    let parsed = Image::parse(&image).map_err(|error| Failure::content(&path, error.to_string()))?;
    add_image(&parsed, &mut facts);
    add_resources(&image, &mut facts);
    for provider in providers(&image) {
        add(&mut facts, "image: providers", provider);
    }
    let (path, inf) = only(dir, "inf")?;
    let named = |fault: Fault| Failure::content(&path, format!("line {}: {}", fault.line, fault.text));
    let text = Text::decode(&inf).map_err(named)?;
    add_inf(&Inf::parse(&text.text).map_err(named)?, &mut facts);
    let (path, catalog) = only(dir, "cat")?;
    let members = Members::from_catalog(&catalog).map_err(|refusal| Failure::content(&path, refusal.text()))?;
    for (name, bytes) in [("the image", &image), ("the INF", &inf)] {
        let is_listed = if members.contains(bytes) { "listed" } else { "not listed" };
        add(&mut facts, "catalog", format!("{name} is {is_listed}"));
    }
    Ok(facts)
}

fn add(facts: &mut Facts, name: &'static str, value: String) {
    facts.entry(name).or_default().insert(value);
}

fn add_image(image: &Image, facts: &mut Facts) {
    let header = &image.header;
    for (name, value) in [
        ("image: machine", header.machine.to_string()),
        ("image: subsystem", format!("{}, version {}", header.subsystem.0, header.subsystem_version)),
        ("image: characteristics", format!("{:#06x}", header.characteristics.0)),
        ("image: DLL characteristics", format!("{:#06x}", header.dll_characteristics.0)),
        ("image: section alignment", format!("{:#x}", header.section_alignment)),
        ("image: relocations", image.relocations.is_some().to_string()),
        ("image: exception directory", image.exceptions.is_some().to_string()),
    ] {
        add(facts, name, value);
    }
    for section in &image.sections {
        add(facts, "image: sections", format!("{} {:#010x}", section.name, section.flags.0));
    }
    for module in &image.imports.modules {
        for routine in &module.routines {
            let routine = match routine {
                Imported::Name(name) => name.clone(),
                Imported::Ordinal(ordinal) => format!("#{ordinal}"),
            };
            add(facts, "image: imports", format!("{}!{routine}", module.name.to_ascii_lowercase()));
        }
    }
    for export in image.exports.iter().flat_map(|exports| &exports.symbols) {
        add(facts, "image: exports", format!("{:?}", export.name));
    }
    if let Some(client) = image.framework {
        add(facts, "image: framework", format!("{} with {} functions", client.version(), client.functions));
    }
    if let Some(config) = &image.load_config {
        add(facts, "image: guard flags", format!("{:?}", config.guard_flags));
        add(facts, "image: security cookie", config.security_cookie.is_some().to_string());
    }
    for entry in &image.debug {
        add(facts, "image: debug entries", format!("type {}", entry.kind));
    }
}

const VERSION: ResourceType = ResourceType::Id(RT_VERSION);

/// The version resource by its values, other resources by their types and sizes. A damaged directory has none.
fn add_resources(image: &[u8], facts: &mut Facts) {
    for resource in resources(image).unwrap_or_default() {
        if resource.kind == VERSION {
            for (key, value) in version_values(resource.data) {
                add(facts, "image: version resource", format!("{key} = {value}"));
            }
        } else {
            let kind = match &resource.kind {
                ResourceType::Id(id) => format!("type {id}"),
                ResourceType::Name(name) => name.clone(),
            };
            add(facts, "image: resources", format!("{kind}, {} bytes", resource.data.len()));
        }
    }
}

/// `DriverVer` is the time of the build.
fn add_inf(inf: &Inf, facts: &mut Facts) {
    for section in inf.sections() {
        for entry in &section.entries {
            let key = entry.key.as_deref().unwrap_or_default();
            if !key.eq_ignore_ascii_case("DriverVer") {
                let fields = entry.fields.join(",");
                let line = if key.is_empty() { fields } else { format!("{key} = {fields}") };
                add(facts, "INF", format!("[{}] {line}", section.name));
            }
        }
    }
}
