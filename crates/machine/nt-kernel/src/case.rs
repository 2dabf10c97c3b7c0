//! Upper and lower case as in Windows: one unit becomes one unit, and a pair of letters maps in both directions or not at
//! all. So "ı" has no upper case, because the lower case of "I" is "i", and "ß" and "ŉ" have none, because theirs has two
//! letters. The up-case table of Microsoft's exFAT specification (section 7.2.5) is of this kind.

/// Converts a unit to upper case.
pub(crate) fn upcase(unit: u16) -> u16 {
    match unit {
        // Greek letters with a subscript iota: their upper case in one unit is that for titles.
        0x1F80..=0x1FAF if unit & 8 == 0 => unit + 8,
        0x1FB3 | 0x1FC3 | 0x1FF3 => unit + 9,
        _ => simple(unit, char::to_uppercase)
            .filter(|upper| simple(*upper, char::to_lowercase) == Some(unit))
            .unwrap_or(unit),
    }
}

/// Converts a unit to lower case.
pub(crate) fn downcase(unit: u16) -> u16 {
    simple(unit, char::to_lowercase).filter(|lower| upcase(*lower) == unit).unwrap_or(unit)
}

/// Converts the letters of a name to lower case, so that names are equal if they differ only in case.
pub(crate) fn folded(name: &str) -> String {
    name.chars().map(lower).collect()
}

/// Returns whether two names differ at most in case.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    one.chars().map(lower).eq(other.chars().map(lower))
}

/// Characters outside of the Basic Multilingual Plane are two units, which have no case.
fn lower(c: char) -> char {
    let unit = u16::try_from(u32::from(c)).ok();
    unit.and_then(|unit| char::from_u32(downcase(unit).into())).unwrap_or(c)
}

/// Returns the only unit that a conversion of Unicode's makes of a unit.
fn simple<C: Iterator<Item = char>>(unit: u16, convert: impl Fn(char) -> C) -> Option<u16> {
    let mut converted = convert(char::from_u32(unit.into())?);
    let first = converted.next()?;
    let unit = u16::try_from(u32::from(first)).ok()?;
    converted.next().is_none().then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::{downcase, folded, is_same_name, upcase};

    /// Rows of the up-case table of the exFAT specification.
    #[test]
    fn letters_have_the_upper_case_of_the_exfat_specification() {
        let pairs = [
            (0x61, 0x41),
            (0xE9, 0xC9),
            (0xFF, 0x178),
            (0x1E01, 0x1E00),
            (0x1F00, 0x1F08),
            (0x1F51, 0x1F59),
            (0x1F70, 0x1FBA),
            (0x1F80, 0x1F88),
            (0x1FA7, 0x1FAF),
            (0x1FB3, 0x1FBC),
            (0x1FE5, 0x1FEC),
            (0x214E, 0x2132),
            (0x2170, 0x2160),
            (0x2184, 0x2183),
        ];
        for (lower, upper) in pairs {
            assert_eq!(upcase(lower), upper, "{lower:#x}");
            assert_eq!(downcase(upper), lower, "{upper:#x}");
        }
    }

    /// As in that table, these keep their case: the letter that Unicode names has another lower case, or is two letters.
    #[test]
    fn letters_whose_pair_is_not_one_to_one_have_no_other_case() {
        for unit in
            [0xB5, 0xDF, 0x130, 0x131, 0x149, 0x17F, 0x345, 0x3C2, 0x1E96, 0x1E9B, 0x1F50, 0x1FBE, 0x2126, 0x212A]
        {
            assert_eq!(upcase(unit), unit, "{unit:#x}");
            assert_eq!(downcase(unit), unit, "{unit:#x}");
        }
        for surrogate in [0xD800, 0xDBFF, 0xDC00, 0xDFFF] {
            assert_eq!(upcase(surrogate), surrogate);
            assert_eq!(downcase(surrogate), surrogate);
        }
    }

    #[test]
    fn every_pair_maps_in_both_directions() {
        for unit in 0..=u16::MAX {
            assert!(upcase(unit) == unit || downcase(upcase(unit)) == unit, "{unit:#x}");
            assert!(downcase(unit) == unit || upcase(downcase(unit)) == unit, "{unit:#x}");
        }
    }

    #[test]
    fn names_differ_in_more_than_case_if_a_letter_has_no_case() {
        assert!(is_same_name("Ärger", "äRGER"));
        assert!(!is_same_name("ADM\u{131}N", "admin"));
        assert_eq!(folded("STRA\u{DF}E \u{10400}"), "stra\u{DF}e \u{10400}");
    }
}
