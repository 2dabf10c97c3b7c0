//! Cryptography API: Next Generation.

use super::layout;
use crate::memory::GuestPtr;

layout! {
    /// Followed by the key.
    BCRYPT_KEY_DATA_BLOB_HEADER: 0xC {
        dwMagic: u32,
        dwVersion: u32,
        cbKeyData: u32,
    }

    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO: 0x58 {
        cbSize: u32,
        dwInfoVersion: u32,
        pbNonce: GuestPtr<u8>,
        cbNonce: u32,
        Padding1: u32,
        pbAuthData: GuestPtr<u8>,
        cbAuthData: u32,
        Padding2: u32,
        pbTag: GuestPtr<u8>,
        cbTag: u32,
        Padding3: u32,
        pbMacContext: GuestPtr<u8>,
        cbMacContext: u32,
        cbAAD: u32,
        cbData: u64,
        dwFlags: u32,
        Padding4: u32,
    }
}
