//! Security catalogs: a signed list of the digests of a package's files.
//!
//! A catalog is a PKCS #7 signature around a certificate trust list whose subjects are files. Microsoft documents the
//! API but not the file; the layout here is that of catalogs that inf2cat made. [`Version::V2`] is the format that
//! inf2cat writes for Windows 8 and later, [`Version::V1`] the one that older Windows needs.

mod list;
mod member;
mod name_value;

use std::time::Duration;

pub use member::Member;

use crate::inf::Arch;
use crate::sign::{Identity, oid, sign, unsigned};

/// The version of the catalog format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// SHA-1, with tags that are text.
    V1,
    /// SHA-1 and SHA-256.
    #[default]
    V2,
}

/// The contents of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// The version of its format.
    pub version: Version,
    /// The operating systems, as inf2cat names them.
    pub systems: String,
    /// The hardware ids, in the order of the INF and in lower case.
    pub hardware_ids: Vec<String>,
    /// The files, in any order.
    pub members: Vec<Member>,
    /// The time of creation, since 1970.
    pub time: Duration,
}

impl Catalog {
    /// Returns the list without a signature.
    ///
    /// # Errors
    ///
    /// Returns an error if two members are the same file, or if a text has characters that the format cannot express.
    pub fn to_list(&self) -> der::Result<Vec<u8>> {
        list::encode(self)
    }

    /// Returns the catalog file without a signature, as inf2cat makes it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`to_list`](Self::to_list).
    pub fn unsigned(&self) -> der::Result<Vec<u8>> {
        unsigned(oid::TRUST_LIST, &self.to_list()?)
    }

    /// Returns the signed catalog file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`to_list`](Self::to_list).
    pub fn sign(&self, identity: &Identity) -> der::Result<Vec<u8>> {
        sign(identity, oid::TRUST_LIST, &self.to_list()?)
    }
}

/// Returns what inf2cat writes for `/os:10_X64` and `/os:Server10_ARM64`, which Microsoft's build of Rust drivers uses.
#[must_use]
pub fn systems(arch: Arch) -> &'static str {
    match arch {
        Arch::X64 => "_v100_X64",
        Arch::Arm64 => "Server_v100_ARM64",
    }
}
