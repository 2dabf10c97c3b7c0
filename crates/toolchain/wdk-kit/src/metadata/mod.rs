//! Generates C headers and lists of exports from Microsoft's metadata.
//!
//! The metadata consists of `Windows.Wdk.winmd` and `Windows.Win32.winmd`, which `windows-bindgen` 0.66 contains. `kit/metadata`
//! selects the parts that are used. Names that the headers in `kit/include` declare are not generated.

pub(crate) mod declared;
mod header;
mod records;
mod select;
mod table;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::thread;

use windows_metadata::reader::{File, Index, Item as Entry};

use crate::model::{Part, Record, Source};
pub(crate) use table::Table;
use types::Speller;

/// The file of `kit/metadata` with declarations in C.
const RECORDS: &str = "records.h";

/// The header that all other kernel headers include. Its generated declarations are in two separate files, which the handwritten
/// `wdm.h` includes.
pub(crate) const KERNEL: &str = "wdm.h";

/// A processor, with its bit in the metadata.
#[derive(Clone, Copy)]
pub(crate) struct Processor {
    /// The macro that is defined for it.
    pub(crate) macro_name: &'static str,
    pub(crate) bit: i32,
}

/// x64 and ARM64.
pub(crate) const PROCESSORS: [Processor; 2] =
    [Processor { macro_name: "_AMD64_", bit: 2 }, Processor { macro_name: "_ARM64_", bit: 4 }];

/// What is generated.
#[derive(Default)]
pub(crate) struct Generated {
    /// The declarations of each header by its name, a part for each processor.
    pub(crate) headers: BTreeMap<String, Vec<Part>>,
    /// The exports of each module, for all processors.
    pub(crate) exports: BTreeMap<String, BTreeSet<String>>,
    /// The last part of the kernel headers, from Microsoft's bindings.
    pub(crate) supplement: Option<Part>,
    /// The header that defines the annotations for static analysis as empty macros.
    pub(crate) annotations: String,
    /// Variables that modules export and no header declares.
    pub(crate) data: BTreeMap<String, BTreeSet<String>>,
    /// Import libraries by the names of their files: module and routines.
    pub(crate) libraries: BTreeMap<String, (String, BTreeSet<String>)>,
    /// The file names of user-mode libraries.
    pub(crate) programs: BTreeSet<String>,
}

impl Table {
    /// Reads the texts of `kit/metadata`.
    pub(crate) fn parse(files: &[(&str, &str)]) -> Result<Self, String> {
        let mut table = Self::default();
        for (name, text) in files {
            if *name == RECORDS {
                table.records.extend(declared::records(text));
            } else {
                table.read(name, text)?;
            }
        }
        Ok(table)
    }
}

/// Values and records that replace those of the metadata.
pub(crate) struct Corrections<'c> {
    pub(crate) constants: &'c BTreeMap<String, String>,
    pub(crate) records: &'c BTreeMap<String, Record>,
}

/// Generates headers from the metadata in `dir`. `written` has the texts of the handwritten headers.
pub(crate) fn generate(
    dir: &Path,
    table: &Table,
    written: &[&str],
    corrections: &Corrections<'_>,
) -> Result<Generated, String> {
    let mut declared = BTreeSet::new();
    for text in written {
        declared.extend(declared::names(text));
    }
    let declared = &declared;
    let parts = thread::scope(|scope| {
        let parts = PROCESSORS
            .map(|processor| scope.spawn(move || for_processor(dir, table, processor, declared, corrections)));
        parts.map(|part| part.join().unwrap_or_else(|_| Err(String::from("the metadata could not be read"))))
    });
    let mut generated = Generated::default();
    for part in parts {
        let part = part?;
        for (name, parts) in part.headers {
            generated.headers.entry(name).or_default().extend(parts);
        }
        for (module, names) in part.exports {
            generated.exports.entry(module).or_default().extend(names);
        }
        generated.programs.extend(part.programs);
        for (file, (module, names)) in part.libraries {
            generated.libraries.entry(file).or_insert_with(|| (module, BTreeSet::new())).1.extend(names);
        }
    }
    for (names, arguments) in [(&table.annotations, ""), (&table.annotations_of, "(...)")] {
        for name in names {
            let _ = writeln!(generated.annotations, "#define {name}{arguments}");
        }
    }
    for (exports, list) in [(&mut generated.exports, &table.exports), (&mut generated.data, &table.data)] {
        for (module, name) in list {
            exports.entry(module.clone()).or_default().insert(name.clone());
        }
    }
    Ok(generated)
}

fn for_processor(
    dir: &Path,
    table: &Table,
    processor: Processor,
    declared: &BTreeSet<String>,
    corrections: &Corrections<'_>,
) -> Result<Generated, String> {
    let files = ["Windows.Wdk.winmd", "Windows.Win32.winmd"].map(|name| {
        let path = dir.join(name);
        File::read(&path).ok_or_else(|| format!("{}: cannot be read as metadata", path.display()))
    });
    let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
    let index = Index::new_for_architecture(files, processor.bit);
    let speller = &Speller::new(&index, table);
    let mut generated =
        Generated { libraries: libraries(&index, table), programs: programs(&index), ..Generated::default() };
    let headers = select::select(speller, declared, corrections.constants);
    let mut names = declared.clone();
    // A generated name of a pointer must not be a name that the metadata declares in another header.
    for (_, header) in &headers {
        names.extend(header.types.iter().map(|of| of.name().trim_start_matches('_').to_owned()));
        names.extend(header.constants.iter().map(|(name, _)| name.clone()));
        names.extend(header.routines.iter().map(|of| of.method.name().to_owned()));
    }
    for (name, header) in &headers {
        let source = Source::Metadata(processor.macro_name);
        let part = header::declare(speller, header, source, &mut names, corrections.records);
        generated.headers.entry(name.clone()).or_default().push(part);
        for routine in &header.routines {
            generated.exports.entry(routine.module.clone()).or_default().insert(routine.method.name().to_owned());
        }
    }
    Ok(generated)
}

fn libraries(index: &Index, table: &Table) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut libraries = BTreeMap::<String, (String, BTreeSet<String>)>::new();
    for (file, module, names) in &table.libraries {
        libraries.insert(file.clone(), (module.clone(), names.iter().cloned().collect()));
    }
    for item in index.items() {
        let Entry::Fn(method) = item else { continue };
        let Some(map) = method.impl_map() else { continue };
        let source = map.import_scope().name();
        for (file, module, _) in table.libraries_of.iter().filter(|(.., of)| of.eq_ignore_ascii_case(source)) {
            let library = libraries.entry(file.clone()).or_insert_with(|| (module.clone(), BTreeSet::new()));
            library.1.insert(method.name().to_owned());
        }
    }
    libraries
}

/// User-mode libraries without a module of the same name. C compilers name the runtime libraries in every object file.
const PROGRAMS: [&str; 12] = [
    "d3dcompiler",
    "libcmt",
    "libcmtd",
    "msvcrt",
    "msvcrtd",
    "oldnames",
    "runtimeobject",
    "shcore",
    "sporder",
    "synchronization",
    "uuid",
    "xinput",
];

/// Returns the names of user-mode modules without their extensions.
fn programs(index: &Index) -> BTreeSet<String> {
    let modules = index.items().filter_map(|item| match item {
        Entry::Fn(method) => method.impl_map().map(|map| map.import_scope().name().to_ascii_lowercase()),
        _ => None,
    });
    let stem = |module: String| {
        let end = [".dll", ".drv", ".cpl"].into_iter().find_map(|end| module.strip_suffix(end));
        end.map(str::to_owned)
    };
    modules.filter_map(stem).chain(PROGRAMS.map(str::to_owned)).collect()
}
