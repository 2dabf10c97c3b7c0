//! The algorithms by their identifiers and pseudo-handles.

use super::digest::Digest;

/// What an algorithm does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hash(Digest),
    Aes,
    Random,
}

/// The chaining mode of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Ecb,
    Cbc,
    Gcm,
}

/// The identifiers of the algorithms that are modelled.
const ALGORITHMS: [(&str, Kind); 8] = [
    ("AES", Kind::Aes),
    ("FIPS186DSARNG", Kind::Random),
    ("MD5", Kind::Hash(Digest::Md5)),
    ("RNG", Kind::Random),
    ("SHA1", Kind::Hash(Digest::Sha1)),
    ("SHA256", Kind::Hash(Digest::Sha256)),
    ("SHA384", Kind::Hash(Digest::Sha384)),
    ("SHA512", Kind::Hash(Digest::Sha512)),
];

/// The identifiers of the other algorithms of Microsoft's provider.
const OTHERS: &str = "3DES 3DES_112 AES-CMAC AES-GMAC CAPI_KDF CHACHA20_POLY1305 DES DESX DH DSA DUALECRNG ECDH ECDH_P256 \
    ECDH_P384 ECDH_P521 ECDSA ECDSA_P256 ECDSA_P384 ECDSA_P521 HKDF MD2 MD4 PBKDF2 RC2 RC4 RSA RSA_SIGN \
    SP800_108_CTR_HMAC SP800_56A_CONCAT TLS1_1_KDF TLS1_2_KDF XTS-AES";

/// The chaining modes.
pub(super) const MODES: [(&str, Mode); 3] =
    [("ChainingModeCBC", Mode::Cbc), ("ChainingModeECB", Mode::Ecb), ("ChainingModeGCM", Mode::Gcm)];
/// The chaining modes of Microsoft's provider that are not modelled.
pub(super) const OTHER_MODES: [&str; 2] = ["ChainingModeCCM", "ChainingModeCFB"];

/// An algorithm of a pseudo-handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pseudo {
    handle: u64,
    pub(super) name: &'static str,
    pub(super) is_keyed: bool,
    pub(super) mode: Mode,
}

const fn pseudo(handle: u64, name: &'static str, is_keyed: bool, mode: Mode) -> Pseudo {
    Pseudo { handle, name, is_keyed, mode }
}

/// `BCRYPT_…_ALG_HANDLE`.
const PSEUDO_HANDLES: [Pseudo; 14] = [
    pseudo(0x21, "MD5", false, Mode::Cbc),
    pseudo(0x31, "SHA1", false, Mode::Cbc),
    pseudo(0x41, "SHA256", false, Mode::Cbc),
    pseudo(0x51, "SHA384", false, Mode::Cbc),
    pseudo(0x61, "SHA512", false, Mode::Cbc),
    pseudo(0x81, "RNG", false, Mode::Cbc),
    pseudo(0x91, "MD5", true, Mode::Cbc),
    pseudo(0xA1, "SHA1", true, Mode::Cbc),
    pseudo(0xB1, "SHA256", true, Mode::Cbc),
    pseudo(0xC1, "SHA384", true, Mode::Cbc),
    pseudo(0xD1, "SHA512", true, Mode::Cbc),
    pseudo(0x1A1, "AES", false, Mode::Cbc),
    pseudo(0x1B1, "AES", false, Mode::Ecb),
    pseudo(0x1E1, "AES", false, Mode::Gcm),
];
/// The pseudo-handles of Microsoft's provider are below, and end with this digit.
const PSEUDO_END: u64 = 0x400;
const PSEUDO_DIGIT: u64 = 1;

/// Returns the identifier of a modelled algorithm, with what it does.
pub(super) fn find(name: &str) -> Option<(&'static str, Kind)> {
    ALGORITHMS.iter().find(|(known, _)| *known == name).copied()
}

/// Returns whether Windows has an algorithm that is not modelled.
pub(super) fn is_other(name: &str) -> bool {
    OTHERS.split_whitespace().any(|known| known == name)
}

/// Returns the algorithm of a pseudo-handle.
pub(super) fn from_pseudo_handle(handle: u64) -> Option<Pseudo> {
    PSEUDO_HANDLES.into_iter().find(|known| known.handle == handle)
}

/// Returns whether a handle has the form of a pseudo-handle.
pub(super) const fn is_pseudo_handle(handle: u64) -> bool {
    handle < PSEUDO_END && handle & 0xF == PSEUDO_DIGIT
}

/// Returns the name of a chaining mode.
pub(super) fn name_of(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, known)| *known == mode).map_or("ChainingModeN/A", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::Security::Cryptography as theirs;
    use windows_sys::core::PCWSTR;

    use super::{ALGORITHMS, MODES, OTHER_MODES, OTHERS, PSEUDO_HANDLES, is_pseudo_handle};

    fn text(of: PCWSTR) -> String {
        let unit = |at: &usize| {
            let place = of.wrapping_add(*at);
            // SAFETY: a unit of a constant of windows-sys, before or at the 0 that ends it.
            unsafe { *place }
        };
        let length = (0..100).take_while(|at| unit(at) != 0).count();
        // SAFETY: the units before the 0.
        String::from_utf16(unsafe { std::slice::from_raw_parts(of, length) }).expect("Unicode")
    }

    #[test]
    fn identifiers_are_those_of_microsofts_metadata() {
        macro_rules! texts {
            ($($name:ident)*) => { [$(text(theirs::$name)),*] };
        }
        let all = texts!(
            BCRYPT_3DES_ALGORITHM BCRYPT_3DES_112_ALGORITHM BCRYPT_AES_ALGORITHM BCRYPT_AES_CMAC_ALGORITHM
            BCRYPT_AES_GMAC_ALGORITHM BCRYPT_CAPI_KDF_ALGORITHM BCRYPT_CHACHA20_POLY1305_ALGORITHM BCRYPT_DES_ALGORITHM
            BCRYPT_DESX_ALGORITHM BCRYPT_DH_ALGORITHM BCRYPT_DSA_ALGORITHM BCRYPT_ECDH_ALGORITHM
            BCRYPT_ECDH_P256_ALGORITHM BCRYPT_ECDH_P384_ALGORITHM BCRYPT_ECDH_P521_ALGORITHM BCRYPT_ECDSA_ALGORITHM
            BCRYPT_ECDSA_P256_ALGORITHM BCRYPT_ECDSA_P384_ALGORITHM BCRYPT_ECDSA_P521_ALGORITHM BCRYPT_HKDF_ALGORITHM
            BCRYPT_MD2_ALGORITHM BCRYPT_MD4_ALGORITHM BCRYPT_MD5_ALGORITHM BCRYPT_PBKDF2_ALGORITHM BCRYPT_RC2_ALGORITHM
            BCRYPT_RC4_ALGORITHM BCRYPT_RNG_ALGORITHM BCRYPT_RNG_DUAL_EC_ALGORITHM BCRYPT_RNG_FIPS186_DSA_ALGORITHM
            BCRYPT_RSA_ALGORITHM BCRYPT_RSA_SIGN_ALGORITHM BCRYPT_SHA1_ALGORITHM BCRYPT_SHA256_ALGORITHM
            BCRYPT_SHA384_ALGORITHM BCRYPT_SHA512_ALGORITHM BCRYPT_SP800108_CTR_HMAC_ALGORITHM
            BCRYPT_SP80056A_CONCAT_ALGORITHM BCRYPT_TLS1_1_KDF_ALGORITHM BCRYPT_TLS1_2_KDF_ALGORITHM
            BCRYPT_XTS_AES_ALGORITHM
        );
        let mut all = all.to_vec();
        let mut ours: Vec<String> = ALGORITHMS.iter().map(|(name, _)| (*name).to_owned()).collect();
        ours.extend(OTHERS.split_whitespace().map(str::to_owned));
        all.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, all);
        let modes = texts!(
            BCRYPT_CHAIN_MODE_CBC BCRYPT_CHAIN_MODE_ECB BCRYPT_CHAIN_MODE_GCM BCRYPT_CHAIN_MODE_CCM BCRYPT_CHAIN_MODE_CFB
        );
        assert_eq!(MODES.map(|(name, _)| name).into_iter().chain(OTHER_MODES).collect::<Vec<_>>(), modes);
    }

    #[test]
    fn pseudo_handles_are_those_of_microsofts_metadata() {
        macro_rules! handles {
            ($($name:ident)*) => { [$(theirs::$name as u64),*] };
        }
        let all = handles!(
            BCRYPT_MD5_ALG_HANDLE BCRYPT_SHA1_ALG_HANDLE BCRYPT_SHA256_ALG_HANDLE BCRYPT_SHA384_ALG_HANDLE
            BCRYPT_SHA512_ALG_HANDLE BCRYPT_RNG_ALG_HANDLE BCRYPT_HMAC_MD5_ALG_HANDLE BCRYPT_HMAC_SHA1_ALG_HANDLE
            BCRYPT_HMAC_SHA256_ALG_HANDLE BCRYPT_HMAC_SHA384_ALG_HANDLE BCRYPT_HMAC_SHA512_ALG_HANDLE
            BCRYPT_AES_CBC_ALG_HANDLE BCRYPT_AES_ECB_ALG_HANDLE BCRYPT_AES_GCM_ALG_HANDLE
        );
        assert_eq!(PSEUDO_HANDLES.map(|known| known.handle), all);
        for other in handles!(BCRYPT_RSA_ALG_HANDLE BCRYPT_MD2_ALG_HANDLE BCRYPT_CHACHA20_POLY1305_ALG_HANDLE) {
            assert!(is_pseudo_handle(other), "{other:#x}");
        }
    }
}
