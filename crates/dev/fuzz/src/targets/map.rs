//! Linker maps. Guarantee: the name of the entry point, if it is found, is part of the text.

use std::sync::LazyLock;

use pe_image::{Image, LinkerMap};

/// The driver that the seed maps describe.
static DRIVER: LazyLock<Option<Image>> = LazyLock::new(|| Image::parse(include_bytes!("../../corpus/pe/driver")).ok());

/// Looks up the name of the entry point.
pub(super) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let image = DRIVER.as_ref().expect("the seed is an image");
    if let Some(name) = image.entry_in(LinkerMap::new(&text)) {
        assert!(!name.is_empty());
        assert!(text.contains(name));
    }
}
