//! Security catalogs: a signed list of the digests of a package's files.
//!
//! A catalog is a PKCS #7 signature around a certificate trust list whose subjects are files. Microsoft describes the
//! API and not the file; the layout here is that of catalogs that inf2cat made. [`Version::V2`] is what inf2cat makes for
//! Windows 8 and later, [`Version::V1`] what older Windows needs.

mod list;
mod member;
mod name_value;

use std::time::Duration;

pub use member::Member;

use crate::inf::Arch;
use crate::sign::{Identity, oid, sign};

/// The generation of a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// SHA-1, and tags that are text.
    V1,
    /// SHA-1 and SHA-256.
    #[default]
    V2,
}

/// What goes into a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Its generation.
    pub version: Version,
    /// The operating systems, in inf2cat's words.
    pub systems: &'static str,
    /// In the order of the INF; lower case.
    pub hardware_ids: Vec<String>,
    /// In any order.
    pub members: Vec<Member>,
    /// When it is made, since 1970.
    pub time: Duration,
}

impl Catalog {
    /// The list, not signed.
    ///
    /// # Errors
    ///
    /// When two members are the same file, or a text has characters that the format cannot hold.
    pub fn to_list(&self) -> der::Result<Vec<u8>> {
        list::encode(self)
    }

    /// The file.
    ///
    /// # Errors
    ///
    /// Those of [`to_list`](Self::to_list).
    pub fn sign(&self, identity: &Identity) -> der::Result<Vec<u8>> {
        sign(identity, oid::TRUST_LIST, &self.to_list()?)
    }
}

/// What inf2cat writes for `/os:10_X64` and `/os:Server10_ARM64`, the choices of Microsoft's build of Rust drivers.
#[must_use]
pub fn systems(arch: Arch) -> &'static str {
    match arch {
        Arch::X64 => "_v100_X64",
        Arch::Arm64 => "Server_v100_ARM64",
    }
}
