//! Report descriptors: which reports a device has, and how long each is. HID specification 1.11, section 6.2.2.

use nt_processor::sorted::SortedMap;

/// The longest report, in bytes. The lengths of `HIDP_CAPS` have 16 bits.
const LONGEST: u64 = 0xFFFF;

/// The direction of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Input,
    Output,
    Feature,
}

/// The reports of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// Whether each report begins with its number.
    pub(super) has_ids: bool,
    /// The number of bits of each report, without its number.
    bits: SortedMap<(Kind, u8), u64>,
}

impl Reports {
    /// Returns the length of a report in bytes, as the minidriver transfers it: with its number, if reports have numbers.
    pub(super) fn length(&self, kind: Kind, id: u8) -> Option<u32> {
        self.bits.get(&(kind, id)).map(|bits| (bits.div_ceil(8) + u64::from(self.has_ids)) as u32)
    }

    /// Returns the length of the longest report of a kind.
    pub(super) fn longest(&self, kind: Kind) -> Option<u32> {
        let ids = self.bits.keys().filter(|(known, _)| *known == kind);
        ids.filter_map(|(_, id)| self.length(kind, *id)).max()
    }

    /// Returns what is wrong with an input report.
    pub(super) fn mistake(&self, report: &[u8]) -> Option<String> {
        let id = if self.has_ids { report.first().copied().unwrap_or_default() } else { 0 };
        let length = report.len();
        match self.length(Kind::Input, id) {
            None => Some(format!("report {id}, which its report descriptor does not have")),
            Some(expected) if length != expected as usize => {
                Some(format!("{length} bytes: its report descriptor says {expected}"))
            }
            Some(_) => None,
        }
    }
}

/// The values that main items use.
#[derive(Clone, Copy, Debug, Default)]
struct Globals {
    size: u64,
    count: u64,
    id: u8,
}

/// Reads a report descriptor. Fails with what is wrong with it.
pub(super) fn parse(descriptor: &[u8]) -> Result<Reports, &'static str> {
    let mut rest = descriptor;
    let mut reports = Reports::default();
    let mut globals = Globals::default();
    let mut stack = Vec::new();
    let mut depth = 0_u32;
    let mut collections = 0_u32;
    while let Some((prefix, after)) = rest.split_first() {
        let (item, data, next) = item(*prefix, after).ok_or("an item is cut off")?;
        rest = next;
        match item {
            // Input, Output, Feature.
            0x80 | 0x90 | 0xB0 => {
                let kind = match item {
                    0x80 => Kind::Input,
                    0x90 => Kind::Output,
                    _ => Kind::Feature,
                };
                if depth == 0 {
                    return Err("a report is outside of all collections");
                }
                let bits = reports.bits.get_or_default((kind, globals.id));
                *bits = bits.saturating_add(globals.size.saturating_mul(globals.count));
                if *bits > LONGEST * 8 {
                    return Err("a report is longer than 65535 bytes");
                }
            }
            // Collection, End Collection.
            0xA0 => {
                collections += u32::from(depth == 0);
                depth += 1;
            }
            0xC0 => depth = depth.checked_sub(1).ok_or("a collection ends that has not begun")?,
            // Report Size, Report Count, Report ID.
            0x74 => globals.size = data.into(),
            0x94 => globals.count = data.into(),
            0x84 => {
                globals.id = u8::try_from(data).ok().filter(|id| *id != 0).ok_or("a report ID is not 1 to 255")?;
                reports.has_ids = true;
            }
            // Push, Pop.
            0xA4 => stack.push(globals),
            0xB4 => globals = stack.pop().ok_or("Pop without Push")?,
            _ => {}
        }
    }
    match () {
        () if depth != 0 => Err("a collection does not end"),
        () if collections == 0 => Err("there is no collection"),
        () if reports.has_ids && reports.bits.keys().any(|(_, id)| *id == 0) => {
            Err("some reports have an ID and some have none")
        }
        () => Ok(reports),
    }
}

/// Splits off an item, whose prefix is known. Returns its tag and type, its data, and what follows.
fn item(prefix: u8, after: &[u8]) -> Option<(u8, u32, &[u8])> {
    /// The prefix of a long item. Its data has a meaning only for vendors.
    const LONG: u8 = 0xFE;
    if prefix == LONG {
        let (length, after) = after.split_first()?;
        return Some((0, 0, after.get(1 + usize::from(*length)..)?));
    }
    let length = [0, 1, 2, 4].get(usize::from(prefix & 3)).copied()?;
    let (data, next) = after.split_at_checked(length)?;
    let value = data.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
    Some((prefix & 0xFC, value, next))
}

#[cfg(test)]
mod tests {
    use super::{Kind, parse};

    /// The mouse of the specification, appendix E.10: three buttons, padding, X and Y.
    const MOUSE: [u8; 50] = [
        0x05, 0x01, 0x09, 0x02, 0xA1, 0x01, 0x09, 0x01, 0xA1, 0x00, 0x05, 0x09, 0x19, 0x01, 0x29, 0x03, 0x15, 0x00,
        0x25, 0x01, 0x95, 0x03, 0x75, 0x01, 0x81, 0x02, 0x95, 0x01, 0x75, 0x05, 0x81, 0x01, 0x05, 0x01, 0x09, 0x30,
        0x09, 0x31, 0x15, 0x81, 0x25, 0x7F, 0x75, 0x08, 0x95, 0x02, 0x81, 0x06, 0xC0, 0xC0,
    ];

    #[test]
    fn a_mouse_has_an_input_report_of_three_bytes() {
        let reports = parse(&MOUSE).expect("a descriptor");
        assert!(!reports.has_ids);
        assert_eq!(reports.length(Kind::Input, 0), Some(3));
        assert_eq!(reports.longest(Kind::Output), None);
        assert_eq!(reports.mistake(&[0, 1, 2]), None);
        assert_eq!(reports.mistake(&[0; 4]).as_deref(), Some("4 bytes: its report descriptor says 3"));
    }

    #[test]
    fn reports_with_numbers_are_one_byte_longer() {
        let descriptor = [
            0xA1, 0x01, 0x85, 1, 0x75, 8, 0x95, 2, 0x81, 2, 0xA4, 0x85, 2, 0x96, 0x00, 0x01, 0xB1, 2, 0xB4, 0x81, 2,
            0xFE, 1, 0x10, 9, 0xC0,
        ];
        let reports = parse(&descriptor).expect("a descriptor");
        assert!(reports.has_ids);
        assert_eq!(reports.length(Kind::Input, 1), Some(5));
        assert_eq!(reports.length(Kind::Feature, 2), Some(257));
        assert_eq!(reports.mistake(&[2, 0]).as_deref(), Some("report 2, which its report descriptor does not have"));
    }

    #[test]
    fn mistakes_have_reasons() {
        for (descriptor, reason) in [
            (&MOUSE[..49], "a collection does not end"),
            (&MOUSE[..1], "an item is cut off"),
            (&[0xC0], "a collection ends that has not begun"),
            (&[0x81, 2], "a report is outside of all collections"),
            (&[0x85, 0], "a report ID is not 1 to 255"),
            (&[0xB4], "Pop without Push"),
            (&[], "there is no collection"),
            (&[0xA1, 1, 0x75, 8, 0x97, 0xFF, 0xFF, 0xFF, 0xFF, 0x81, 2, 0xC0], "a report is longer than 65535 bytes"),
            (&[0xA1, 1, 0x81, 2, 0x85, 1, 0x81, 2, 0xC0], "some reports have an ID and some have none"),
        ] {
            assert_eq!(parse(descriptor), Err(reason));
        }
    }

    #[test]
    fn no_descriptor_panics() {
        for length in 0..=MOUSE.len() {
            let _ = parse(&MOUSE[..length]);
        }
        for byte in 0..=u8::MAX {
            let _ = parse(&[byte; 64]);
        }
    }
}
