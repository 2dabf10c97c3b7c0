//! From the bytes of a `.sys` file to code that can run.
//!
//! [`plan`] is safe code over bytes that nobody vouches for. Only [`Mapped`] touches memory, and only with what a plan has
//! checked.

mod mapped;

use load_rules::{Severity, Target, Verdict};
use pe_image::Image;

pub(crate) use mapped::Mapped;
pub use pe_image::{Error as ImageError, Imported as ImportName, Layout};

/// Rules of Windows' loader that do not matter here: the first three concern the file and are restored by signing it, the
/// others depend on the release of Windows and are looked at when the driver is loaded.
const NOT_ASKED_FOR: [&str; 6] =
    ["checksum", "signature", "signature-place", "subsystem-version", "missing-import", "kmdf-version"];

/// Plans an image from the bytes of its file.
///
/// # Errors
///
/// Names the field when the bytes are no x64 driver, a damaged one, or one that Windows would refuse to load.
pub fn plan(file: &[u8]) -> Result<Layout, ImageError> {
    plan_image(file, &Image::parse(file)?)
}

/// Plans an image that was read from `file`.
///
/// # Errors
///
/// As for [`plan`].
pub fn plan_image(file: &[u8], image: &Image) -> Result<Layout, ImageError> {
    Layout::check_headers(image)?;
    let verdict = Verdict::of(image, Target::default());
    if let Some(refusal) = verdict.refusals().find(|refusal| !NOT_ASKED_FOR.contains(&refusal.rule.id)) {
        return Err(ImageError::new(refusal.rule.id, format!("{} ({})", refusal.found, refusal.rule.what)));
    }
    Layout::of(file, image)
}

/// What memory integrity would refuse and Windows without it loads.
#[must_use]
pub fn notes(image: &Image) -> Vec<String> {
    let verdict = Verdict::of(image, Target::default());
    let found = verdict.findings().iter().filter(|finding| finding.rule.severity == Severity::MemoryIntegrity);
    found
        .map(|finding| format!("not compatible with memory integrity: {} ({})", finding.found, finding.rule.id))
        .collect()
}
