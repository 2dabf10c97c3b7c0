//! Reading, stamping, linting and signing must return for any content, and must not panic.

use crate::common::inputs::{INX, image, signer};
use driver_package::inf::lint::lint;
use driver_package::inf::{Arch, DriverVersion, Inf, Stamp, Text, stamp};
use driver_package::sign::{image_digests, sign_image};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq, proptest};

/// Returns words that have a meaning in an INF, and others.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        select(INX.lines().map(String::from).collect::<Vec<_>>()),
        "[\\[\\]=,;\"%\\\\$A-Za-z0-9. ]{0,24}",
        Just(String::from("%%%")),
        Just(String::from("x = \"a\"\"b\" \\")),
    ];
    vec(word, 1..3).prop_map(|words| words.concat())
}

fn what() -> Stamp {
    let date = der::DateTime::new(2024, 2, 29, 1, 2, 3).unwrap();
    let version = DriverVersion::from_time(date);
    Stamp {
        arch: Some(Arch::X64),
        kmdf: Some("1.33".into()),
        umdf: None,
        section: "Version".into(),
        version,
        catalog: Some("x.cat".into()),
    }
}

proptest! {
    #[test]
    fn any_lines(lines in vec(line(), 0..40)) {
        let text = Text::decode(lines.join("\r\n").as_bytes()).unwrap();
        if let Ok(inf) = Inf::parse(&text.text) {
            let count = text.text.lines().count().max(1);
            for fault in lint(&inf, Arch::Arm64) {
                prop_assert!((1..=count).contains(&fault.line), "{fault:?}");
            }
        }
        if let Ok(stamped) = stamp(&text, &what()) {
            let again = stamp(&stamped.text, &what()).unwrap();
            prop_assert_eq!(&again.text, &stamped.text, "a stamped file has nothing left to stamp");
            for line in 1..=stamped.text.text.lines().count() {
                prop_assert!((1..=line).contains(&stamped.source_line(line)));
            }
        }
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(text) = Text::decode(&bytes) {
            prop_assert_eq!(text.encode(), bytes);
            let _ = Inf::parse(&text.text).map(|inf| lint(&inf, Arch::X64));
        }
    }

    #[test]
    fn an_image_with_damage(changes in vec((0..0x400_usize, any::<u8>()), 1..6), cut in 0..0x2000_usize) {
        let mut bytes = image(Arch::X64).build();
        for (place, value) in changes {
            bytes[place] = value;
        }
        bytes.truncate(cut.max(1));
        prop_assert_eq!(image_digests(&bytes).is_ok(), sign_image(&bytes, &signer()).is_ok());
    }
}
