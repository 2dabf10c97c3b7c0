//! PDBs: names and lines of a whole one; an error, or fewer names, of a damaged one.

mod common;

use common::{ID, pdb};
use pe_image::PdbReference;
use pe_image::pdb::{Msf, Table};

fn table(file: &[u8]) -> Result<Table, pe_image::Error> {
    Table::read(&Msf::parse(file)?)
}

#[test]
fn addresses_have_functions_and_lines() {
    let file = pdb();
    let table = table(&file).unwrap();
    let function = |rva| table.function(rva);
    assert_eq!(function(0x101f), None);
    assert_eq!(function(0x1020).as_deref(), Some("driver::load"));
    assert_eq!(function(0x107f).as_deref(), Some("driver::load"));
    assert_eq!(function(0x1080).as_deref(), Some("driver::unload"));
    assert_eq!(table.line(0x1020), Some(("src/load.rs", 10)));
    assert_eq!(table.line(0x1028), Some(("src/load.rs", 11)));
    assert_eq!(table.line(0x1030), Some(("src/load.rs", 11)), "code without a line keeps the one before");
    assert_eq!(table.line(0x101f), None);
    assert_eq!(Msf::parse(&file).unwrap().id(), Some(ID));
}

#[test]
fn a_pdb_of_another_build_names_nothing() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("other-build");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.pdb"), pdb()).unwrap();
    let symbols = |id| {
        let reference = PdbReference { path: "C:\\build\\a.pdb".into(), id: PdbReference::id_text(id), age: 1 };
        pe_image::Symbols::beside(&folder.join("driver.sys"), Some(&reference))
    };
    assert_eq!(symbols(ID).function(0x1020).as_deref(), Some("driver::load"));
    assert_eq!(symbols(ID).problem(), None);
    let other = symbols([1; 16]);
    assert_eq!((other.function(0x1020), other.line(0x1020)), (None, None));
    assert!(other.problem().unwrap().contains("it belongs to build"), "{:?}", other.problem());
}

#[test]
fn a_pdb_that_is_cut_off_anywhere_is_an_error_or_a_table() {
    let file = pdb();
    for length in 0..file.len() {
        let _ = table(&file[..length]);
    }
    assert_eq!(table(&file[..20]).unwrap_err().field(), "MSF header");
}

#[test]
fn random_damage_never_panics() {
    let file = pdb();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 11).unwrap() % limit
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let mut damaged = file.clone();
        for _ in 0..=random(4) {
            let place = random(damaged.len());
            damaged[place] = [0, 1, 0x7f, 0x80, 0xff, u8::try_from(random(256)).unwrap()][random(6)];
        }
        if let Ok(table) = table(&damaged) {
            read += 1;
            let _ = (table.function(u32::MAX), table.line(0x1020));
        }
    }
    assert!(read > 1000, "only {read} could be read at all");
}
