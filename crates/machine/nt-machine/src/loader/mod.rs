//! Turns the bytes of a `.sys` file into code that can run.
//!
//! [`plan`] is safe code that reads untrusted bytes. Only [`Mapped`] writes to memory, and only what a plan has
//! checked.

mod constants;
mod mapped;

use pe_image::Image;
use windows_releases::load_rules::{Severity, Target, Verdict};

use constants::Constant;
pub(crate) use mapped::Mapped;
pub(crate) use pe_image::Import;
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
    let verdict = Verdict::judge(image, Target::default());
    if let Some(refusal) = verdict.refusals().find(|refusal| !NOT_ASKED_FOR.contains(&refusal.rule.id)) {
        return Err(ImageError::new(refusal.rule.id, format!("{} ({})", refusal.found, refusal.rule.what)));
    }
    Layout::from_image(file, image)
}

/// Returns notes about an image: the properties that only memory integrity rejects, and the constants that the loader
/// changes for this host.
#[must_use]
pub fn notes(image: &Image, layout: &Layout) -> Vec<String> {
    let verdict = Verdict::judge(image, Target::default());
    let found = verdict.findings().iter().filter(|finding| finding.rule.severity == Severity::MemoryIntegrity);
    let mut notes: Vec<String> = found
        .map(|finding| format!("not compatible with memory integrity: {} ({})", finding.found, finding.rule.id))
        .collect();
    notes.extend(constants::find(layout).into_iter().map(|Constant { rva, old, new, in_code }| {
        let name = if in_code { format!("the constant {old:#x}") } else { "MM_SYSTEM_RANGE_START".to_owned() };
        format!("{name} at image+{rva:#x} is {new:#x} here: this host's addresses are low")
    }));
    notes
}
