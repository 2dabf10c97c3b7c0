//! The time of a signature according to a timestamp server: RFC 3161, or the older countersignature of PKCS #9.

use std::time::Duration;

use der::asn1::{Any, OctetString, UtcTime};
use der::{DateTime, Decode as _, Encode as _, Reader as _, SliceReader, Tagged as _};
use spki::AlgorithmIdentifierOwned;

use super::certificate::Cert;
use super::chain::{self, Chain};
use super::digest::Algorithm;
use super::envelope::{Envelope, Signer};
use super::{Context, Refusal};
use crate::sign::oid;

/// A timestamp that belongs to the signature.
pub(super) struct Stamp {
    /// The time since 1970.
    pub(super) time: Duration,
    /// The subject of the timestamp server's certificate.
    pub(super) by: String,
    /// Whether the chain of the server ends at a trusted root. Otherwise anybody can have made it.
    pub(super) is_proven: bool,
    /// What weakens it.
    pub(super) weaknesses: Vec<String>,
}

/// Returns the timestamp of a signature. Most test-signed files have none.
pub(super) fn check(
    envelope: &Envelope,
    signer: &Signer,
    context: &Context,
    trusted: &[Cert],
) -> Result<Option<Stamp>, Refusal> {
    let stamped = signer.signature();
    let cannot = |error: der::Error| Refusal::from(error).about("it cannot be read");
    if let Some(value) = signer.unsigned(oid::RFC3161).next() {
        let token = Envelope::parse(&value.to_der().map_err(cannot)?)?;
        token.check_frame()?;
        let [own] = token.signers() else { return Err(Refusal::Failed("it has not exactly one signature".into())) };
        let certificate = token.check(own, oid::TIMESTAMP, token.content_value())?;
        let time = token_time(&token, own, stamped)?;
        let mut stamp = stamp(certificate, own, time, token.certificates(), context, trusted)?;
        stamp.weaknesses.extend(token.unconfirmed(context, trusted));
        return Ok(Some(stamp));
    }
    if let Some(value) = signer.unsigned(oid::COUNTER_SIGNATURE).next() {
        let counter = value.to_der().and_then(|bytes| Signer::from_der(&bytes)).map_err(cannot)?;
        let certificate = envelope.check(&counter, oid::DATA, stamped)?;
        let time = counter.signed(oid::SIGNING_TIME).and_then(time);
        let time = time.ok_or_else(|| Refusal::Failed("it has no time".into()))?;
        return stamp(certificate, &counter, time, envelope.certificates(), context, trusted).map(Some);
    }
    Ok(None)
}

/// Checks the server's certificate and its chain.
fn stamp(
    certificate: &Cert,
    signer: &Signer,
    time: Duration,
    pool: &[Cert],
    context: &Context,
    trusted: &[Cert],
) -> Result<Stamp, Refusal> {
    let by = certificate.subject();
    certificate.is_for(oid::TIME_STAMPING, "timestamps")?;
    if !certificate.is_valid_at(time) {
        return Err(Refusal::Failed(format!("{by} was not valid at {}", show(time))));
    }
    let chain = chain::follow(certificate, pool, context, trusted, oid::TIME_STAMPING);
    let is_proven = chain.as_ref().is_ok_and(Chain::is_trusted);
    let mut weaknesses = match chain {
        Ok(chain) => chain.weaknesses(),
        Err(refusal @ Refusal::Failed(_)) => return Err(refusal),
        // An algorithm that is not known makes the server untrusted, not the signature wrong.
        Err(Refusal::Unknown(text)) => vec![text],
    };
    let weak = signer.algorithm().filter(|algorithm| algorithm.is_weak());
    weaknesses.extend(weak.map(|algorithm| format!("its digest is {}", algorithm.name())));
    Ok(Stamp { time, by, is_proven, weaknesses })
}

/// Returns the time of a token of RFC 3161, if it belongs to the signature.
fn token_time(token: &Envelope, signer: &Signer, stamped: &[u8]) -> Result<Duration, Refusal> {
    let cannot = |error: der::Error| Refusal::from(error).about("it cannot be read");
    if token.kind() != oid::TIMESTAMP || signer.algorithm().is_none_or(|algorithm| !token.lists(algorithm)) {
        return Err(Refusal::Failed("its envelope is not that of a timestamp".into()));
    }
    let (algorithm, imprint, time) = info(token.content_value()).map_err(cannot)?;
    let unknown = || Refusal::Unknown(format!("its digest algorithm {} is not known", algorithm.oid));
    if Algorithm::from_oid(algorithm.oid).ok_or_else(unknown)?.digest(&[stamped]) != imprint {
        return Err(Refusal::Failed("it belongs to another signature".into()));
    }
    time.ok_or_else(|| Refusal::Failed("it has no time".into()))
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
