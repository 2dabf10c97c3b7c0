//! Verifies the signature in an image.

use der::Decode as _;

use super::digest::Algorithm;
use super::envelope::{self, Envelope};
use super::tlv::Field;
use super::{Account, Context, Mark, Refusal, pages, signature};
use crate::pe::SigningOffsets;
use crate::sign::image::REVISION_AND_TYPE;
use crate::sign::spc::IndirectData;
use crate::sign::{hex, image_parts, oid};

/// The size of an entry's header in the attribute certificate table.
const ENTRY: usize = 8;

/// Verifies the signature of an image. Returns whether it has one.
pub(super) fn verify(account: &mut Account, bytes: &[u8], context: &Context) -> bool {
    walk(account, bytes, |account, envelope| signature::verify(account, envelope, context))
}

/// Compares the signed digests with the file. The signer is not checked.
pub(super) fn compare(account: &mut Account, bytes: &[u8]) {
    walk(account, bytes, |_, _| ());
}

/// Compares the digests of each signature and passes the signature to `check`. Returns whether there is one.
fn walk(account: &mut Account, bytes: &[u8], check: impl Fn(&mut Account, &Envelope)) -> bool {
    let offsets = match SigningOffsets::from_file(bytes) {
        Ok(offsets) => offsets,
        Err(error) => {
            account.add("image", Mark::Failed, error.to_string());
            return true;
        }
    };
    let Some(start) = offsets.signature else { return false };
    let mut table = bytes.get(start..).unwrap_or_default();
    while !table.is_empty() {
        match entry(table) {
            Ok((envelope, rest)) => {
                envelope::each(account, envelope, |account, each| {
                    digest(account, bytes, offsets, each);
                    check(account, each);
                });
                table = rest;
            }
            Err(refusal) => {
                account.refuse("signature", &refusal);
                break;
            }
        }
    }
    true
}

/// Returns the signature in the first entry of the attribute certificate table, and the rest of the table. Entries are
/// padded with zeros to a multiple of eight; no digest covers the padding, so nothing else may be there.
fn entry(table: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    let damaged = |text: &str| Refusal::Failed(format!("the table of signatures is damaged: {text}"));
    let (Some(length), Some(kind)) = (table.first_chunk::<4>(), table.get(4..ENTRY)) else {
        return Err(damaged("it ends in the header of an entry"));
    };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let content = table.get(ENTRY..length).ok_or_else(|| damaged("an entry is longer than the table"))?;
    if kind != REVISION_AND_TYPE {
        return Err(Refusal::Unknown(format!("the kind {} of an entry in its table is not known", hex(kind))));
    }
    let (signature, padding) =
        Field::first(content).map_err(|error| Refusal::from(error).about("it is not a PKCS #7 signature"))?;
    let end = length.next_multiple_of(ENTRY).min(table.len());
    let after = table.get(length..end).unwrap_or_default();
    if padding.iter().chain(after).any(|byte| *byte != 0) {
        return Err(damaged("there are bytes after the signature that no signature covers"));
    }
    Ok((signature.raw, table.get(end..).unwrap_or_default()))
}

/// Compares the signed digest with that of the file, and the page hashes with those of its pages.
fn digest(account: &mut Account, bytes: &[u8], offsets: SigningOffsets, envelope: &Envelope) {
    let signed = (envelope.kind() == oid::INDIRECT_DATA).then(|| IndirectData::from_der(envelope.content_der()));
    let data = match signed {
        Some(Ok(data)) => data,
        Some(Err(error)) => {
            return account.add("digest", Mark::Failed, format!("the signed content cannot be read: {error}"));
        }
        None => return account.add("digest", Mark::Failed, "the signed content is not the digest of an image"),
    };
    let Some(algorithm) = Algorithm::from_oid(data.algorithm()) else {
        return account.add("digest", Mark::Unknown, format!("the algorithm {} is not known", data.algorithm()));
    };
    let own = algorithm.digest(&image_parts(bytes, offsets));
    if own == data.digest() {
        let mark = if algorithm.is_weak() { Mark::Weak } else { Mark::Passed };
        account.add("digest", mark, format!("{} {}", algorithm.name(), hex(&own).to_lowercase()));
    } else {
        let text = format!(
            "the file's {} digest is {}, the signed one {}: the file was changed after it was signed",
            algorithm.name(),
            hex(&own).to_lowercase(),
            hex(data.digest()).to_lowercase()
        );
        account.add("digest", Mark::Failed, text);
    }
    match pages::Pages::from_attribute(data.value()) {
        Ok(None) => account.add("page hashes", Mark::Note, "there are none"),
        Ok(Some(pages)) => match pages.verify(bytes, offsets) {
            Ok(count) => account.add("page hashes", Mark::Passed, format!("{count} pages")),
            Err(refusal) => account.refuse("page hashes", &refusal),
        },
        Err(refusal) => account.refuse("page hashes", &refusal),
    }
}
