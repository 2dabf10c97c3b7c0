//! Cryptography: the `BCrypt…` routines.

constants! {
    "Flags of routines and of algorithm providers, bcrypt.h."
    u32 {
        BCRYPT_BLOCK_PADDING = 0x1,
        BCRYPT_PROV_DISPATCH = 0x1,
        BCRYPT_ALG_HANDLE_HMAC_FLAG = 0x8,
        BCRYPT_HASH_REUSABLE_FLAG = 0x20,
        BCRYPT_USE_SYSTEM_PREFERRED_RNG = 0x2,
    }

    "The version and flags of `BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO`, bcrypt.h."
    u32 {
        BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION = 1,
        BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG = 1,
    }

    "The header of a key: `BCRYPT_KEY_DATA_BLOB_HEADER`, bcrypt.h."
    u32 {
        BCRYPT_KEY_DATA_BLOB_MAGIC = 0x4D42_444B,
        BCRYPT_KEY_DATA_BLOB_VERSION1 = 0x1,
    }
}
