//! Encryption and decryption.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_processor::layout::BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{CNG, DISPATCH, Out, Outcome, done, fail, routines};
use windows_constants::cryptography::{
    BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG, BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION, BCRYPT_BLOCK_PADDING,
};

use super::algorithm::Mode;
use super::block::{BLOCK, Block, BlockCipher, NONCE, aes, decrypt, encrypt, gcm, pad, remove_padding};
use super::state::{Key, key, not_modelled};

/// The lengths of tags that Microsoft's provider accepts.
pub(super) const TAGS: std::ops::RangeInclusive<u32> = 12..=16;

type ModeInfo = BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO;

/// What to do with data.
struct Operation {
    encrypts: bool,
    info: GuestPtr<ModeInfo>,
    vector: GuestSlice<u8>,
    flags: u32,
}

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptEncrypt(
        handle: KernelHandle,
        input: GuestSlice<u8>,
        info: GuestPtr<ModeInfo>,
        vector: GuestSlice<u8>,
        output: GuestSlice<u8>,
        size: Out<u32>,
        flags: u32,
    ) -> Outcome {
        Operation { encrypts: true, info, vector, flags }.run(handle, input, output, size)
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptDecrypt(
        handle: KernelHandle,
        input: GuestSlice<u8>,
        info: GuestPtr<ModeInfo>,
        vector: GuestSlice<u8>,
        output: GuestSlice<u8>,
        size: Out<u32>,
        flags: u32,
    ) -> Outcome {
        Operation { encrypts: false, info, vector, flags }.run(handle, input, output, size)
    }
}

impl Operation {
    fn run(&self, handle: KernelHandle, input: GuestSlice<u8>, output: GuestSlice<u8>, size: Out<u32>) -> Outcome {
        let (_, key) = key(handle)?;
        let Some(cipher) = aes(&key.secret) else { return fail(NtStatus::InvalidHandle) };
        let is_gcm = key.mode == Mode::Gcm;
        if self.flags & !BCRYPT_BLOCK_PADDING != 0
            || (is_gcm && self.flags != 0)
            || (input.start().is_null() && !input.is_empty())
        {
            return fail(NtStatus::InvalidParameter);
        }
        let pads = self.flags & BCRYPT_BLOCK_PADDING != 0;
        let is_whole = input.len().is_multiple_of(BLOCK as u64);
        if !(is_gcm || is_whole || pads && self.encrypts) {
            return fail(NtStatus::InvalidBufferSize);
        }
        // Only a tag is computed or verified if there is no data.
        let only_tag = is_gcm && input.is_empty();
        let added = if pads && self.encrypts { BLOCK as u64 - input.len() % BLOCK as u64 } else { 0 };
        let longest = input.len() + added;
        if output.start().is_null() && !only_tag {
            size.set(longest as u32)?;
            return done(());
        }
        if self.encrypts && output.len() < longest {
            size.set(longest as u32)?;
            return fail(NtStatus::BufferTooSmall);
        }
        let mut data = input.read()?;
        if is_gcm {
            self.authenticated(&*cipher, &mut data)?;
        } else {
            self.chained(&*cipher, &key, &mut data)?;
        }
        size.set(data.len() as u32)?;
        if output.len() < data.len() as u64 {
            return fail(NtStatus::BufferTooSmall);
        }
        if !data.is_empty() {
            output.write(&data)?;
        }
        done(())
    }

    /// Encrypts or decrypts with ECB or CBC. The driver's vector becomes that of the next blocks.
    fn chained(&self, cipher: &dyn BlockCipher, key: &Key, data: &mut Vec<u8>) -> Outcome {
        let is_given = !self.vector.start().is_null();
        let mut vector: Block = if !is_given {
            key.vector
        } else if self.vector.len() == BLOCK as u64 {
            self.vector.start().cast::<Block>().read()?
        } else {
            return fail(NtStatus::InvalidParameter);
        };
        let chain = (key.mode == Mode::Cbc).then_some(&mut vector);
        let pads = self.flags & BCRYPT_BLOCK_PADDING != 0;
        if self.encrypts {
            if pads {
                pad(data);
            }
            encrypt(cipher, chain, data);
        } else {
            decrypt(cipher, chain, data);
            if pads && !remove_padding(data) {
                return fail(NtStatus::InvalidParameter);
            }
        }
        if is_given && key.mode == Mode::Cbc {
            self.vector.write(&vector)?;
        }
        done(())
    }

    /// Encrypts or decrypts with GCM, and stores or verifies the tag.
    fn authenticated(&self, cipher: &dyn BlockCipher, data: &mut [u8]) -> Outcome {
        if self.info.is_null() {
            return fail(NtStatus::InvalidParameter);
        }
        let info = self.info.read()?;
        if info.cbSize as usize != size_of::<ModeInfo>()
            || info.dwInfoVersion != BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO_VERSION
        {
            return fail(NtStatus::InvalidParameter);
        }
        if info.dwFlags & BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG != 0 {
            not_modelled(format_args!("chains calls of GCM (BCRYPT_AUTH_MODE_CHAIN_CALLS_FLAG)"));
        }
        if info.cbNonce as usize != NONCE || !TAGS.contains(&info.cbTag) || info.pbTag.is_null() {
            return fail(NtStatus::InvalidParameter);
        }
        let nonce = info.pbNonce.cast::<[u8; NONCE]>().read()?;
        let also = info.pbAuthData.array(info.cbAuthData.into()).read()?;
        let tag = info.pbTag.array(info.cbTag.into());
        let computed = gcm(cipher, &nonce, &also, data, self.encrypts);
        if self.encrypts {
            tag.write(&computed)?;
        } else if !computed.starts_with(&tag.read()?) {
            return fail(NtStatus::AuthTagMismatch);
        }
        done(())
    }
}
