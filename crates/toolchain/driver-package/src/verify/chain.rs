//! Follows the certificates of a signature to the end of their chain. Keys decide where it ends, never names.

use const_oid::ObjectIdentifier;

use super::certificate::{Cert, KERNEL};
use super::digest::Algorithm;
use super::roots::{Purpose, Root};
use super::{Context, Refusal};
use crate::sign::oid;

/// The maximum length of a chain. Chains of Windows are shorter.
const LONGEST: usize = 10;

/// The end of a chain.
pub(super) enum End<'a> {
    /// A root of [`Context::pinned`].
    Pinned(&'a Root),
    /// A certificate of [`Context::trusted`].
    Given(String),
    /// A root in the file, which signed itself. Anybody can make one, with any name.
    SelfSigned(String),
    /// A certificate that is not in the file, so that the signature of the last one cannot be checked.
    Missing(String),
}

/// The certificates from the signer's to the last one before a trusted root.
pub(super) struct Chain<'a> {
    pub(super) path: Vec<&'a Cert>,
    pub(super) end: End<'a>,
}

impl Chain<'_> {
    /// Returns whether the chain ends at a trusted certificate.
    pub(super) const fn is_trusted(&self) -> bool {
        matches!(self.end, End::Pinned(_) | End::Given(_))
    }
}

/// Follows the chain of the signer's certificate with those in the file. `usage` is what the signer does.
pub(super) fn follow<'a>(
    first: &'a Cert,
    pool: &'a [Cert],
    context: &'a Context,
    trusted: &'a [Cert],
    usage: ObjectIdentifier,
) -> Result<Chain<'a>, Refusal> {
    let mut path = vec![first];
    let mut current = first;
    while path.len() <= LONGEST {
        if let Some(kind) = current.not_understood() {
            let text = format!(
                "the certificate of {} has the critical extension {kind}, which is not known",
                current.subject()
            );
            return Err(Refusal::Unknown(text));
        }
        if path.len() > 1 && current.usages()?.is_some_and(|usages| !permits(&usages, usage)) {
            return Err(Refusal::Failed(format!("{} may not issue certificates of this usage", current.subject())));
        }
        if let Some(end) = trusted_end(current, path.len() - 1, context, trusted, usage) {
            return Ok(Chain { path, end });
        }
        let blamed = |refusal: Refusal| refusal.about(&format!("the certificate of {}", current.subject()));
        if current.is_self_issued() {
            // A root restricts nobody but itself, so only its signature is checked.
            if !current.is_signed_with(current.key()).map_err(blamed)? {
                let text = format!("it was not made with the key of {}, or it was changed later", current.subject());
                return Err(blamed(Refusal::Failed(text)));
            }
            return Ok(Chain { end: End::SelfSigned(current.subject()), path });
        }
        let mut refusal = None;
        let mut found = None;
        for issuer in trusted.iter().chain(pool).filter(|each| each.is_issuer_of(current)) {
            match current.is_issued_by(issuer, path.len() - 1) {
                Ok(()) => found = found.or(Some(issuer)),
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        match (found, refusal) {
            (Some(issuer), _) => {
                path.push(issuer);
                current = issuer;
            }
            (None, Some(refusal)) => return Err(blamed(refusal)),
            (None, None) => return Ok(Chain { end: End::Missing(current.fields().issuer.to_string()), path }),
        }
    }
    Err(Refusal::Failed(format!("it has more than {LONGEST} certificates")))
}

/// Returns the trusted root that issued a certificate, or the certificate itself if it is trusted.
pub(super) fn trusted_end<'a>(
    current: &Cert,
    below: usize,
    context: &'a Context,
    trusted: &[Cert],
    usage: ObjectIdentifier,
) -> Option<End<'a>> {
    let is_for = |root: &&Root| root.purpose != Purpose::Timestamps || usage == oid::TIME_STAMPING;
    let mut roots = context.pinned.iter().filter(is_for);
    // No certificate names a root's key, so each key is tried.
    let pinned = roots.find(|root| current.is_signed_with(&root.key).is_ok_and(|is_good| is_good));
    let is_given = |each: &&Cert| {
        each.is_same(current)
            || each.is_issuer_of(current) && current.is_issued_by(each, below).is_ok()
            || each.key() == current.key() && current.is_signed_with(each.key()).is_ok_and(|is_good| is_good)
    };
    let given = || trusted.iter().find(is_given).map(|given| End::Given(given.subject()));
    pinned.map(End::Pinned).or_else(given)
}

/// Whether an authority with these usages may issue certificates for `usage`.
fn permits(usages: &[ObjectIdentifier], usage: ObjectIdentifier) -> bool {
    let is_kernel = |each: &ObjectIdentifier| usage == oid::CODE_SIGNING && KERNEL.iter().any(|(kind, _)| kind == each);
    usages.iter().any(|each| *each == usage || *each == oid::ANY_USAGE || is_kernel(each))
}

impl Chain<'_> {
    /// Returns the usage because of which a Windows kernel accepts the signature without test mode: the chain ends at a root of
    /// Microsoft's for kernel code, and the signer and every authority that is restricted have the usage.
    pub(super) fn kernel_usage(&self) -> Option<&'static str> {
        let End::Pinned(Root { purpose: Purpose::Kernel, .. }) = self.end else { return None };
        let has = |cert: &Cert, kind: ObjectIdentifier, is_needed: bool| {
            cert.usages().is_ok_and(|usages| usages.map_or(!is_needed, |usages| usages.contains(&kind)))
        };
        let is_whole =
            |kind: ObjectIdentifier| self.path.iter().enumerate().all(|(index, cert)| has(cert, kind, index == 0));
        let is_old = self.path.iter().any(|cert| cert.algorithm() == Some(Algorithm::Md5));
        let usage = KERNEL.iter().find(|(kind, _)| is_whole(*kind)).map(|(_, name)| *name);
        usage.filter(|_| !is_old)
    }

    /// Returns what weakens the chain: old digests, short keys.
    pub(super) fn weaknesses(&self) -> Vec<String> {
        let mut weaknesses = Vec::new();
        for cert in &self.path {
            let subject = cert.subject();
            if let Some(algorithm) = cert.algorithm().filter(|algorithm| algorithm.is_weak() && !cert.is_self_issued())
            {
                weaknesses.push(format!("the certificate of {subject} is signed with {}", algorithm.name()));
            }
            if let Some(bits) = cert.short_key() {
                weaknesses.push(format!("the key of {subject} has {bits} bits"));
            }
        }
        weaknesses
    }
}
