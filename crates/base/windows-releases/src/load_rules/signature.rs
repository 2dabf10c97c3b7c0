//! Rules about the position of the signature. Its validity cannot be checked from the image alone.

use super::Severity::{Refused, Warning};
use super::{PE_FORMAT, Rule};

/// The digest in the signature must match the file. The check needs the bytes of the file, so callers that have the
/// bytes do it and add the finding with [`Verdict::with`](super::Verdict::with).
pub static SIGNATURE_DIGEST: Rule = Rule {
    id: "signature-digest",
    severity: Refused,
    what: "the digest in the signature matches the file",
    why: "Windows refuses a file that was changed after it was signed",
    source: "Microsoft, \"Windows Authenticode Portable Executable Signature Format\"",
    check: |_, _| Vec::new(),
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "signature-place",
        severity: Refused,
        what: "the signature is an Authenticode signature, aligned to 8 bytes, at the end of the file",
        why: "the signed part of the file ends where the signature begins; otherwise verification fails",
        source: PE_FORMAT,
        check: |image, _| image.signature.iter().flat_map(|signature| signature.problems.clone()).collect(),
    },
    Rule {
        id: "signature",
        severity: Warning,
        what: "the image contains a signature",
        why: "64-bit Windows loads only signed drivers; without a signature, a signed catalog must list the file",
        source: "Microsoft Learn, \"Kernel-Mode Code Signing Requirements\"",
        check: |image, _| super::violation_if(image.signature.is_none(), || "there is none".into()),
    },
];
