//! Simple upper-case mapping, usable in constants.
//!
//! Provider names are hashed in "invariant upper case": a mapping of each character to exactly one character,
//! independent of language. `char::to_uppercase` is neither `const` nor simple (it maps `ß` to `SS`), so this module
//! has its own table: the Unicode property `Simple_Uppercase_Mapping`, as runs. Dotless i (U+0131) is left out, because
//! .NET's invariant culture does not change it, to match Windows.

/// The characters `first`, `first + step`, … `last`. The upper case of each is `delta` away.
struct Run {
    first: u32,
    last: u32,
    step: u32,
    delta: i32,
}

impl Run {
    const fn new(first: u32, last: u32, step: u32, delta: i32) -> Self {
        Self { first, last, step, delta }
    }
}

/// Returns the simple upper-case mapping of `character`, or `character` itself if it has none.
pub(super) const fn simple_uppercase(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_uppercase();
    }
    let code = character as u32;
    let mut runs: &[Run] = RUNS;
    while let [run, rest @ ..] = runs {
        if code < run.first {
            break;
        }
        if code <= run.last && (code - run.first).is_multiple_of(run.step) {
            return match char::from_u32(code.wrapping_add_signed(run.delta)) {
                Some(upper) => upper,
                None => character,
            };
        }
        runs = rest;
    }
    character
}

#[rustfmt::skip]
const RUNS: &[Run] = &[
    Run::new(0x00B5, 0x00B5, 1, 743), Run::new(0x00E0, 0x00F6, 1, -32),
    Run::new(0x00F8, 0x00FE, 1, -32), Run::new(0x00FF, 0x00FF, 1, 121), Run::new(0x0101, 0x012F, 2, -1),
    Run::new(0x0133, 0x0137, 2, -1), Run::new(0x013A, 0x0148, 2, -1), Run::new(0x014B, 0x0177, 2, -1),
    Run::new(0x017A, 0x017E, 2, -1), Run::new(0x017F, 0x017F, 1, -300), Run::new(0x0180, 0x0180, 1, 195), Run::new(0x0183, 0x0185, 2, -1),
    Run::new(0x0188, 0x0188, 1, -1), Run::new(0x018C, 0x018C, 1, -1), Run::new(0x0192, 0x0192, 1, -1),
    Run::new(0x0195, 0x0195, 1, 97), Run::new(0x0199, 0x0199, 1, -1), Run::new(0x019A, 0x019A, 1, 163),
    Run::new(0x019E, 0x019E, 1, 130), Run::new(0x01A1, 0x01A5, 2, -1), Run::new(0x01A8, 0x01A8, 1, -1),
    Run::new(0x01AD, 0x01AD, 1, -1), Run::new(0x01B0, 0x01B0, 1, -1), Run::new(0x01B4, 0x01B6, 2, -1),
    Run::new(0x01B9, 0x01B9, 1, -1), Run::new(0x01BD, 0x01BD, 1, -1), Run::new(0x01BF, 0x01BF, 1, 56),
    Run::new(0x01C5, 0x01C5, 1, -1), Run::new(0x01C6, 0x01C6, 1, -2), Run::new(0x01C8, 0x01C8, 1, -1),
    Run::new(0x01C9, 0x01C9, 1, -2), Run::new(0x01CB, 0x01CB, 1, -1), Run::new(0x01CC, 0x01CC, 1, -2),
    Run::new(0x01CE, 0x01DC, 2, -1), Run::new(0x01DD, 0x01DD, 1, -79), Run::new(0x01DF, 0x01EF, 2, -1),
    Run::new(0x01F2, 0x01F2, 1, -1), Run::new(0x01F3, 0x01F3, 1, -2), Run::new(0x01F5, 0x01F5, 1, -1),
    Run::new(0x01F9, 0x021F, 2, -1), Run::new(0x0223, 0x0233, 2, -1), Run::new(0x023C, 0x023C, 1, -1),
    Run::new(0x023F, 0x0240, 1, 10815), Run::new(0x0242, 0x0242, 1, -1), Run::new(0x0247, 0x024F, 2, -1),
    Run::new(0x0250, 0x0250, 1, 10783), Run::new(0x0251, 0x0251, 1, 10780), Run::new(0x0252, 0x0252, 1, 10782),
    Run::new(0x0253, 0x0253, 1, -210), Run::new(0x0254, 0x0254, 1, -206), Run::new(0x0256, 0x0257, 1, -205),
    Run::new(0x0259, 0x0259, 1, -202), Run::new(0x025B, 0x025B, 1, -203), Run::new(0x025C, 0x025C, 1, 42319),
    Run::new(0x0260, 0x0260, 1, -205), Run::new(0x0261, 0x0261, 1, 42315), Run::new(0x0263, 0x0263, 1, -207),
    Run::new(0x0265, 0x0265, 1, 42280), Run::new(0x0266, 0x0266, 1, 42308), Run::new(0x0268, 0x0268, 1, -209),
    Run::new(0x0269, 0x0269, 1, -211), Run::new(0x026A, 0x026A, 1, 42308), Run::new(0x026B, 0x026B, 1, 10743),
    Run::new(0x026C, 0x026C, 1, 42305), Run::new(0x026F, 0x026F, 1, -211), Run::new(0x0271, 0x0271, 1, 10749),
    Run::new(0x0272, 0x0272, 1, -213), Run::new(0x0275, 0x0275, 1, -214), Run::new(0x027D, 0x027D, 1, 10727),
    Run::new(0x0280, 0x0280, 1, -218), Run::new(0x0282, 0x0282, 1, 42307), Run::new(0x0283, 0x0283, 1, -218),
    Run::new(0x0287, 0x0287, 1, 42282), Run::new(0x0288, 0x0288, 1, -218), Run::new(0x0289, 0x0289, 1, -69),
    Run::new(0x028A, 0x028B, 1, -217), Run::new(0x028C, 0x028C, 1, -71), Run::new(0x0292, 0x0292, 1, -219),
    Run::new(0x029D, 0x029D, 1, 42261), Run::new(0x029E, 0x029E, 1, 42258), Run::new(0x0345, 0x0345, 1, 84),
    Run::new(0x0371, 0x0373, 2, -1), Run::new(0x0377, 0x0377, 1, -1), Run::new(0x037B, 0x037D, 1, 130),
    Run::new(0x03AC, 0x03AC, 1, -38), Run::new(0x03AD, 0x03AF, 1, -37), Run::new(0x03B1, 0x03C1, 1, -32),
    Run::new(0x03C2, 0x03C2, 1, -31), Run::new(0x03C3, 0x03CB, 1, -32), Run::new(0x03CC, 0x03CC, 1, -64),
    Run::new(0x03CD, 0x03CE, 1, -63), Run::new(0x03D0, 0x03D0, 1, -62), Run::new(0x03D1, 0x03D1, 1, -57),
    Run::new(0x03D5, 0x03D5, 1, -47), Run::new(0x03D6, 0x03D6, 1, -54), Run::new(0x03D7, 0x03D7, 1, -8),
    Run::new(0x03D9, 0x03EF, 2, -1), Run::new(0x03F0, 0x03F0, 1, -86), Run::new(0x03F1, 0x03F1, 1, -80),
    Run::new(0x03F2, 0x03F2, 1, 7), Run::new(0x03F3, 0x03F3, 1, -116), Run::new(0x03F5, 0x03F5, 1, -96),
    Run::new(0x03F8, 0x03F8, 1, -1), Run::new(0x03FB, 0x03FB, 1, -1), Run::new(0x0430, 0x044F, 1, -32),
    Run::new(0x0450, 0x045F, 1, -80), Run::new(0x0461, 0x0481, 2, -1), Run::new(0x048B, 0x04BF, 2, -1),
    Run::new(0x04C2, 0x04CE, 2, -1), Run::new(0x04CF, 0x04CF, 1, -15), Run::new(0x04D1, 0x052F, 2, -1),
    Run::new(0x0561, 0x0586, 1, -48), Run::new(0x10D0, 0x10FA, 1, 3008), Run::new(0x10FD, 0x10FF, 1, 3008),
    Run::new(0x13F8, 0x13FD, 1, -8), Run::new(0x1C80, 0x1C80, 1, -6254), Run::new(0x1C81, 0x1C81, 1, -6253),
    Run::new(0x1C82, 0x1C82, 1, -6244), Run::new(0x1C83, 0x1C84, 1, -6242), Run::new(0x1C85, 0x1C85, 1, -6243),
    Run::new(0x1C86, 0x1C86, 1, -6236), Run::new(0x1C87, 0x1C87, 1, -6181), Run::new(0x1C88, 0x1C88, 1, 35266),
    Run::new(0x1D79, 0x1D79, 1, 35332), Run::new(0x1D7D, 0x1D7D, 1, 3814), Run::new(0x1D8E, 0x1D8E, 1, 35384),
    Run::new(0x1E01, 0x1E95, 2, -1), Run::new(0x1E9B, 0x1E9B, 1, -59), Run::new(0x1EA1, 0x1EFF, 2, -1),
    Run::new(0x1F00, 0x1F07, 1, 8), Run::new(0x1F10, 0x1F15, 1, 8), Run::new(0x1F20, 0x1F27, 1, 8),
    Run::new(0x1F30, 0x1F37, 1, 8), Run::new(0x1F40, 0x1F45, 1, 8), Run::new(0x1F51, 0x1F57, 2, 8),
    Run::new(0x1F60, 0x1F67, 1, 8), Run::new(0x1F70, 0x1F71, 1, 74), Run::new(0x1F72, 0x1F75, 1, 86),
    Run::new(0x1F76, 0x1F77, 1, 100), Run::new(0x1F78, 0x1F79, 1, 128), Run::new(0x1F7A, 0x1F7B, 1, 112),
    Run::new(0x1F7C, 0x1F7D, 1, 126), Run::new(0x1F80, 0x1F87, 1, 8), Run::new(0x1F90, 0x1F97, 1, 8),
    Run::new(0x1FA0, 0x1FA7, 1, 8), Run::new(0x1FB0, 0x1FB1, 1, 8), Run::new(0x1FB3, 0x1FB3, 1, 9),
    Run::new(0x1FBE, 0x1FBE, 1, -7205), Run::new(0x1FC3, 0x1FC3, 1, 9), Run::new(0x1FD0, 0x1FD1, 1, 8),
    Run::new(0x1FE0, 0x1FE1, 1, 8), Run::new(0x1FE5, 0x1FE5, 1, 7), Run::new(0x1FF3, 0x1FF3, 1, 9),
    Run::new(0x214E, 0x214E, 1, -28), Run::new(0x2170, 0x217F, 1, -16), Run::new(0x2184, 0x2184, 1, -1),
    Run::new(0x24D0, 0x24E9, 1, -26), Run::new(0x2C30, 0x2C5F, 1, -48), Run::new(0x2C61, 0x2C61, 1, -1),
    Run::new(0x2C65, 0x2C65, 1, -10795), Run::new(0x2C66, 0x2C66, 1, -10792), Run::new(0x2C68, 0x2C6C, 2, -1),
    Run::new(0x2C73, 0x2C73, 1, -1), Run::new(0x2C76, 0x2C76, 1, -1), Run::new(0x2C81, 0x2CE3, 2, -1),
    Run::new(0x2CEC, 0x2CEE, 2, -1), Run::new(0x2CF3, 0x2CF3, 1, -1), Run::new(0x2D00, 0x2D25, 1, -7264),
    Run::new(0x2D27, 0x2D27, 1, -7264), Run::new(0x2D2D, 0x2D2D, 1, -7264), Run::new(0xA641, 0xA66D, 2, -1),
    Run::new(0xA681, 0xA69B, 2, -1), Run::new(0xA723, 0xA72F, 2, -1), Run::new(0xA733, 0xA76F, 2, -1),
    Run::new(0xA77A, 0xA77C, 2, -1), Run::new(0xA77F, 0xA787, 2, -1), Run::new(0xA78C, 0xA78C, 1, -1),
    Run::new(0xA791, 0xA793, 2, -1), Run::new(0xA794, 0xA794, 1, 48), Run::new(0xA797, 0xA7A9, 2, -1),
    Run::new(0xA7B5, 0xA7C3, 2, -1), Run::new(0xA7C8, 0xA7CA, 2, -1), Run::new(0xA7D1, 0xA7D1, 1, -1),
    Run::new(0xA7D7, 0xA7D9, 2, -1), Run::new(0xA7F6, 0xA7F6, 1, -1), Run::new(0xAB53, 0xAB53, 1, -928),
    Run::new(0xAB70, 0xABBF, 1, -38864), Run::new(0xFF41, 0xFF5A, 1, -32), Run::new(0x10428, 0x1044F, 1, -40),
    Run::new(0x104D8, 0x104FB, 1, -40), Run::new(0x10597, 0x105A1, 1, -39), Run::new(0x105A3, 0x105B1, 1, -39),
    Run::new(0x105B3, 0x105B9, 1, -39), Run::new(0x105BB, 0x105BC, 1, -39), Run::new(0x10CC0, 0x10CF2, 1, -64),
    Run::new(0x118C0, 0x118DF, 1, -32), Run::new(0x16E60, 0x16E7F, 1, -32), Run::new(0x1E922, 0x1E943, 1, -34),
];

#[cfg(test)]
mod tests {
    use super::simple_uppercase;

    /// If the standard library's full mapping is a single character, the simple mapping must be the same.
    #[test]
    #[cfg_attr(miri, ignore = "walks all of Unicode")]
    fn agrees_with_the_standard_library_for_single_character_mappings() {
        let left_alone = '\u{131}';
        let mut mapped = 0;
        // Characters that got an upper case in a later version of Unicode than the table's are not compared: the
        // function returns them unchanged.
        for character in (0..=0x10_FFFF_u32).filter_map(char::from_u32) {
            let ours = simple_uppercase(character);
            let mut full = character.to_uppercase();
            let first = full.next();
            let rest = full.next();
            if character == left_alone {
                assert_eq!(ours, character);
            } else if ours != character && rest.is_none() {
                assert_eq!(Some(ours), first, "{character:?}");
                mapped += 1;
            }
        }
        assert!(mapped > 1350, "{mapped}");
    }

    #[test]
    fn sharp_s_and_ligatures_stay() {
        assert_eq!(simple_uppercase('ß'), 'ß');
        assert_eq!(simple_uppercase('ﬁ'), 'ﬁ');
        assert_eq!(simple_uppercase('ŉ'), 'ŉ');
    }

    #[test]
    fn simple_mapping_of_iota_subscript_is_the_title_case_letter() {
        assert_eq!(simple_uppercase('\u{1F80}'), '\u{1F88}');
        assert_eq!(simple_uppercase('\u{1FB3}'), '\u{1FBC}');
    }

    #[test]
    fn other_scripts_are_mapped() {
        for (lower, upper) in [('é', 'É'), ('ÿ', 'Ÿ'), ('ж', 'Ж'), ('ω', 'Ω'), ('ǆ', 'Ǆ'), ('ſ', 'S'), ('𐐨', '𐐀')]
        {
            assert_eq!(simple_uppercase(lower), upper);
        }
    }
}
