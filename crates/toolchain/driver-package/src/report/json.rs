//! Formats JSON, one object for each image. Addresses and flags are numbers.

use serde_json::{Value, json};
use windows_releases::Release;

use crate::pe::{Export, ExportTarget, Image, Imported, SymbolSource};
use crate::rules::{Verdict, oldest_release};

/// Returns the description of an image and its verdict.
#[must_use]
pub fn image(name: &str, image: &Image, verdict: &Verdict) -> String {
    let header = &image.header;
    let signature = image.signature.as_ref().map(|signature| {
        json!({
            "offset": signature.offset,
            "size": signature.size,
            "certificates": signature.certificates.len(),
            "problems": signature.problems,
        })
    });
    let relocations = image.relocations.as_ref();
    let load_config = image.load_config.as_ref().map(|config| {
        json!({
            "size": config.size,
            "security_cookie": config.security_cookie,
            "guard_flags": config.guard_flags,
            "guard_functions": config.guard_functions,
        })
    });
    let framework = image.framework.map(|client| {
        json!({
            "version": client.version(),
            "functions": client.functions,
            "oldest_version": format!("{}.{}", client.major, client.oldest_framework()),
        })
    });
    let oldest = oldest_release(image);
    let value = json!({
        "file": name,
        "size": image.file_size,
        "machine": header.machine.0,
        "machine_name": header.machine.name(),
        "pe32_plus": header.is_pe32_plus,
        "timestamp": header.timestamp,
        "subsystem": header.subsystem.0,
        "subsystem_name": header.subsystem.name(),
        "subsystem_version": header.subsystem_version.to_string(),
        "entry": entry(image),
        "characteristics": header.characteristics.0,
        "dll_characteristics": header.dll_characteristics.0,
        "image_base": header.image_base,
        "size_of_image": header.size_of_image,
        "section_alignment": header.section_alignment,
        "file_alignment": header.file_alignment,
        "checksum": { "stored": header.checksum.stored, "computed": header.checksum.computed },
        "sections": sections(image),
        "imports": imports(image),
        "delay_imports": image.imports.delayed,
        "exports": image.exports.as_ref().map(|exports| exports.symbols.iter().map(export).collect::<Vec<_>>()),
        "relocations": relocations.map(|found| json!({ "pages": found.blocks, "addresses": found.fixups.len() })),
        "load_config": load_config,
        "signature": signature,
        "framework": framework,
        "oldest_windows": oldest.map(Release::name),
        "oldest_build": oldest.map(Release::build),
        "debug": debug(image),
        "tls": image.has_tls,
        "clr": image.has_clr,
        "windows": verdict.target().release.name(),
        "loadable": verdict.is_loadable(),
        "findings": findings(verdict),
    });
    format!("{value:#}")
}

fn entry(image: &Image) -> Value {
    let symbol = image.entry.symbol.as_ref();
    let source = symbol.map(|symbol| match symbol.source {
        SymbolSource::Exports => "exports",
        SymbolSource::Map => "map",
    });
    json!({
        "rva": image.entry.rva,
        "section": image.entry_section().map(|section| &section.name),
        "symbol": symbol.map(|symbol| &symbol.name),
        "symbol_source": source,
    })
}

fn sections(image: &Image) -> Vec<Value> {
    let section = |section: &crate::pe::Section| {
        json!({
            "name": section.name,
            "rva": section.rva,
            "virtual_size": section.virtual_size,
            "file_offset": section.file_offset,
            "file_size": section.file_size,
            "flags": section.flags.0,
            "rights": section.rights(),
        })
    };
    image.sections.iter().map(section).collect()
}

fn imports(image: &Image) -> Vec<Value> {
    let routine = |routine: &Imported| match routine {
        Imported::Name(name) => json!(name),
        Imported::Ordinal(ordinal) => json!(ordinal),
    };
    let module = |module: &crate::pe::Module| json!({ "module": module.name, "routines": module.routines.iter().map(routine).collect::<Vec<_>>() });
    image.imports.modules.iter().map(module).collect()
}

fn export(export: &Export) -> Value {
    let (rva, forward) = match &export.target {
        ExportTarget::Address(rva) => (Some(rva), None),
        ExportTarget::Forward(to) => (None, Some(to)),
    };
    json!({ "name": export.name, "ordinal": export.ordinal, "rva": rva, "forward": forward })
}

fn debug(image: &Image) -> Vec<Value> {
    let entry = |entry: &crate::pe::DebugEntry| {
        let pdb = entry.pdb.as_ref();
        json!({
            "type": entry.kind,
            "pdb": pdb.map(|pdb| &pdb.path),
            "id": pdb.map(|pdb| &pdb.id),
            "age": pdb.map(|pdb| pdb.age),
        })
    };
    image.debug.iter().map(entry).collect()
}

fn findings(verdict: &Verdict) -> Vec<Value> {
    let finding = |finding: &crate::Finding| {
        json!({
            "rule": finding.rule.id,
            "severity": finding.rule.severity.to_string(),
            "found": finding.found,
            "asked": finding.rule.what,
            "why": finding.rule.why,
            "source": finding.rule.source,
        })
    };
    verdict.findings().iter().map(finding).collect()
}

/// Combines several reports into one object. A change of its members or of their meaning changes the version.
#[must_use]
pub fn list_of(reports: &[String]) -> String {
    format!("{{\"schema_version\": 1, \"images\": [\n{}\n]}}", reports.join(",\n"))
}
