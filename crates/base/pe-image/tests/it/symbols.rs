//! Names of addresses from the PDB next to an image, its map or its exports, and from damaged files of each kind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{ID, pdb};
use pe_image::{Image, LinkerMap, Symbols};

/// A driver from the fuzz corpus, with `.text` at 0x1000, the entry point at 0x1010, and an export.
const DRIVER: &[u8] = include_bytes!("../../../../dev/fuzz/corpus/pe/driver");

const MAP: &str = " driver
 Preferred load address is 0000000140000000

 Start         Length     Name                   Class
 0001:00000000 00000200H .text                   CODE

  Address         Publics by Value              Rva+Base               Lib:Object

 0000:00000000       __guard_flags              0000000000000000     <absolute>
 0001:00000000       DriverEntry                0000000140001000 f   driver.obj
 0001:00000010       FxDriverEntry              0000000140001010 f   stub.lib:stub.obj
 0002:00000020       Table                      0000000140002020     driver.obj

 entry point at        0001:00000010

 Static symbols

 0001:00000040       Ring\u{1b}[31m                 0000000140001040 f   driver.obj
";

/// Returns the driver with this PDB id.
fn driver(id: [u8; 16]) -> Vec<u8> {
    let mut driver = DRIVER.to_vec();
    let record = driver.windows(4).position(|window| window == b"RSDS").unwrap();
    driver[record + 4..][..16].copy_from_slice(&id);
    driver
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn symbols(folder: &Path, driver: &[u8]) -> Symbols {
    Symbols::beside(&folder.join("driver.sys"), &Image::parse(driver).unwrap())
}

#[test]
fn a_pdb_of_another_build_names_nothing() {
    let folder = folder("other-build");
    fs::write(folder.join("driver.pdb"), pdb()).unwrap();
    let fitting = symbols(&folder, &driver(ID));
    assert_eq!(fitting.frames(0x1020).len(), 1);
    assert_eq!(fitting.problem(), None);
    let other = symbols(&folder, &driver([1; 16]));
    assert_eq!(other.frames(0x1020), []);
    assert!(other.problem().unwrap().contains("it belongs to build"), "{:?}", other.problem());
}

#[test]
fn a_map_names_addresses_of_its_sections_and_no_others() {
    let folder = folder("map");
    fs::write(folder.join("driver.map"), MAP).unwrap();
    let symbols = symbols(&folder, DRIVER);
    let nearest = |rva| symbols.nearest(rva).map(|nearest| nearest.to_string());
    assert_eq!(nearest(0x1008).as_deref(), Some("DriverEntry+0x8"));
    assert_eq!(nearest(0x1010).as_deref(), Some("FxDriverEntry"));
    assert_eq!(nearest(0x1044).as_deref(), Some("Ring\\u{1b}[31m+0x4"));
    assert_eq!(nearest(0x2000), None, "the names of the section before are not its own");
    assert_eq!(nearest(0x2021).as_deref(), Some("Table+0x1"));
    assert_eq!(nearest(0), None);
    assert_eq!(nearest(u32::MAX), None);
    assert_eq!(symbols.frames(0x1010), []);
    assert_eq!(symbols.section(0x1010), Some(".text"));
    assert_eq!(symbols.section(0x10), None);
    assert!(!symbols.is_own("driver.c"));
}

#[test]
fn without_a_map_there_are_the_exports() {
    let symbols = symbols(&folder("exports"), DRIVER);
    let image = Image::parse(DRIVER).unwrap();
    let name = image.exports.unwrap().symbols[0].name.clone().unwrap();
    assert_eq!(symbols.nearest(0x1012).map(|nearest| nearest.to_string()), Some(format!("{name}+0x2")));
    assert_eq!(symbols.nearest(0x2000), None);
}

#[test]
fn damaged_maps_and_images_never_panic() {
    let image = Image::parse(DRIVER).unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 11).unwrap() % limit
    };
    let mut damaged = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for _ in 0..=random(6) {
            let place = random(bytes.len());
            bytes[place] = [0, 1, b'f', 0x7f, 0x80, 0xff, u8::try_from(random(256)).unwrap()][random(7)];
        }
        bytes
    };
    let mut named = 0;
    let mut parsed = 0;
    for _ in 0..5_000 {
        let map = damaged(MAP.as_bytes());
        let map = String::from_utf8_lossy(&map);
        named += usize::from(image.entry_in(LinkerMap::new(&map)).is_some());
        if let Ok(image) = Image::parse(&damaged(DRIVER)) {
            parsed += 1;
            let symbols = Symbols::beside(Path::new("nowhere/driver.sys"), &image);
            let _ = (symbols.nearest(0x1010), symbols.nearest(u32::MAX), symbols.section(0));
        }
    }
    assert!(named > 1000, "{named} maps and {parsed} images could be read at all");
    assert!(parsed > 1000, "{named} maps and {parsed} images could be read at all");
}
