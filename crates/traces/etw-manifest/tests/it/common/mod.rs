//! Binary descriptions of one event, for tests here and as fuzzing seeds: a `TRACE_EVENT_INFO` with its map, and a
//! `WEVT_TEMPLATE` resource. The event has a value map, a length and a count that are given by other fields, and an array of
//! structs.
#![allow(dead_code, reason = "every user takes a part of it")]

use etw_types::Guid;

/// The provider of the event.
pub(crate) const PROVIDER: Guid = Guid::from_u128(0x1111_1111_2222_3333_4444_5555_5555_5555);
/// The decoded payload of the event.
pub(crate) const SHOWN: &str =
    "Test-Provider/Copy/Start Mode=Fast Size=2 Data=abcd Text=hi Count=1 Items=[{Key=0x10 Flag=true}]";

/// The members of `EVENT_PROPERTY_INFO`: flags, name, first and second word, count, length.
const FIELDS: [(u32, &str, u16, u16, u16, u16); 8] = [
    (0, "Mode", 4, 4, 1, 1),
    (0, "Size", 8, 8, 1, 4),
    (2, "Data", 14, 15, 1, 1),
    (0, "Text", 1, 1, 1, 0),
    (0, "Count", 6, 6, 1, 2),
    (1 | 4, "Items", 6, 2, 4, 0),
    (0, "Key", 16, 19, 1, 8),
    (0, "Flag", 13, 13, 1, 4),
];

/// Returns the payload of the event in a 64-bit process.
pub(crate) fn payload() -> Vec<u8> {
    let start = [&[1, 2, 0, 0, 0, 0xAB, 0xCD][..], b"h\0i\0\0\0", &[1, 0]].concat();
    [&start[..], &0x10_u64.to_le_bytes(), &1_u32.to_le_bytes()].concat()
}

/// Bytes with placeholders that are filled in later.
struct Blob(Vec<u8>);

impl Blob {
    fn put(&mut self, place: usize, bytes: &[u8]) {
        self.0[place..place + bytes.len()].copy_from_slice(bytes);
    }

    fn number(&mut self, place: usize, number: usize) {
        self.put(place, &u32::try_from(number).unwrap().to_le_bytes());
    }

    /// Appends a text and stores its offset at `place`.
    fn text(&mut self, place: usize, text: &str) {
        self.number(place, self.0.len());
        self.0.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }

    /// Appends the size of a text and the text, and stores the offset at `place`.
    fn sized(&mut self, place: usize, text: &str) {
        self.number(place, self.0.len());
        let size = self.0.len();
        self.0.extend([0; 4]);
        self.0.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.number(size, self.0.len() - size);
    }

    /// Appends a list with room for its elements, and returns the offset of the elements.
    fn list(&mut self, signature: [u8; 4], count: usize, bytes: usize) -> usize {
        let start = self.0.len();
        self.0.extend(signature);
        self.0.extend([0; 8]);
        self.number(start + 8, count);
        self.0.resize(start + 12 + bytes, 0);
        start + 12
    }
}

/// Returns a `TRACE_EVENT_INFO`.
pub(crate) fn event_info() -> Vec<u8> {
    let mut info = Blob(vec![0; 112 + 24 * FIELDS.len()]);
    info.put(0, &PROVIDER.to_bytes_le());
    info.put(32, &[7, 0, 1, 0, 0, 1, 3, 0]);
    info.number(100, 8);
    info.number(104, 6);
    for (place, text) in [(52, "Test-Provider"), (68, "Copy"), (72, "Start"), (76, "%1 copy of %4%0")] {
        info.text(place, text);
    }
    for (index, (flags, name, first, second, count, length)) in FIELDS.into_iter().enumerate() {
        let place = 112 + 24 * index;
        info.put(place, &flags.to_le_bytes());
        info.text(place + 4, name);
        info.put(place + 8, &[first.to_le_bytes(), second.to_le_bytes()].concat());
        if name == "Mode" {
            info.text(place + 12, "Mode");
        }
        info.put(place + 16, &[count.to_le_bytes(), length.to_le_bytes()].concat());
    }
    info.0
}

/// Returns the provider's GUID and an `EVENT_MAP_INFO`.
pub(crate) fn map_info() -> Vec<u8> {
    let mut info = Blob(vec![0; 24]);
    info.text(0, "Mode");
    info.number(4, 1);
    info.number(8, 1);
    info.text(16, "Fast ");
    info.number(20, 1);
    [&PROVIDER.to_bytes_le()[..], &info.0].concat()
}

/// Returns a `WEVT_TEMPLATE` resource. It does not contain the texts of messages.
pub(crate) fn resource() -> Vec<u8> {
    let mut blob = Blob(Vec::new());
    blob.0.extend(b"CRIM\0\0\0\0\x05\0\x01\0\x01\0\0\0");
    blob.0.extend(PROVIDER.to_bytes_le());
    blob.0.extend(36_u32.to_le_bytes());
    blob.0.extend(b"WEVT\0\0\0\0\xff\xff\xff\xff\x05\0\0\0\0\0\0\0");
    blob.0.resize(56 + 5 * 8, 0);
    let list = |blob: &mut Blob, index: usize, start: usize| blob.number(56 + 8 * index, start - 12);
    let name = blob.list(*b"PRVA", 1, 8);
    list(&mut blob, 0, name);
    blob.put(name, &[1, 0, 0, 0x10]);
    blob.text(name + 4, "Test-Provider");
    let channel = blob.list(*b"CHAN", 1, 16);
    list(&mut blob, 1, channel);
    blob.sized(channel + 4, "Test-Provider/Debug");
    blob.number(channel + 8, 16);
    let task = blob.list(*b"TASK", 1, 28);
    list(&mut blob, 2, task);
    blob.number(task, 3);
    blob.sized(task + 24, "Copy");
    let opcode = blob.list(*b"OPCO", 1, 12);
    list(&mut blob, 3, opcode);
    blob.number(opcode, 1 << 16);
    blob.sized(opcode + 8, "win:Start");
    let map = blob.list(*b"VMAP", 0, 16) - 12;
    blob.sized(map + 8, "Mode");
    blob.number(map + 16, 1);
    blob.number(map + 20, 1);
    blob.number(map + 24, 9);
    let template = blob.0.len();
    blob.0.extend(b"TEMP\0\0\0\0\x06\0\0\0\x08\0\0\0");
    blob.0.resize(template + 40 + 20 * FIELDS.len(), 0);
    blob.number(template + 16, template + 40);
    for (index, (flags, name, first, second, count, length)) in FIELDS.into_iter().enumerate() {
        let place = template + 40 + 20 * index;
        let flags = flags & 1 | if flags & 2 != 0 { 4 } else { 0 } | if flags & 4 != 0 { 16 } else { 0 };
        blob.number(place, usize::try_from(flags).unwrap());
        let is_struct = flags & 1 != 0;
        let types = (first | second << 8).to_le_bytes().to_vec();
        let kind = if is_struct { [first.to_le_bytes(), second.to_le_bytes()].concat() } else { types };
        blob.put(place + 4, &kind);
        if name == "Mode" {
            blob.number(place + 8, map);
        }
        blob.put(place + 12, &[count.to_le_bytes(), length.to_le_bytes()].concat());
        blob.sized(place + 16, name);
    }
    let event = blob.list(*b"EVNT", 1, 4 + 48) + 4;
    list(&mut blob, 4, event - 4);
    blob.put(event, &[7, 0, 1, 16, 4, 1, 3, 0]);
    for (place, offset) in [(20, template), (24, opcode), (32, task), (44, channel)] {
        blob.number(event + place, offset);
    }
    blob.number(event + 16, 0xFFFF);
    blob.0
}
