//! Symmetric keys.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_processor::layout::BCRYPT_KEY_DATA_BLOB_HEADER;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{CNG, Call, DISPATCH, Ignored, Out, Outcome, done, fail, routines};
use windows_constants::cryptography::{BCRYPT_KEY_DATA_BLOB_MAGIC, BCRYPT_KEY_DATA_BLOB_VERSION1};

use super::algorithm::Kind;
use super::block::aes;
use super::provider::text;
use super::state::{KEY, Key, ObjectMemory, Provider, key, provider, state};

/// `BCRYPT_KEY_DATA_BLOB`.
const KEY_DATA: &str = "KeyDataBlob";
const HEADER: u64 = size_of::<BCRYPT_KEY_DATA_BLOB_HEADER>() as u64;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptGenerateSymmetricKey(
        &call,
        handle: KernelHandle,
        place: Out<KernelHandle>,
        memory: GuestSlice<u8>,
        secret: GuestSlice<u8>,
        flags: u32,
    ) -> Outcome {
        let provider = cipher_of(handle)?;
        if flags != 0 {
            return fail(NtStatus::InvalidParameter);
        }
        add(call, place, provider, memory, secret.read()?)
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptImportKey(
        &call,
        handle: KernelHandle,
        wrapping: KernelHandle,
        kind: GuestPtr<u16>,
        place: Out<KernelHandle>,
        memory: GuestSlice<u8>,
        input: GuestSlice<u8>,
        flags: u32,
    ) -> Outcome {
        let provider = cipher_of(handle)?;
        if text(kind)? != KEY_DATA || wrapping.as_int() != 0 {
            return fail(NtStatus::NotSupported);
        }
        if flags != 0 || input.len() < HEADER {
            return fail(NtStatus::InvalidParameter);
        }
        let header = input.start().cast::<BCRYPT_KEY_DATA_BLOB_HEADER>().read()?;
        let length = u64::from(header.cbKeyData);
        if header.dwMagic != BCRYPT_KEY_DATA_BLOB_MAGIC || header.dwVersion != BCRYPT_KEY_DATA_BLOB_VERSION1 || length > input.len() - HEADER {
            return fail(NtStatus::InvalidParameter);
        }
        add(call, place, provider, memory, input.start().at(HEADER).array(length).read()?)
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory), keeps_nothing]
    fn BCryptExportKey(
        handle: KernelHandle,
        wrapping: KernelHandle,
        kind: GuestPtr<u16>,
        output: GuestSlice<u8>,
        size: Out<u32>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let (_, key) = key(handle)?;
        if text(kind)? != KEY_DATA || wrapping.as_int() != 0 {
            return fail(NtStatus::NotSupported);
        }
        let needed = HEADER + key.secret.len() as u64;
        size.set(needed as u32)?;
        if output.start().is_null() {
            return done(());
        }
        if output.len() < needed {
            return fail(NtStatus::BufferTooSmall);
        }
        let header = BCRYPT_KEY_DATA_BLOB_HEADER {
            dwMagic: BCRYPT_KEY_DATA_BLOB_MAGIC,
            dwVersion: BCRYPT_KEY_DATA_BLOB_VERSION1,
            cbKeyData: key.secret.len() as u32,
        };
        output.start().cast().write(header)?;
        output.start().at(HEADER).write_all(&key.secret)?;
        done(())
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptDuplicateKey(
        &call,
        handle: KernelHandle,
        place: Out<KernelHandle>,
        memory: GuestSlice<u8>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let (_, key) = key(handle)?;
        let origin = key.origin.with(ObjectMemory::new(memory)?);
        open(call, place, Key { origin, ..key })
    }

    #[irql(DISPATCH), module(CNG)]
    fn BCryptDestroyKey(handle: KernelHandle) -> Outcome<NtStatus> {
        let (number, key) = key(handle)?;
        state().keys.remove(&number);
        key.origin.memory.release()?;
        done(object::close(handle))
    }
}

/// Returns the provider of a handle, if it is one of a cipher.
fn cipher_of(handle: KernelHandle) -> Outcome<Provider> {
    let provider = provider(handle)?;
    if provider.kind == Kind::Aes { done(provider) } else { fail(NtStatus::NotSupported) }
}

fn add(call: &Call, place: Out<KernelHandle>, provider: Provider, memory: GuestSlice<u8>, secret: Vec<u8>) -> Outcome {
    if aes(&secret).is_none() || !place.is_wanted() {
        return fail(NtStatus::InvalidParameter);
    }
    let origin = provider.origin(ObjectMemory::new(memory)?);
    open(call, place, Key { secret, mode: provider.mode, vector: [0; 16], origin })
}

/// Opens a handle to a new key.
fn open(call: &Call, place: Out<KernelHandle>, key: Key) -> Outcome {
    let number = state().number();
    let handle = object::open(KEY, number, call.from)?;
    state().keys.insert(number, key);
    place.set(handle)?;
    done(())
}
