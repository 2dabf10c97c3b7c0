//! The time of a signature according to a timestamp server: RFC 3161, or the older countersignature of PKCS #9.

use std::time::Duration;

use der::asn1::{Any, OctetString, UtcTime};
use der::{DateTime, Decode as _, Encode as _, Reader as _, SliceReader, Tagged as _};
use spki::AlgorithmIdentifierOwned;

use super::digest::Algorithm;
use super::envelope::{Envelope, Refusal, Signer};
use crate::sign::oid;

/// A valid timestamp.
pub(super) struct Stamp {
    /// The time since 1970.
    pub(super) time: Duration,
    /// The subject of the timestamp server's certificate.
    pub(super) by: String,
}

/// Returns the timestamp of a signature. Most test-signed files have none.
pub(super) fn of(envelope: &Envelope, signer: &Signer) -> Result<Option<Stamp>, String> {
    let stamped = signer.signature();
    let cannot = |error: der::Error| format!("it cannot be read: {error}");
    if let Some(value) = signer.unsigned(oid::RFC3161).next() {
        let token = Envelope::parse(&value.to_der().map_err(cannot)?)?;
        return token_of(&token, stamped).map(Some);
    }
    if let Some(value) = signer.unsigned(oid::COUNTER_SIGNATURE).next() {
        let counter = value.to_der().and_then(|bytes| Signer::from_der(&bytes)).map_err(cannot)?;
        let certificate = envelope.check(&counter, stamped).map_err(describe)?;
        let time = counter.signed(oid::SIGNING_TIME).and_then(time).ok_or("it has no time")?;
        return Ok(Some(Stamp { time, by: certificate.tbs_certificate.subject.to_string() }));
    }
    Ok(None)
}

fn describe(refusal: Refusal) -> String {
    match refusal {
        Refusal::Failed(text) | Refusal::Unknown(text) => text,
    }
}

/// Checks a token of RFC 3161 and returns its timestamp.
fn token_of(token: &Envelope, stamped: &[u8]) -> Result<Stamp, String> {
    let signer = token.signers().first().ok_or("it has no signature")?;
    let certificate = token.check(signer, token.content_value()).map_err(describe)?;
    let (algorithm, imprint, time) =
        info(token.content_value()).map_err(|error| format!("it cannot be read: {error}"))?;
    let algorithm = Algorithm::of(algorithm.oid).ok_or("its digest algorithm is not known")?;
    if algorithm.digest(&[stamped]) != imprint {
        return Err("it belongs to another signature".into());
    }
    let time = time.ok_or("it has no time")?;
    Ok(Stamp { time, by: certificate.tbs_certificate.subject.to_string() })
}

/// Returns the algorithm, the digest and the time of a `TSTInfo`.
fn info(bytes: &[u8]) -> der::Result<(AlgorithmIdentifierOwned, Vec<u8>, Option<Duration>)> {
    let mut reader = SliceReader::new(bytes)?;
    reader.sequence(|fields| {
        // The version and the policy.
        Any::decode(fields)?;
        Any::decode(fields)?;
        let (algorithm, imprint) =
            fields.sequence(|fields| Ok((AlgorithmIdentifierOwned::decode(fields)?, OctetString::decode(fields)?)))?;
        // The serial number.
        Any::decode(fields)?;
        let time = time(&Any::decode(fields)?);
        let rest = fields.remaining_len();
        fields.read_slice(rest)?;
        Ok((algorithm, imprint.into_bytes(), time))
    })
}

/// Parses both kinds of time. Fractions of a second, which timestamps may have, are ignored.
fn time(value: &Any) -> Option<Duration> {
    if value.tag() == der::Tag::UtcTime {
        return value.decode_as::<UtcTime>().ok().map(|time| time.to_unix_duration());
    }
    let text = std::str::from_utf8(value.value()).ok()?;
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u16>().ok();
    let small = |range| u8::try_from(number(range)?).ok();
    let time = DateTime::new(number(0..4)?, small(4..6)?, small(6..8)?, small(8..10)?, small(10..12)?, small(12..14)?);
    time.ok().map(|time| time.unix_duration())
}

/// Formats a time for reports, in UTC.
pub(super) fn show(since_1970: Duration) -> String {
    let seconds = Duration::from_secs(since_1970.as_secs());
    DateTime::from_unix_duration(seconds).map_or_else(|_| format!("{} s", seconds.as_secs()), |time| time.to_string())
}
