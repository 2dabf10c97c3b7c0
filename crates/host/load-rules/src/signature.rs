//! Rules about the position of the signature. Its validity cannot be checked from the image alone.

use super::Severity::{Refused, Warning};
use super::{PE_FORMAT, Rule};

/// The digest in the signature must match the file. Checking this needs the bytes of the file, so callers that have
/// them add the finding.
pub static SIGNATURE_DIGEST: Rule = Rule {
    id: "signature-digest",
    severity: Refused,
    what: "the digest in the signature is that of the file",
    why: "Windows refuses a file that was changed after it was signed",
    source: "Microsoft, \"Windows Authenticode Portable Executable Signature Format\"",
    check: |_, _| Vec::new(),
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "signature-place",
        severity: Refused,
        what: "the signature is aligned to 8 bytes, the last thing in the file, and an Authenticode one",
        why: "what is signed ends where the signature begins; anything else fails verification",
        source: PE_FORMAT,
        check: |image, _| image.signature.iter().flat_map(|signature| signature.problems.clone()).collect(),
    },
    Rule {
        id: "signature",
        severity: Warning,
        what: "the image carries a signature",
        why: "a 64-bit Windows loads signed drivers only: without one in the file, a catalog has to have it",
        source: "Microsoft Learn, \"Kernel-Mode Code Signing Requirements\"",
        check: |image, _| super::when(image.signature.is_none(), || "there is none".into()),
    },
];
