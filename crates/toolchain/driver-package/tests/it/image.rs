//! Tests the model of an image whose parts are all known.

use crate::common::{BASE, DATA_RVA, Driver, TEXT};
use driver_package::Image;
use driver_package::pe::{ExportTarget, Imported, LinkerMap, Machine, Subsystem, SymbolSource, Version};

#[test]
fn every_part_of_an_image_is_read() {
    let file = Driver::default().build();
    let image = Image::parse(&file).unwrap();
    let header = &image.header;
    assert_eq!(header.machine, Machine::X64);
    assert_eq!(header.subsystem, Subsystem::Native);
    assert_eq!(header.subsystem_version, Version { major: 10, minor: 0 });
    assert_eq!(header.image_base, BASE);
    assert_eq!(header.section_alignment, 0x1000);
    assert_eq!(header.file_alignment, 0x200);
    assert!(header.checksum.is_right());
    assert!(header.is_pe32_plus);

    let names: Vec<_> = image.sections.iter().map(|section| (section.name.as_str(), section.rights())).collect();
    let expected = [(".text", "r-x"), (".rdata", "r--"), (".data", "rw-"), ("INIT", "r-x"), (".reloc", "r--")];
    assert_eq!(names, expected.map(|(name, rights)| (name, String::from(rights))));

    let imports: Vec<_> = image.imports.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(imports, ["ntoskrnl.exe", "WDFLDR.SYS"]);
    assert_eq!(image.imports.modules[1].routines[0], Imported::Name("WdfVersionBind".into()));
    assert_eq!(image.imports.address_tables.len(), 1, "the directory covers both lists");

    let exports = image.exports.as_ref().unwrap();
    assert_eq!(exports.module, "driver_sample.dll");
    assert_eq!(exports.symbols[0].target, ExportTarget::Address(TEXT + 0x10));
    assert_eq!(exports.symbols[0].ordinal, 1);

    let entry = image.entry.symbol.as_ref().unwrap();
    assert_eq!(entry.name.as_str(), "FxDriverEntry");
    assert_eq!(entry.source, SymbolSource::Exports);
    assert_eq!(image.entry_section().unwrap().name, ".text");

    let relocations = image.relocations.as_ref().unwrap();
    assert_eq!(relocations.blocks, 1);
    assert_eq!(relocations.fixups.len(), 1);
    assert_eq!(&relocations.problem, &None);
    let config = image.load_config.as_ref().unwrap();
    assert_eq!(config.security_cookie, Some(BASE + u64::from(DATA_RVA)));
    assert!(config.is_guarded());
    assert_eq!(config.guard_functions, Some(1));

    let pdb = image.debug[0].pdb.as_ref().unwrap();
    assert_eq!(pdb.path, "driver_sample.pdb");
    assert_eq!(pdb.id, "03020100-0504-0706-0809-0a0b0c0d0e0f");
    let signature = image.signature.as_ref().unwrap();
    assert!(signature.certificates[0].is_authenticode());
    assert!(signature.problems.is_empty());
    assert!(!image.has_tls);
    assert!(!image.has_clr);
}

#[test]
fn an_odd_place_in_memory_does_not_matter() {
    let mut bytes = vec![0];
    bytes.extend(Driver::default().build());
    assert_eq!(Image::parse(&bytes[1..]), Image::parse(&Driver::default().build()));
}

const MAP: &str = "\
 driver_sample

 Timestamp is 65400000 (Mon Oct 30 00:00:00 2023)

 Preferred load address is 0000000140000000

 Start         Length     Name                   Class
 0001:00000000 00000200H .text                   CODE

  Address         Publics by Value              Rva+Base               Lib:Object

 0001:00000000       DriverEntry                0000000140001000 f   driver.obj
 0001:00000010       FxDriverEntry              0000000140001010 f   stub.lib:stub.obj

 entry point at        0001:00000010
";

fn named_by(map: &str) -> Option<String> {
    let mut image = Image::parse(&Driver { exports: vec![], ..Driver::default() }.build()).unwrap();
    assert!(image.entry.symbol.is_none());
    image.name_entry(LinkerMap::new(map));
    image.entry.symbol.map(|symbol| {
        assert_eq!(symbol.source, SymbolSource::Map);
        symbol.name
    })
}

#[test]
fn a_linker_map_names_the_entry_point() {
    assert_eq!(named_by(MAP).as_deref(), Some("FxDriverEntry"));
}

#[test]
fn a_map_of_another_build_names_nothing() {
    assert_eq!(named_by(&MAP.replace("at        0001:00000010", "at        0001:00000000")), None);
    assert_eq!(named_by(&MAP.replace("at        0001:", "at        0009:")), None);
    assert_eq!(named_by("no map at all"), None);
    assert_eq!(named_by(" entry point at        0000:00000010"), None);
}
