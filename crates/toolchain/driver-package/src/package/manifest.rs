//! The providers of an instrumentation manifest, which is a resource of the image.

use etw_manifest::manifest::Provider;
use etw_manifest::wevt;

/// The providers of the manifest in an image. A resource that cannot be read has none: the loader does not read it either.
pub(super) fn providers(file: &[u8]) -> Vec<Provider> {
    let Ok(resources) = wevt::resources(file) else { return Vec::new() };
    let manifest = resources.templates.and_then(|templates| wevt::parse(&templates, &resources.messages).ok());
    manifest.map(|manifest| manifest.providers).unwrap_or_default()
}
