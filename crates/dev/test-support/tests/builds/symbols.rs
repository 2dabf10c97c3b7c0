//! Checks the symbols of an optimised driver: every inlined call has its own function and line.

use std::fs;
use std::path::Path;

use pe_image::pdb::{Msf, Table};
use pe_image::{Frame, Image, Symbols};

/// Returns the line of the driver's source that has this mark.
fn marked(mark: &str) -> u32 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/src/bin/inlined.rs");
    let source = fs::read_to_string(source).unwrap();
    let end = format!("// MARK: {mark}");
    (1..).zip(source.lines()).find(|(_, line)| line.ends_with(&end)).unwrap().0
}

fn is(frame: &Frame<'_>, function: &str, line: u32) -> bool {
    let source = frame.source.is_some_and(|(file, number)| file.ends_with("/src/bin/inlined.rs") && number == line);
    source && frame.function.as_deref() == Some(function)
}

#[test]
fn inlined_calls_lead_from_core_to_the_drivers_own_lines() {
    let path = test_support::images::file("inlined");
    let image = Image::parse(&fs::read(&path).unwrap()).unwrap();
    let symbols = Symbols::beside(&path, &image);
    assert_eq!(symbols.problem(), None);
    let code = image.sections.iter().find(|section| section.is_executable()).unwrap();
    let chains: Vec<_> = (code.rva..).take(code.virtual_size as usize).map(|rva| (rva, symbols.frames(rva))).collect();
    // Three functions of the driver, with a function of `core` inlined into the innermost.
    let expected = [("inlined::Cell::get", "inner"), ("inlined::sum", "middle"), ("inlined::load", "outer")];
    let found = chains.iter().find(|(_, chain)| {
        let own = chain.len().checked_sub(3).and_then(|start| chain.get(start..)).unwrap_or_default();
        own.len() == 3 && own.iter().zip(expected).all(|(frame, (function, mark))| is(frame, function, marked(mark)))
    });
    let Some((rva, chain)) = found else { panic!("no such chain in {chains:#?}") };
    assert!(chain.iter().rev().skip(1).all(|frame| frame.is_inlined), "{chain:#?}");
    assert!(!chain[chain.len() - 1].is_inlined);
    let (foreign, own): (Vec<_>, Vec<_>) =
        chain.iter().partition(|frame| frame.source.is_none_or(|(file, _)| !symbols.is_own(file)));
    assert_eq!(own.len(), 3, "{own:#?}");
    assert!(
        foreign.iter().all(|frame| frame.function.as_deref().is_some_and(|name| name.starts_with("core::"))),
        "{foreign:#?}"
    );
    assert!(!foreign.is_empty(), "{chain:#?}");
    let nearest = symbols.nearest(*rva).unwrap();
    assert_eq!(nearest.name, "inlined::load");
    assert!(nearest.offset < 32, "{nearest:?}");
}

#[test]
fn damage_to_a_real_pdb_never_panics() {
    let file = fs::read(test_support::images::file("inlined").with_extension("pdb")).unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 11).unwrap() % limit
    };
    let mut read = 0;
    for _ in 0..500 {
        let mut damaged = file.clone();
        for _ in 0..=random(8) {
            let place = random(damaged.len());
            damaged[place] = [0, 1, 0x7f, 0x80, 0xff, u8::try_from(random(256)).unwrap()][random(6)];
        }
        let Ok(table) = Msf::parse(&damaged).and_then(|msf| Table::read(&msf)) else { continue };
        read += 1;
        for rva in (0x1000..0x1100).chain([0, u32::MAX]) {
            let _ = (table.frames(rva), table.nearest(rva));
        }
    }
    assert!(read > 100, "only {read} could be read at all");
}
