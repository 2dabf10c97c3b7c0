//! Which image an address belongs to, by the image events of a trace.

use std::collections::BTreeMap;

use crate::decode::{Decoded, Node, Scalar};

/// Most images that are remembered.
const MAX_IMAGES: usize = 0x10_0000;

/// An image in the address space of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    end: u64,
    name: Box<str>,
}

/// The images of a trace. Drivers and the kernel are in the address space of every process.
#[derive(Debug, Default)]
pub struct Images {
    by_base: BTreeMap<(u32, u64), Image>,
}

impl Images {
    /// Takes an image event: a load, or one of a rundown. Others are left alone. A place that is loaded twice is the later image's.
    pub fn add(&mut self, decoded: &Decoded) {
        let is_image = decoded.provider.as_deref() == Some("Image")
            && matches!(decoded.event.as_deref(), Some("Load" | "DCStart" | "DCEnd" | "Unload"));
        if !is_image || self.by_base.len() >= MAX_IMAGES {
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
        if let (Some(base), Some(size), Some(process), Some(path)) =
            (number("ImageBase"), number("ImageSize"), number("ProcessId"), text("FileName"))
        {
            let name = path.rsplit(['\\', '/']).next().unwrap_or_default().into();
            let process = if is_system(base) { 0 } else { u32::try_from(process).unwrap_or(0) };
            let image = Image { end: base.saturating_add(size), name };
            // An unload tells of an image that was there; it does not replace one that came to its place later.
            if decoded.event.as_deref() == Some("Unload") {
                self.by_base.entry((process, base)).or_insert(image);
            } else {
                self.by_base.insert((process, base), image);
            }
        }
    }

    /// `name+0xoffset` of an address in a process; `None` if no image is known there.
    #[must_use]
    pub fn name(&self, process: u32, address: u64) -> Option<String> {
        let process = if is_system(address) { 0 } else { process };
        let ((_, base), image) = self.by_base.range((process, 0)..=(process, address)).next_back()?;
        (address < image.end).then(|| format!("{}+{:#x}", image.name, address - base))
    }
}

/// Whether an address is the system's: the upper half of the address space. A 32-bit trace has no such
/// addresses: its drivers are found by the process that loaded them.
const fn is_system(address: u64) -> bool {
    address >> 47 != 0
}

#[cfg(test)]
mod tests {
    use etw_types::{InType, OutType};

    use super::Images;
    use crate::decode::{Decoded, Field, Node, Scalar};

    fn image(event: &str, base: u64, size: i128, process: i128, path: &str) -> Decoded {
        let field = |name: &str, scalar| Field {
            name: name.into(),
            tag: 0,
            in_type: InType::U64,
            out_type: OutType::Default,
            node: Node::Value(scalar),
        };
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
        images.add(&image("Unload", 0x40_0000, 0x1000, 7, "b.dll"));
        assert_eq!(images.name(7, 0x40_0000).as_deref(), Some("a.exe+0x0"));
    }
}
