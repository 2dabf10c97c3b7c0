//! Signatures: who signs, what is signed, and where it goes.
//!
//! [`Identity`] is a certificate with its key, from a file of the user's or made once for tests; [`sign_image`] puts an
//! Authenticode signature into a PE file. Catalogs are signed with the same envelope. Keys are never printed and never
//! part of a package. Times come from the caller.

mod certificate;
mod digest;
mod identity;
mod image;
pub(crate) mod oid;
mod pem;
mod pkcs7;
mod signer;
pub(crate) mod spc;

pub use certificate::{TEST_NAME, test_identity};
pub use digest::{Digests, image_digests};
pub(crate) use digest::{hex, image_parts};
pub use identity::Identity;
pub use image::sign_image;
pub(crate) use pkcs7::sign;
pub use signer::{Signer, Trust};
