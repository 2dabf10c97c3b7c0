//! PDBs: names and lines from an intact file; an error or fewer names from a damaged one.

use crate::common::{ID, pdb};
use pe_image::pdb::{Msf, Table};

fn table(file: &[u8]) -> Result<Table, pe_image::Error> {
    Table::read(&Msf::parse(file)?)
}

/// Returns function and source of each frame.
fn frames(table: &Table, rva: u32) -> Vec<(String, Option<(&str, u32)>)> {
    table.frames(rva).into_iter().map(|frame| (frame.function.unwrap_or_default(), frame.source)).collect()
}

#[test]
fn addresses_have_functions_and_lines() {
    let file = pdb();
    let table = table(&file).unwrap();
    let load = |line| vec![("driver::load".to_owned(), Some(("src/load.rs", line)))];
    assert_eq!(frames(&table, 0x101f), []);
    assert_eq!(frames(&table, 0x1020), load(10));
    assert_eq!(frames(&table, 0x1038), load(11), "code without a line keeps the one before");
    assert_eq!(frames(&table, 0x1060), [], "the function has ended");
    assert_eq!(table.line(0x1060), None, "and so have its lines");
    assert_eq!(frames(&table, 0x1080), [("driver::unload".to_owned(), None)]);
    assert_eq!(Msf::parse(&file).unwrap().id(), Some(ID));
}

#[test]
fn inlined_calls_are_frames_of_their_own() {
    let file = pdb();
    let table = table(&file).unwrap();
    let push = |line| ("driver::Ring::push".to_owned(), Some(("src/ring.rs", line)));
    let grow = ("driver::ring::grow".to_owned(), Some(("src/ring.rs", 33)));
    let load = ("driver::load".to_owned(), Some(("src/load.rs", 11)));
    assert_eq!(frames(&table, 0x1028), [push(21), load.clone()]);
    assert_eq!(frames(&table, 0x102c), [grow, push(22), load.clone()]);
    assert_eq!(frames(&table, 0x1030), [push(22), load.clone()]);
    assert_eq!(frames(&table, 0x1038), [load]);
    let inlined: Vec<bool> = table.frames(0x102c).iter().map(|frame| frame.is_inlined).collect();
    assert_eq!(inlined, [true, true, false]);
}

#[test]
fn the_nearest_symbol_is_in_the_same_section() {
    let file = pdb();
    let table = table(&file).unwrap();
    let nearest = |rva| table.nearest(rva).map(|nearest| nearest.to_string());
    assert_eq!(nearest(0x1020).as_deref(), Some("driver::load"));
    assert_eq!(nearest(0x1070).as_deref(), Some("driver::load+0x50"));
    assert_eq!(nearest(0x1fff).as_deref(), Some("driver::unload+0xf7f"));
    assert_eq!([0x101f, 0x2000].map(nearest), [None, None]);
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
            let _ = (table.nearest(u32::MAX), table.frames(0x102c), table.line(0x1020));
        }
    }
    assert!(read > 1000, "only {read} could be read at all");
}
