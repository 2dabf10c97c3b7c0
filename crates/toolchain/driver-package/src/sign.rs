//! Signatures: identities, signed content and signed files.
//!
//! [`Identity`] is a certificate with its key, read from a file of the user or created once for tests. [`sign_image`]
//! adds an Authenticode signature to a PE file. Catalogs are signed in the same way. Keys are never printed and never
//! become part of a package. The caller provides the time.

mod certificate;
mod digest;
mod identity;
pub(crate) mod image;
pub(crate) mod oid;
pub(crate) mod pem;
mod pkcs7;
mod signer;
pub(crate) mod spc;

pub use certificate::{TEST_NAME, test_identity};
pub use digest::{Digests, image_digests};
pub(crate) use digest::{hex, image_parts};
pub use identity::Identity;
pub use image::sign_image;
pub use pem::PemError;
pub(crate) use pkcs7::{sign, unsigned};
pub use signer::{Signer, SignerError, Trust};
