//! Authenticode: appends the signature to the image, writes its position to the header, and updates the checksum last.

use der::Encode;

use super::digest::image_digests;
use super::identity::Identity;
use super::spc::{IndirectData, Subject};
use windows_constants::image::{WIN_CERT_REVISION_2_0, WIN_CERT_TYPE_PKCS_SIGNED_DATA};

use super::{oid, pkcs7};
use crate::Error;
use crate::pe::{SigningOffsets, write_checksum};

/// The revision and the type of an Authenticode signature, after the length in its `WIN_CERTIFICATE`.
pub(crate) const REVISION_AND_TYPE: [u8; 4] = {
    let [r0, r1] = WIN_CERT_REVISION_2_0.to_le_bytes();
    let [t0, t1] = WIN_CERT_TYPE_PKCS_SIGNED_DATA.to_le_bytes();
    [r0, r1, t0, t1]
};

/// Signs an image. Removes the signature that it had.
///
/// # Errors
///
/// Returns the field that shows that the bytes are not an image that can be signed.
pub fn sign_image(image: &[u8], identity: &Identity) -> Result<Vec<u8>, Error> {
    let offsets = SigningOffsets::from_file(image)?;
    let digest = image_digests(image)?.sha256;
    let failed = |error: der::Error| Error::new("signature", error.to_string());
    let data = IndirectData::new(Subject::SignedImage, oid::SHA256, &digest).map_err(failed)?;
    let data = data.to_der().map_err(failed)?;
    let envelope = pkcs7::sign(identity, oid::INDIRECT_DATA, &data).map_err(failed)?;

    let mut signed = image.get(..offsets.signed_end(image.len())).unwrap_or_default().to_vec();
    signed.resize(signed.len().next_multiple_of(8), 0);
    let size = (envelope.len() + 8).next_multiple_of(8);
    let too_large = |_| Error::new("signature", "the file is larger than an image can be");
    let start = u32::try_from(signed.len()).map_err(too_large)?;
    let size = u32::try_from(size).map_err(too_large)?;

    // Signtool includes the padding in the entry's size, so that the end of the table is unambiguous.
    signed.extend_from_slice(&size.to_le_bytes());
    signed.extend_from_slice(&REVISION_AND_TYPE);
    signed.extend_from_slice(&envelope);
    signed.resize(signed.len().next_multiple_of(8), 0);
    let place = [start.to_le_bytes(), size.to_le_bytes()].concat();
    write(&mut signed, offsets.security, &place);
    write_checksum(&mut signed).ok_or_else(|| Error::new("PE signature", "it is not where the header says"))?;
    Ok(signed)
}

fn write(file: &mut [u8], offset: usize, bytes: &[u8]) {
    if let Some(field) = file.get_mut(offset..offset + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}
