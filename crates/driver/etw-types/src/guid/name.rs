//! Computes a provider's id from its name.

use super::Guid;
use super::case::simple_uppercase;
use super::sha1::Sha1;

/// The namespace id that is hashed before every name.
const NAMESPACE: [u8; 16] =
    [0x48, 0x2C, 0x2D, 0xB2, 0xC3, 0x90, 0x47, 0xC8, 0x87, 0xF8, 0x1A, 0x15, 0xBF, 0xC1, 0x30, 0xFB];

/// Returns the id of the provider called `name`: see [`Guid::from_name`].
pub(super) const fn hash(name: &str) -> Guid {
    let mut sha1 = Sha1::new();
    sha1.update(&NAMESPACE);
    let mut rest = name.as_bytes();
    while let Some((character, tail)) = crate::bytes::next_char(rest) {
        let mut units = [0_u16; 2];
        let mut encoded: &[u16] = simple_uppercase(character).encode_utf16(&mut units);
        while let [unit, more @ ..] = encoded {
            sha1.update(&unit.to_be_bytes());
            encoded = more;
        }
        rest = tail;
    }
    let mut id = sha1.finish();
    id[7] = id[7] & 0x0F | 0x50;
    Guid::from_bytes_le(id)
}
