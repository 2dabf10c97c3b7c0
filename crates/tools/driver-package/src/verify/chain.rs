//! Follows the certificates of a signature to the end of their chain.

use std::time::Duration;

use der::{Decode as _, Encode as _};
use x509_cert::Certificate;
use x509_cert::ext::pkix::ExtendedKeyUsage;

use super::digest::Algorithm;
use super::envelope::{Refusal, verify_signature};
use super::timestamp::show;
use super::{Account, Context, Mark};
use crate::sign::oid;

/// The maximum length of a chain. Chains of Windows are shorter.
const LONGEST: usize = 10;

/// Follows the chain with the certificates in the file, at the time of the signature.
pub(super) fn verify(
    account: &mut Account,
    first: &Certificate,
    certificates: &[Certificate],
    time: Duration,
    context: &Context,
) {
    if !signs_code(first) {
        account.add("certificate", Mark::Failed, "the certificate is not for code signing");
    }
    let trusted: Vec<Certificate> =
        context.trusted.iter().filter_map(|bytes| Certificate::from_der(bytes).ok()).collect();
    let mut current = first;
    for index in 0..LONGEST {
        let fields = &current.tbs_certificate;
        let (from, to) = (fields.validity.not_before.to_unix_duration(), fields.validity.not_after.to_unix_duration());
        if time < from || time > to {
            let text = format!(
                "{} is valid from {} to {}, and the time of the signature is {}",
                fields.subject,
                show(from),
                show(to),
                show(time)
            );
            // Windows may have another certificate of this issuer than the one in the file.
            account.add("certificate", if index == 0 { Mark::Failed } else { Mark::Note }, text);
        }
        if trusted.contains(current) {
            return account.add("chain", Mark::Passed, format!("it ends at {}, which is trusted", fields.subject));
        }
        let is_root = fields.issuer == fields.subject;
        let issuer = if is_root {
            Some(current)
        } else {
            trusted.iter().chain(certificates).find(|each| each.tbs_certificate.subject == fields.issuer)
        };
        let Some(issuer) = issuer else {
            let mark = if context.trusted.is_empty() { Mark::Note } else { Mark::Failed };
            let text =
                format!("it ends at {}, whose certificate is not in the file: the machine must have it", fields.issuer);
            return account.add("chain", mark, text);
        };
        if let Err(refusal) = issued(current, issuer) {
            let (mark, text) = match refusal {
                Refusal::Failed(text) => (Mark::Failed, text),
                Refusal::Unknown(text) => (Mark::Unknown, text),
            };
            return account.add("chain", mark, format!("the certificate of {}: {text}", fields.subject));
        }
        if is_root {
            let mark = if context.trusted.is_empty() { Mark::Note } else { Mark::Failed };
            let text = format!("it ends at {}, which is self-signed: the machine must trust it", fields.subject);
            return account.add("chain", mark, text);
        }
        current = issuer;
    }
    account.add("chain", Mark::Failed, format!("it has more than {LONGEST} certificates"));
}

/// Checks that the issuer signed the certificate.
fn issued(certificate: &Certificate, issuer: &Certificate) -> Result<(), Refusal> {
    let kind = certificate.signature_algorithm.oid;
    let algorithm =
        Algorithm::of(kind).ok_or_else(|| Refusal::Unknown(format!("its signature algorithm {kind} is not known")))?;
    let message = certificate.tbs_certificate.to_der().map_err(|error| Refusal::Failed(error.to_string()))?;
    verify_signature(issuer, algorithm, &message, certificate.signature.raw_bytes())
}

/// Returns whether a certificate may sign code. Without the extension it may be used for everything.
fn signs_code(certificate: &Certificate) -> bool {
    match certificate.tbs_certificate.get::<ExtendedKeyUsage>() {
        Ok(Some((_, usage))) => usage.0.contains(&oid::CODE_SIGNING),
        Ok(None) => true,
        Err(_) => false,
    }
}
