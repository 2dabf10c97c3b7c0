//! A stand-in for `winreg` on hosts without a registry, for build scripts that look for the WDK in the registry.
//!
//! It has one value: `KitsRoot10` of `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows Kits\Installed Roots` is the path of the
//! kit, or of the WDK that is used instead. Every other value and key is missing.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;

/// Handles and rights, by the names of the Windows SDK.
pub mod enums {
    /// A predefined key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HKEY(pub(crate) u32);

    /// The keys of this computer.
    pub const HKEY_LOCAL_MACHINE: HKEY = HKEY(0x8000_0002);
    /// The keys of this user.
    pub const HKEY_CURRENT_USER: HKEY = HKEY(0x8000_0001);

    /// The right to read.
    pub const KEY_READ: u32 = 0x2_0019;
    /// The right to query values.
    pub const KEY_QUERY_VALUE: u32 = 1;
    /// The view of 64-bit programs.
    pub const KEY_WOW64_64KEY: u32 = 0x100;
    /// The view of 32-bit programs.
    pub const KEY_WOW64_32KEY: u32 = 0x200;
}

pub use enums::HKEY;

const ROOTS: &str = r"SOFTWARE\Microsoft\Windows Kits\Installed Roots";
const VALUE: &str = "KitsRoot10";
/// The variable with the path of the kit, or of a WDK.
const KIT: &str = "WDK_KIT_ROOT";

/// An open key.
#[derive(Clone, Debug)]
pub struct RegKey {
    root: HKEY,
    path: String,
}

impl RegKey {
    /// Returns a predefined key.
    #[must_use]
    pub const fn predef(root: HKEY) -> Self {
        Self { root, path: String::new() }
    }

    /// Opens a key below this one.
    ///
    /// # Errors
    ///
    /// Fails if it is neither the key of the only value nor a key above it.
    pub fn open_subkey<P: AsRef<OsStr>>(&self, path: P) -> io::Result<Self> {
        let path = path.as_ref().to_string_lossy().trim_matches('\\').to_owned();
        let path = if self.path.is_empty() { path } else { format!("{}\\{path}", self.path) };
        let key = Self { root: self.root, path };
        if key.is_roots() || key.is_above_roots() { Ok(key) } else { Err(missing(&key.path)) }
    }

    /// Like [`Self::open_subkey`]. The flags are ignored, because keys can only be read.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::open_subkey`].
    pub fn open_subkey_with_flags<P: AsRef<OsStr>>(&self, path: P, _: u32) -> io::Result<Self> {
        self.open_subkey(path)
    }

    /// Reads a value of this key.
    ///
    /// # Errors
    ///
    /// Fails if it is not `KitsRoot10` of its key, or if the path of the kit is not set.
    pub fn get_value<T: From<String>, N: AsRef<OsStr>>(&self, name: N) -> io::Result<T> {
        let name = name.as_ref().to_string_lossy().into_owned();
        match env::var_os(KIT).map(OsString::into_string) {
            Some(Ok(root)) if self.is_roots() && name.eq_ignore_ascii_case(VALUE) => Ok(root.into()),
            _ => Err(missing(&format!("{}\\{name}", self.path))),
        }
    }

    /// Whether this is the key of the only value.
    fn is_roots(&self) -> bool {
        self.root == enums::HKEY_LOCAL_MACHINE && self.plain() == ROOTS.to_ascii_lowercase()
    }

    fn is_above_roots(&self) -> bool {
        let start = format!("{}\\", self.plain());
        self.root == enums::HKEY_LOCAL_MACHINE && ROOTS.to_ascii_lowercase().starts_with(&start)
    }

    /// Returns the path in lower case. The view of 32-bit programs has the same key.
    fn plain(&self) -> String {
        self.path.to_ascii_lowercase().replace("\\wow6432node", "")
    }
}

fn missing(path: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("there is no registry on this host, and {path} is not a value that the driver kit replaces"),
    )
}
