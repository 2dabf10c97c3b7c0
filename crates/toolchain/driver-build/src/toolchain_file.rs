//! The toolchain that a driver asks for in a `rust-toolchain.toml`.

use std::env;
use std::path::Path;

use crate::error::Error;
use crate::host::Host;
use crate::output::note;
use crate::process::quoted;

/// The toolchain in a `rust-toolchain.toml` beside or above the manifest; `None` if there is none, or if it is in force already.
pub(crate) fn active(host: &Host, manifest: &Path) -> Result<Option<String>, Error> {
    let has_file = |dir: &Path| ["rust-toolchain.toml", "rust-toolchain"].iter().any(|name| dir.join(name).is_file());
    let Some(dir) = manifest.ancestors().skip(1).find(|dir| has_file(dir)) else {
        return Ok(None);
    };
    // `cargo +TOOLCHAIN driver` comes before the file. Rustup names the source since 1.29; before, nothing tells them apart.
    if env::var("RUSTUP_TOOLCHAIN_SOURCE").is_ok_and(|source| source == "cli") {
        return Ok(None);
    }
    // If the file is in or above the folder that commands run in, rustup uses it already.
    if host.dir().starts_with(dir) {
        return Ok(None);
    }
    let rustup = || host.tool("rustup").current_dir(dir).env_remove("RUSTUP_TOOLCHAIN");
    let active = || rustup().args(["show", "active-toolchain"]).capture();
    let shown = if let Ok(shown) = active() {
        shown
    } else {
        let wanted = format!("the toolchain that the driver asks for in {}", dir.display());
        host.permit_for_driver(&wanted, &format!("cd {} && rustup toolchain install", quoted(&dir.to_string_lossy())))?;
        note(&format!("installing {wanted}"));
        // Without a name, rustup installs the toolchain that the file names.
        let (_, messages, result) = rustup().args(["toolchain", "install", "--profile", "minimal"]).run_silently();
        result.and_then(|()| active()).map_err(|error| {
            let reason = messages.lines().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned);
            let reason = reason.unwrap_or_else(|| error.to_string());
            Error::Missing(format!("rustup cannot install {wanted}: {reason}"))
        })?
    };
    Ok(shown.split_whitespace().next().map(str::to_owned))
}
