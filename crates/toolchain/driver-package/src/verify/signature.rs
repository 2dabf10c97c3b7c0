//! Judges the signatures of an envelope: who signed, when, and where the chain of certificates ends.

use std::time::Duration;

use der::Decode as _;
use spki::SubjectPublicKeyInfoRef;

use super::certificate::Cert;
use super::chain::{self, Chain, End};
use super::envelope::{Envelope, Signer};
use super::timestamp::{self, Stamp, show};
use super::{Account, Context, Mark, Trust};
use crate::sign::oid;

/// Checks every signature of an envelope, and the certificate chain of its signer.
pub(super) fn verify(account: &mut Account, envelope: &Envelope, context: &Context) {
    if envelope.signers().is_empty() {
        account.add("signature", Mark::Failed, "the envelope contains none");
    }
    if let Err(refusal) = envelope.check_frame() {
        account.refuse("signature", &refusal);
    }
    let trusted: Vec<Cert> = context.trusted.iter().filter_map(|bytes| Cert::from_der(bytes).ok()).collect();
    for text in envelope.unconfirmed(context, &trusted) {
        account.add("certificate", Mark::Weak, text);
    }
    for signer in envelope.signers() {
        match envelope.check(signer, envelope.kind(), envelope.content_value()) {
            Ok(certificate) => judge(account, envelope, signer, certificate, context, &trusted),
            Err(refusal) => account.refuse("signature", &refusal),
        }
    }
}

fn judge(
    account: &mut Account,
    envelope: &Envelope,
    signer: &Signer,
    certificate: &Cert,
    context: &Context,
    trusted: &[Cert],
) {
    account.add("signature", Mark::Passed, format!("by {}", certificate.subject()));
    if signer.signed(oid::CONTENT_TYPE).is_none() {
        account.add("signature", Mark::Failed, "it does not sign the type of its content");
    }
    if let Some(algorithm) = signer.algorithm() {
        if !envelope.lists(algorithm) {
            account.add("signature", Mark::Failed, "the envelope does not list its digest algorithm");
        }
        if algorithm.is_weak() {
            account.add("signature", Mark::Weak, format!("its digest is {}", algorithm.name()));
        }
    }
    if signer.is_unordered() {
        let text = "its attributes are not in the order of DER, which CMS requires: other verifiers may refuse it";
        account.add("signature", Mark::Weak, text);
    }
    let is_curve = SubjectPublicKeyInfoRef::from_der(certificate.key()).is_ok_and(|key| key.algorithm.oid == oid::EC);
    if is_curve {
        account.add("signature", Mark::Note, "it is ECDSA; whether Windows loads such a driver was not tested");
    }
    if let Some(kind) = signer.unknown_attribute() {
        account.add("signature", Mark::Unknown, format!("its unsigned attribute {kind} is not known"));
    }
    let stamp = timestamp::check(envelope, signer, context, trusted);
    match &stamp {
        Ok(Some(stamp)) => {
            account.add("timestamp", Mark::Passed, format!("{}, by {}", show(stamp.time), stamp.by));
            stamp.weaknesses.iter().for_each(|text| account.add("timestamp", Mark::Weak, text));
        }
        Ok(None) => {
            let text = "there is none: the signature is not valid after its certificate expires";
            account.add("timestamp", Mark::Note, text);
        }
        Err(refusal) => account.refuse("timestamp", refusal),
    }
    if let Err(refusal) = certificate.is_for(oid::CODE_SIGNING, "code signing") {
        account.refuse("certificate", &refusal);
    }
    // Without the timestamp, the time of the signature is not known.
    if let Ok(stamp) = &stamp {
        period(account, certificate, stamp.as_ref(), context.now);
    }
    let time = stamp.ok().flatten().map_or(context.now, |stamp| stamp.time);
    match chain::follow(certificate, envelope.certificates(), context, trusted, oid::CODE_SIGNING) {
        Ok(chain) => end(account, &chain, time, context),
        Err(refusal) => account.refuse("chain", &refusal),
    }
}

/// Checks that the certificate was valid when it signed. A timestamp of an untrusted server proves nothing.
fn period(account: &mut Account, certificate: &Cert, stamp: Option<&Stamp>, now: Duration) {
    let time = stamp.map_or(now, |stamp| stamp.time);
    let (from, to) = certificate.period();
    if !certificate.is_valid_at(time) {
        let from = show(from);
        let to = show(to);
        let time = show(time);
        let subject = certificate.subject();
        let text = format!("{subject} is valid from {from} to {to}, and the time of the signature is {time}");
        return account.add("certificate", Mark::Failed, text);
    }
    if let Some(Stamp { is_proven: false, by, .. }) = stamp {
        let text = format!("the chain of {by} does not end at a trusted root");
        let (mark, text) = if certificate.is_valid_at(now) {
            (Mark::Weak, text)
        } else {
            (Mark::Unknown, format!("{text}, so nobody knows whether the file was signed before {}", show(to)))
        };
        account.add("timestamp", mark, text);
    }
}

/// Reports the end of the chain and what weakens it.
fn end(account: &mut Account, chain: &Chain, time: Duration, context: &Context) {
    for certificate in chain.path.iter().skip(1).filter(|each| !each.is_valid_at(time)) {
        // Windows may have another certificate of this issuer than the one in the file.
        let (from, to) = certificate.period();
        let text = format!("{} is valid from {} to {}", certificate.subject(), show(from), show(to));
        account.add("certificate", Mark::Weak, text);
    }
    chain.weaknesses().into_iter().for_each(|text| account.add("chain", Mark::Weak, text));
    // If the user names roots, the chain must end at one of them or at one of Microsoft's.
    let has_roots = !context.trusted.is_empty();
    let mark = |otherwise: Mark| if has_roots { Mark::Failed } else { otherwise };
    match &chain.end {
        End::Pinned(root) => {
            account.add("chain", Mark::Passed, format!("it ends at {}, a root that is pinned by its key", root.name));
            let usage = chain.kernel_usage();
            let text = usage.map_or_else(
                || "its signer has no usage for kernel drivers: the kernel loads it only in test mode".to_owned(),
                |usage| format!("the kernel loads it without test mode: {usage}"),
            );
            account.add("trust", Mark::Note, text);
            account.trust = account.trust.max(if usage.is_some() { Trust::Kernel } else { Trust::Pinned });
        }
        End::Given(subject) => {
            account.add("chain", Mark::Passed, format!("it ends at {subject}, which is trusted"));
            account.trust = account.trust.max(Trust::Given);
        }
        End::SelfSigned(subject) => {
            let text = format!("it ends at {subject}, which is self-signed and not trusted: names in it prove nothing");
            account.add("chain", mark(Mark::Note), text);
        }
        End::Missing(issuer) => {
            let last = chain.path.last().map(|each| each.subject()).unwrap_or_default();
            let text = format!(
                "it ends at {issuer}, whose certificate is neither in the file nor trusted, so that the certificate of {last} \
                 cannot be checked; name the root with --trusted"
            );
            account.add("chain", mark(Mark::Unknown), text);
        }
    }
}
