//! Turns the bytes of a `.sys` file into code that can run.
//!
//! [`plan`] is safe code that reads untrusted bytes. Only [`Mapped`] writes to memory, and only what a plan has
//! checked.

mod mapped;

use load_rules::{Severity, Target, Verdict};
use pe_image::Image;

pub(crate) use mapped::Mapped;
pub use pe_image::{Error as ImageError, Imported as ImportName, Layout};

/// Rules of the Windows loader that are not applied here. The first three concern the file and are satisfied by signing
/// it. The others depend on the Windows release and are checked when the driver is loaded.
const NOT_ASKED_FOR: [&str; 6] =
    ["checksum", "signature", "signature-place", "subsystem-version", "missing-import", "kmdf-version"];

/// Plans an image from the bytes of its file.
///
/// # Errors
///
/// Fails if the bytes are not an x64 driver, are damaged, or are a driver that Windows would refuse to load. The error
/// names the field.
pub fn plan(file: &[u8]) -> Result<Layout, ImageError> {
    plan_image(file, &Image::parse(file)?)
}

/// Plans an image that was read from `file`.
///
/// # Errors
///
/// Fails like [`plan`].
pub fn plan_image(file: &[u8], image: &Image) -> Result<Layout, ImageError> {
    Layout::check_headers(image)?;
    let verdict = Verdict::of(image, Target::default());
    if let Some(refusal) = verdict.refusals().find(|refusal| !NOT_ASKED_FOR.contains(&refusal.rule.id)) {
        return Err(ImageError::new(refusal.rule.id, format!("{} ({})", refusal.found, refusal.rule.what)));
    }
    Layout::of(file, image)
}

/// Returns notes about an image: the properties that only memory integrity rejects, and the constants that the loader
/// changes for this host.
#[must_use]
pub fn notes(image: &Image, layout: &Layout) -> Vec<String> {
    let verdict = Verdict::of(image, Target::default());
    let found = verdict.findings().iter().filter(|finding| finding.rule.severity == Severity::MemoryIntegrity);
    let mut notes: Vec<String> = found
        .map(|finding| format!("not compatible with memory integrity: {} ({})", finding.found, finding.rule.id))
        .collect();
    notes.extend(range_starts(layout).map(|rva| {
        format!("MM_SYSTEM_RANGE_START at image+{rva:#x} is {LOWEST:#x} here: this host's addresses are low")
    }));
    notes
}

/// The start of the system's addresses on this host. A Linux process has no addresses in the upper half.
const LOWEST: u64 = 0x1_0000;

/// The values of `MM_SYSTEM_RANGE_START` on x64: before Windows 8.1, and since. An image contains the constant as a
/// variable.
const RANGE_STARTS: [u64; 2] = [0xFFFF_0800_0000_0000, 0xFFFF_8000_0000_0000];

/// Returns the RVAs of the variables with the value of `MM_SYSTEM_RANGE_START`. With the original value, a driver would
/// take every address of this host for a user-mode address, and would not free its memory. Code is not searched. Two
/// equal words that share 16 aligned bytes are not changed either: they are a mask for vector instructions.
fn range_starts(layout: &Layout) -> impl Iterator<Item = u32> + '_ {
    let data = layout.sections.iter().filter(|section| !section.is_executable());
    let places = data.flat_map(|section| (section.rva..section.rva.saturating_add(section.memory_size())).step_by(8));
    let word = |rva: u32| {
        let bytes = usize::try_from(rva).ok().and_then(|at| layout.bytes.get(at..)?.first_chunk::<8>());
        bytes.map(|bytes| u64::from_le_bytes(*bytes))
    };
    places.filter(move |rva| {
        word(*rva).is_some_and(|value| RANGE_STARTS.contains(&value)) && word(*rva) != word(*rva ^ 8)
    })
}
