//! Untrusted bytes: every file must give a result, without a panic and in bounded time.

use crate::common::{
    DIRECTORIES, Driver, OPTIONAL, PE_OFFSET, RDATA, directory, get_u32, put, put_u32, section_header,
};
use driver_package::report::{json, table};
use driver_package::{Image, Target, Verdict};
use proptest::prelude::*;

/// Parses a file, checks it against all rules, and formats both reports.
fn look_at(file: &[u8]) -> Result<Image, driver_package::Error> {
    let image = Image::parse(file)?;
    let verdict = Verdict::judge(&image, Target::default());
    let text = table::image("file", &image, &verdict, table::Style::default());
    assert!(!text.contains('\u{1b}'), "an escape code reached the terminal");
    let _ = json::image("file", &image, &verdict);
    Ok(image)
}

fn all_parts() -> Driver {
    Driver { delayed: vec!["other.dll"], tls: true, clr: true, ..Driver::default() }
}

#[test]
fn an_image_cut_anywhere_is_refused_or_an_error() {
    let whole = all_parts();
    let file = Driver { delayed: vec![], tls: false, clr: false, ..whole.clone() }.build();
    for length in 0..file.len() {
        if let Ok(image) = look_at(&file[..length]) {
            assert!(!Verdict::judge(&image, Target::default()).is_loadable(), "loadable when cut to {length:#x}");
        }
    }
    let file = whole.build();
    for length in 0..file.len() {
        let _ = look_at(&file[..length]);
    }
}

#[test]
fn errors_name_the_damaged_field() {
    let good = Driver::default();
    let outside = 0x00f0_0000;
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("DOS header", b"ELF".to_vec()),
        ("DOS header", vec![0; 4096]),
        ("PE signature", good.build_with(|file| put_u32(file, 0x3c, u32::MAX))),
        ("PE signature", good.build_with(|file| put(file, PE_OFFSET, b"NE"))),
        ("optional header", good.build_with(|file| put(file, OPTIONAL, &0x107_u16.to_le_bytes()))),
        ("optional header", good.build_with(|file| put(file, PE_OFFSET + 20, &8_u16.to_le_bytes()))),
        ("section table", good.build_with(|file| put(file, PE_OFFSET + 6, &u16::MAX.to_le_bytes()))),
        ("export directory", good.build_with(|file| put_u32(file, directory(0), outside))),
        ("import table", good.build_with(|file| put_u32(file, directory(1), outside))),
        ("relocation directory", good.build_with(|file| put_u32(file, directory(5), outside))),
        ("debug directory", good.build_with(|file| put_u32(file, directory(6), outside))),
        ("debug directory", good.build_with(|file| put_u32(file, directory(6) + 4, u32::MAX))),
        ("load configuration", good.build_with(|file| put_u32(file, directory(10), outside))),
        ("delay-load table", good.build_with(|file| put_u32(file, directory(13), outside))),
        (
            "relocation block",
            good.build_with(|file| {
                let at = get_u32(file, section_header(4).start + 20) as usize;
                put_u32(file, at + 4, 4);
            }),
        ),
        (
            "name of an imported module",
            good.build_with(|file| {
                let at = (get_u32(file, directory(1)) - RDATA + 0x600) as usize;
                put_u32(file, at + 12, outside);
            }),
        ),
        (
            "list of imported names",
            good.build_with(|file| {
                let at = (get_u32(file, directory(1)) - RDATA + 0x600) as usize;
                put_u32(file, at, outside);
            }),
        ),
        (
            "export directory",
            good.build_with(|file| {
                let at = (get_u32(file, directory(0)) - RDATA + 0x600) as usize;
                put_u32(file, at + 20, u32::MAX);
            }),
        ),
        (
            "export ordinals",
            good.build_with(|file| {
                let at = (get_u32(file, directory(0)) - RDATA + 0x600) as usize;
                let ordinals = (get_u32(file, at + 36) - RDATA + 0x600) as usize;
                put(file, ordinals, &7_u16.to_le_bytes());
            }),
        ),
    ];
    for (field, file) in cases {
        let error = look_at(&file).expect_err(field);
        assert_eq!(error.field(), field, "{error}");
        assert!(error.to_string().starts_with(&format!("{field}: ")));
        assert!(!error.reason().is_empty());
    }
}

#[test]
fn tables_that_share_their_entries_end_at_the_limit_of_imports() {
    // A thousand modules that share the same long list of names.
    let file = Driver::default().build_with(|file| {
        let rdata = section_header(1).start;
        let size: u32 = 0x0100_0000;
        let at = u32::try_from(file.len()).unwrap();
        file.resize(at as usize + size as usize, 0x01);
        put_u32(file, rdata + 8, size);
        put_u32(file, rdata + 16, size);
        put_u32(file, rdata + 20, at);
        put_u32(file, directory(1), RDATA);
        for index in [0, 6, 10] {
            put_u32(file, directory(index), 0);
        }
        // The list consists of ordinals, and the module names are short.
        for module in 0..1000 {
            let descriptor = at as usize + module * 20;
            put_u32(file, descriptor, RDATA + 0x8000);
            put_u32(file, descriptor + 12, RDATA + 0x7000);
            put_u32(file, descriptor + 16, RDATA + 0x8000);
        }
        put(file, at as usize + 0x7000, b"a\0");
        let thunks = at as usize + 0x8000;
        for thunk in file[thunks..].chunks_exact_mut(8) {
            thunk.copy_from_slice(&0x8000_0000_0000_0001_u64.to_le_bytes());
        }
    });
    let error = look_at(&file).unwrap_err();
    assert!(error.reason().contains("more than 65536"), "{error}");
}

#[test]
fn names_cannot_carry_escape_codes() {
    let file = Driver::default().build_with(|file| put(file, section_header(0).start, b"\x1b[2J\xff"));
    let image = look_at(&file).unwrap();
    assert_eq!(image.sections[0].name, "\\u{1b}[2J\\xff");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_image_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut file = all_parts().build();
        for (index, byte) in changes {
            let at = index.index(file.len());
            file[at] = byte;
        }
        let _ = look_at(&file);
    }

    /// Headers, directories and tables are a small part of the file, but everything depends on them.
    #[test]
    fn changed_headers_never_panic(
        changes in prop::collection::vec((PE_OFFSET..0x400_usize, any::<u32>()), 1..4),
        tables in prop::collection::vec((0x600..0xa00_usize, prop_oneof![any::<u32>(), Just(u32::MAX), 0..0x6000_u32]), 0..4),
    ) {
        let mut file = all_parts().build();
        for (at, value) in changes.into_iter().chain(tables) {
            let last = file.len() - 4;
            put_u32(&mut file, at.min(last), value);
        }
        let _ = look_at(&file);
    }

    #[test]
    fn directories_may_point_anywhere(index in 0..16_usize, rva in 0..0x7000_u32, size in prop_oneof![0..0x400_u32, any::<u32>()]) {
        let mut file = all_parts().build();
        put_u32(&mut file, DIRECTORIES + 8 * index, rva);
        put_u32(&mut file, DIRECTORIES + 8 * index + 4, size);
        let _ = look_at(&file);
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let _ = look_at(&bytes);
    }
}
