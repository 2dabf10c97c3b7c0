//! Maps addresses to images, using the image events of a trace.

use std::collections::BTreeMap;

use etw_types::tracelogging::Value;
use etw_types::{Guid, InType, OutType};

use crate::decode::{Decoded, Decoder, Node, Scalar, show};
use crate::read::event::EventRef;

/// Maximum number of images that are remembered.
const MAX_IMAGES: usize = 0x10_0000;

/// An image in the address space of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    end: u64,
    name: Box<str>,
}

/// Names the return addresses of stacks.
pub trait FrameNames: std::fmt::Debug + Send + Sync {
    /// Returns the functions that contain an address of a process, the innermost inlined function first. Returns the image and
    /// the offset if no function is known, and nothing if no image is known either.
    fn names(&self, process: u32, address: u64) -> Vec<String>;
}

/// The location of an address within an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The name of the image's file.
    pub image: &'a str,
    /// Bytes from the start of the image.
    pub offset: u64,
    /// Id and name of the image's PDB, if the trace contains them.
    pub pdb: Option<(Guid, &'a str)>,
}

/// The images of a trace. Drivers and the kernel belong to the address space of every process.
///
/// ```
/// use etw_etl::{Images, Place};
///
/// // A reader has found them in its trace: `reader.images()`.
/// let images = Images::default();
/// assert!(images.is_empty());
/// let place: Option<Place<'_>> = images.find(4, 0xFFFF_F800_0000_1000);
/// assert!(place.is_none() && images.name(4, 0xFFFF_F800_0000_1000).is_none());
///
/// // Or add what an image event says.
/// let mut images = images;
/// images.add(&etw_etl::Decoded::default());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Images {
    by_base: BTreeMap<(u32, u64), Image>,
    pdbs: BTreeMap<(u32, u64), (Guid, Box<str>)>,
}

impl Images {
    /// Adds an image event: a load, an unload, a rundown, or an event that names an image's PDB. Ignores all other events. If two
    /// images were loaded at the same address, the later one replaces the earlier one.
    pub fn add(&mut self, decoded: &Decoded) {
        if self.by_base.len() >= MAX_IMAGES || self.pdbs.len() >= MAX_IMAGES {
            return;
        }
        let text = |name: &str| {
            decoded.fields.iter().find(|field| field.name == name).map(|field| match &field.node {
                Node::Value(Scalar::Text(text)) => text.clone(),
                node => node.to_string(),
            })
        };
        let number = |name: &str| {
            let text = text(name)?;
            match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            }
        };
        let values = Values {
            base: number("ImageBase"),
            size: number("ImageSize"),
            process: number("ProcessId"),
            file: text("FileName"),
            original_file: text("OriginalFileName"),
            pdb_file: text("PdbFileName"),
            pdb: text("GuidSig").and_then(|id| Guid::parse(&id).ok()),
        };
        if let (Some(provider), Some(event)) = (&decoded.provider, &decoded.event) {
            self.insert(provider, event, values);
        }
    }

    /// Does the same as [`add`](Self::add) for an event that is not decoded yet.
    pub(crate) fn add_event(&mut self, decoder: &mut Decoder, event: &EventRef<'_>) {
        if self.by_base.len() >= MAX_IMAGES || self.pdbs.len() >= MAX_IMAGES {
            return;
        }
        let mut values = Values::default();
        let named = decoder.visit(event, &mut |field, value| match &*field.name {
            "ImageBase" => values.base = number(value),
            "ImageSize" => values.size = number(value),
            "ProcessId" => values.process = number(value),
            "FileName" => values.file = Some(text(value)),
            "OriginalFileName" => values.original_file = Some(text(value)),
            "PdbFileName" => values.pdb_file = Some(text(value)),
            "GuidSig" => values.pdb = if let Value::Guid(id) = value { Some(id) } else { None },
            _ => {}
        });
        if let Some((schema, _)) = named {
            self.insert(&schema.provider, &schema.name, values);
        }
    }

    fn insert(&mut self, provider: &str, event: &str, values: Values) {
        let (Some(base), Some(process)) = (values.base, values.process) else { return };
        let key = (if is_system(base) { 0 } else { u32::try_from(process).unwrap_or(0) }, base);
        let file = |path: String| Box::<str>::from(path.rsplit(['\\', '/']).next().unwrap_or_default());
        let image = |path: Option<String>| Some(Image { end: base.saturating_add(values.size?), name: file(path?) });
        match (provider, event) {
            ("Image", "Load" | "DCStart" | "DCEnd") => {
                self.by_base.extend(image(values.file).map(|image| (key, image)));
            }
            // These events describe an image that was loaded earlier. They must not replace an image that was loaded at the same
            // address since.
            ("Image", "Unload") => {
                image(values.file).map(|image| self.by_base.entry(key).or_insert(image));
            }
            ("ImageId", "ImageId") => {
                image(values.original_file).map(|image| self.by_base.entry(key).or_insert(image));
            }
            ("ImageId", "DbgId_RSDS") => {
                self.pdbs.extend(values.pdb.zip(values.pdb_file).map(|(id, name)| (key, (id, file(name)))));
            }
            _ => {}
        }
    }

    /// Returns the image that contains an address of a process.
    #[must_use]
    pub fn find(&self, process: u32, address: u64) -> Option<Place<'_>> {
        let process = if is_system(address) { 0 } else { process };
        let (key, image) = self.by_base.range((process, 0)..=(process, address)).next_back()?;
        let pdb = self.pdbs.get(key).map(|(id, name)| (*id, &**name));
        (address < image.end).then(|| Place { image: &image.name, offset: address - key.1, pdb })
    }

    /// Formats an address of a process as `name+0xoffset`. Returns `None` if no image is known there.
    #[must_use]
    pub fn name(&self, process: u32, address: u64) -> Option<String> {
        self.find(process, address).map(|place| format!("{}+{:#x}", place.image, place.offset))
    }

    /// Returns whether no image is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_base.is_empty()
    }
}

impl FrameNames for Images {
    fn names(&self, process: u32, address: u64) -> Vec<String> {
        self.name(process, address).into_iter().collect()
    }
}

/// The values of an image event that [`Images`] uses.
#[derive(Debug, Default)]
struct Values {
    base: Option<u64>,
    size: Option<u64>,
    process: Option<u64>,
    file: Option<String>,
    original_file: Option<String>,
    pdb_file: Option<String>,
    pdb: Option<Guid>,
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) | Value::Hex(number) => Some(number),
        _ => None,
    }
}

fn text(value: Value<'_>) -> String {
    match show(InType::Invalid, OutType::Default, value) {
        Scalar::Text(text) => text,
        other => other.to_string(),
    }
}

/// Returns whether an address is in the upper half of the address space, which belongs to the system. A 32-bit trace has no such
/// addresses: its drivers are found in the process that loaded them.
const fn is_system(address: u64) -> bool {
    address >> 47 != 0
}

#[cfg(test)]
mod tests {
    use etw_types::{EventDescriptor, Guid, InType, Opcode, OutType};

    use super::{FrameNames as _, Images};
    use crate::decode::{Decoded, Decoder, Field, Node, Scalar};
    use crate::format::event::FLAG_CLASSIC_HEADER;
    use crate::testing::read;
    use crate::{Event, EventData};

    fn field(name: &str, scalar: Scalar) -> Field {
        let (in_type, out_type) = (InType::U64, OutType::Default);
        Field { name: name.into(), tag: 0, in_type, out_type, node: Node::Value(scalar) }
    }

    fn image(event: &str, base: u64, size: i128, process: i128, path: &str) -> Decoded {
        Decoded {
            provider: Some("Image".into()),
            event: Some(event.into()),
            fields: vec![
                field("ImageBase", Scalar::Word(format!("{base:#x}"))),
                field("ImageSize", Scalar::Integer(size)),
                field("ProcessId", Scalar::Integer(process)),
                field("FileName", Scalar::Text(path.into())),
            ],
            ..Decoded::default()
        }
    }

    #[test]
    fn addresses_are_found_in_their_process_and_drivers_in_all() {
        let mut images = Images::default();
        images.add(&image("Load", 0x40_0000, 0x1000, 7, "\\Device\\Disk\\a.exe"));
        images.add(&image("DCStart", 0xFFFF_F800_0000_0000, 0x1000, 0, "\\SystemRoot\\ntoskrnl.exe"));
        assert_eq!(images.name(7, 0x40_0010).as_deref(), Some("a.exe+0x10"));
        assert_eq!(images.name(8, 0x40_0010), None);
        assert_eq!(images.name(7, 0x40_1000), None);
        assert_eq!(images.name(8, 0xFFFF_F800_0000_0FFF).as_deref(), Some("ntoskrnl.exe+0xfff"));
        let mut pdb = image("DbgId_RSDS", 0x40_0000, 0, 7, "");
        pdb.provider = Some("ImageId".into());
        let (id, name) = ("0011aabb-2233-4455-6677-8899aabbccdd", "c:\\build\\a.pdb");
        pdb.fields.push(field("GuidSig", Scalar::Word(id.into())));
        pdb.fields.push(field("PdbFileName", Scalar::Text(name.into())));
        images.add(&pdb);
        assert_eq!(images.find(7, 0x40_0010).unwrap().pdb, Some((Guid::parse(id).unwrap(), "a.pdb")));
        images.add(&image("Unload", 0x40_0000, 0x1000, 7, "b.dll"));
        assert_eq!(images.name(7, 0x40_0000).as_deref(), Some("a.exe+0x0"));
        assert_eq!(images.names(7, 0x40_0001), ["a.exe+0x1"]);
        assert_eq!(images.names(7, 0x50_0000), [""; 0]);
        images.add(&image("DCEnd", 0x40_0000, 0x1000, 7, "c.dll"));
        images.add(&image("Other", 0x40_0000, 0x1000, 7, "d.dll"));
        assert_eq!(images.name(7, 0x40_0000).as_deref(), Some("c.dll+0x0"), "a later image at the same address");
        images.add(&image("Unload", 0x60_0000, 0x1000, 7, "e.dll"));
        assert_eq!(images.name(7, 0x60_0FFF).as_deref(), Some("e.dll+0xfff"), "loaded before the trace began");
        assert_eq!(images.name(7, 0x3F_FFFF), None, "below the first image");
    }

    /// Returns a classic event of a class whose events describe images.
    fn classic(class: &str, opcode: u8, version: u8, payload: &[u8]) -> Event {
        let descriptor = EventDescriptor { version, opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
        let provider = Guid::parse(class).unwrap();
        read(&EventData { provider, descriptor, flags: FLAG_CLASSIC_HEADER, payload, ..EventData::default() })
    }

    #[test]
    fn events_add_images_as_their_decoded_form_does() {
        const IMAGE: &str = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
        const IMAGE_ID: &str = "b3e675d7-2554-4f18-830b-2762732560de";
        let word = |number: u64| number.to_le_bytes();
        let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let base = 0x40_0000_u64;
        // Base, size, process id, checksum, time, signature, default base, four reserved words, name.
        let load = |name: &str| [&word(base)[..], &word(0x1000), &7_u32.to_le_bytes(), &[0; 36], &text(name)].concat();
        let id = |name: &str| {
            [&word(base + 0x1_0000)[..], &word(0x1000), &7_u32.to_le_bytes(), &[0; 4], &text(name)].concat()
        };
        let guid = Guid::from_u128(0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF00);
        let pdb =
            [&word(base)[..], &7_u32.to_le_bytes(), &guid.to_bytes_le(), &1_u32.to_le_bytes(), b"c:\\a.pdb\0"].concat();
        let events = [
            classic(IMAGE, 10, 3, &load("\\Device\\a.exe")),
            classic(IMAGE_ID, 0, 2, &id("b.exe")),
            classic(IMAGE_ID, 36, 2, &pdb),
        ];
        let (mut by_event, mut by_decoded, mut decoder) = (Images::default(), Images::default(), Decoder::default());
        assert!(by_event.is_empty());
        for event in &events {
            by_event.add_event(&mut decoder, &event.as_ref());
            by_decoded.add(&decoder.decode(&event.as_ref()));
        }
        for images in [by_event, by_decoded] {
            assert!(!images.is_empty());
            let place = images.find(7, base + 0x10).unwrap();
            assert_eq!((place.image, place.offset, place.pdb), ("a.exe", 0x10, Some((guid, "a.pdb"))));
            let other = images.find(7, base + 0x1_0020).unwrap();
            assert_eq!((other.image, other.offset, other.pdb), ("b.exe", 0x20, None));
            assert_eq!(images.find(8, base + 0x10), None);
        }
    }
}
