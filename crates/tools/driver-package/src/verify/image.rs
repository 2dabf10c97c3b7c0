//! The signature inside of an image.

use der::{Decode as _, SliceReader};

use super::digest::Algorithm;
use super::envelope::Envelope;
use super::{Account, Context, Mark, pages};
use crate::pe::SigningOffsets;
use crate::sign::spc::IndirectData;
use crate::sign::{hex, oid};

/// The header of an entry in the attribute certificate table.
const ENTRY: usize = 8;

/// Verifies the signature of an image; returns whether it has one.
pub(super) fn verify(account: &mut Account, bytes: &[u8], context: &Context) -> bool {
    let offsets = match SigningOffsets::of(bytes) {
        Ok(offsets) => offsets,
        Err(error) => {
            account.add("image", Mark::Failed, error.to_string());
            return true;
        }
    };
    let Some(start) = offsets.signature else { return false };
    let table = bytes.get(start + ENTRY..).unwrap_or_default();
    match Envelope::parse(table) {
        Ok(envelope) => signature(account, bytes, offsets, &envelope, context),
        Err(reason) => account.add("signature", Mark::Failed, reason),
    }
    true
}

fn signature(account: &mut Account, bytes: &[u8], offsets: SigningOffsets, envelope: &Envelope, context: &Context) {
    for (index, each) in std::iter::once(envelope).chain(&envelope.nested).enumerate() {
        if index > 0 {
            account.add("signature", Mark::Note, format!("signature {} of the file", index + 1));
        }
        digest(account, bytes, offsets, each);
        each.verify(account, context);
    }
}

/// The digest that was signed against that of the file, and the digests of its pages.
fn digest(account: &mut Account, bytes: &[u8], offsets: SigningOffsets, envelope: &Envelope) {
    let signed = (envelope.kind() == oid::INDIRECT_DATA)
        .then(|| SliceReader::new(envelope.content_der()).and_then(|mut reader| IndirectData::decode(&mut reader)));
    let data = match signed {
        Some(Ok(data)) => data,
        Some(Err(error)) => {
            return account.add("digest", Mark::Failed, format!("what was signed cannot be read: {error}"));
        }
        None => return account.add("digest", Mark::Failed, "what was signed is not the digest of an image"),
    };
    let Some(algorithm) = Algorithm::of(data.algorithm()) else {
        return account.add("digest", Mark::Unknown, format!("the algorithm {} is not known", data.algorithm()));
    };
    let end = offsets.signed_end(bytes.len());
    let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    let parts =
        [part(0..offsets.checksum), part(offsets.checksum + 4..offsets.security), part(offsets.security + 8..end)];
    let own = algorithm.digest(&parts);
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
