//! Verifies the signature in an image.

use der::{Decode as _, SliceReader};

use super::digest::Algorithm;
use super::envelope::{self, Envelope};
use super::{Account, Context, Mark, pages};
use crate::pe::SigningOffsets;
use crate::sign::spc::IndirectData;
use crate::sign::{hex, image_parts, oid};

/// The size of an entry's header in the attribute certificate table.
const ENTRY: usize = 8;

/// Verifies the signature of an image. Returns whether it has one.
pub(super) fn verify(account: &mut Account, bytes: &[u8], context: &Context) -> bool {
    walk(account, bytes, |account, envelope| envelope.verify(account, context))
}

/// Compares the signed digests with the file. The signer is not checked.
pub(super) fn compare(account: &mut Account, bytes: &[u8]) {
    walk(account, bytes, |_, _| ());
}

/// Compares the digests of each signature and passes the signature to `check`. Returns whether there is one.
fn walk(account: &mut Account, bytes: &[u8], check: impl Fn(&mut Account, &Envelope)) -> bool {
    let offsets = match SigningOffsets::of(bytes) {
        Ok(offsets) => offsets,
        Err(error) => {
            account.add("image", Mark::Failed, error.to_string());
            return true;
        }
    };
    let Some(start) = offsets.signature else { return false };
    envelope::each(account, bytes.get(start + ENTRY..).unwrap_or_default(), |account, each| {
        digest(account, bytes, offsets, each);
        check(account, each);
    });
    true
}

/// Compares the signed digest with that of the file, and the page hashes with those of its pages.
fn digest(account: &mut Account, bytes: &[u8], offsets: SigningOffsets, envelope: &Envelope) {
    let signed = (envelope.kind() == oid::INDIRECT_DATA)
        .then(|| SliceReader::new(envelope.content_der()).and_then(|mut reader| IndirectData::decode(&mut reader)));
    let data = match signed {
        Some(Ok(data)) => data,
        Some(Err(error)) => {
            return account.add("digest", Mark::Failed, format!("the signed content cannot be read: {error}"));
        }
        None => return account.add("digest", Mark::Failed, "the signed content is not the digest of an image"),
    };
    let Some(algorithm) = Algorithm::of(data.algorithm()) else {
        return account.add("digest", Mark::Unknown, format!("the algorithm {} is not known", data.algorithm()));
    };
    let own = algorithm.digest(&image_parts(bytes, offsets));
    if own == data.digest() {
        account.add("digest", Mark::Passed, format!("{} {}", algorithm.name(), hex(&own).to_lowercase()));
    } else {
        let text = format!(
            "the file's {} digest is {}, the signed one {}: the file was changed after it was signed",
            algorithm.name(),
            hex(&own).to_lowercase(),
            hex(data.digest()).to_lowercase()
        );
        account.add("digest", Mark::Failed, text);
    }
    match pages::Pages::of(data.value()) {
        Ok(None) => account.add("page hashes", Mark::Note, "there are none"),
        Ok(Some(pages)) => match pages.verify(bytes, offsets) {
            Ok(count) => account.add("page hashes", Mark::Passed, format!("{count} pages")),
            Err(reason) => account.add("page hashes", Mark::Failed, reason),
        },
        Err(reason) => account.add("page hashes", Mark::Failed, reason),
    }
}
