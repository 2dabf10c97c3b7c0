//! Hashes and message authentication codes, and keys that are derived with them.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_processor::memory::GuestSlice;
use nt_verifier::routine::{CNG, Call, DISPATCH, Ignored, Out, Outcome, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::cryptography::BCRYPT_HASH_REUSABLE_FLAG;

use super::algorithm::Kind;
use super::digest::Digest;
use super::provider::reusable;
use super::state::{HASH, Hash, ObjectMemory, Provider, hash, provider, state};

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptCreateHash(
        &call,
        handle: KernelHandle,
        place: Out<KernelHandle>,
        memory: GuestSlice<u8>,
        secret: GuestSlice<u8>,
        flags: u32,
    ) -> Outcome {
        let provider = provider(handle)?;
        let digest = digest_of(provider)?;
        if flags & !reusable() != 0 || !place.is_wanted() {
            return fail(NtStatus::InvalidParameter);
        }
        let hasher = digest.start(secret_of(provider, secret)?.as_deref())?;
        let origin = provider.origin(ObjectMemory::new(memory)?);
        let is_reusable = provider.is_reusable || flags & BCRYPT_HASH_REUSABLE_FLAG != 0;
        add(call, place, Hash { name: provider.name, digest, hasher, is_reusable, is_finished: false, origin })
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptHashData(handle: KernelHandle, input: GuestSlice<u8>, flags: u32) -> Outcome {
        let number = unfinished(handle)?;
        if flags != 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let input = input.read()?;
        let mut state = state();
        let Some(hash) = state.hashes.get_mut(&number) else { return fail(NtStatus::InvalidHandle) };
        hash.hasher.add(&input);
        done(())
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptFinishHash(handle: KernelHandle, output: GuestSlice<u8>, flags: u32) -> Outcome {
        let number = unfinished(handle)?;
        let value = {
            let mut state = state();
            let Some(hash) = state.hashes.get_mut(&number) else { return fail(NtStatus::InvalidHandle) };
            if flags != 0 || output.len() != hash.digest.length() as u64 {
                return fail(NtStatus::InvalidParameter);
            }
            hash.is_finished = !hash.is_reusable;
            hash.hasher.finish()
        };
        output.write(&value)?;
        done(())
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptDuplicateHash(
        &call,
        handle: KernelHandle,
        place: Out<KernelHandle>,
        memory: GuestSlice<u8>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let number = unfinished(handle)?;
        let memory = ObjectMemory::new(memory)?;
        let copy = {
            let state = state();
            let Some(hash) = state.hashes.get(&number) else { return fail(NtStatus::InvalidHandle) };
            Hash { hasher: hash.hasher.copy(), origin: hash.origin.with(memory), ..*hash }
        };
        add(call, place, copy)
    }

    #[irql(DISPATCH), module(CNG)]
    fn BCryptDestroyHash(handle: KernelHandle) -> Outcome<NtStatus> {
        let number = hash(handle)?;
        let destroyed = state().hashes.remove(&number);
        if let Some(hash) = destroyed {
            hash.origin.memory.release()?;
        }
        done(object::close(handle))
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory), keeps_nothing]
    fn BCryptHash(
        handle: KernelHandle,
        secret: GuestSlice<u8>,
        input: GuestSlice<u8>,
        output: GuestSlice<u8>,
    ) -> Outcome {
        let provider = provider(handle)?;
        let digest = digest_of(provider)?;
        if output.len() != digest.length() as u64 {
            return fail(NtStatus::InvalidParameter);
        }
        let mut hasher = digest.start(secret_of(provider, secret)?.as_deref())?;
        hasher.add(&input.read()?);
        output.write(&hasher.finish())?;
        done(())
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::NoMemory), keeps_nothing]
    fn BCryptDeriveKeyPBKDF2(
        handle: KernelHandle,
        password: GuestSlice<u8>,
        salt: GuestSlice<u8>,
        iterations: u64,
        key: GuestSlice<u8>,
        flags: u32,
    ) -> Outcome {
        let provider = provider(handle)?;
        let digest = digest_of(provider)?;
        if !provider.is_keyed || iterations == 0 || flags != 0 || key.start().is_null() {
            return fail(NtStatus::InvalidParameter);
        }
        // More iterations than that take longer than any run.
        let rounds = u32::try_from(iterations).unwrap_or(u32::MAX);
        let password = password.read()?;
        let salt = salt.read()?;
        let mut derived = key.read()?;
        digest.derive(&password, &salt, rounds, &mut derived);
        key.write(&derived)?;
        done(())
    }
}

fn digest_of(provider: Provider) -> Outcome<Digest> {
    match provider.kind {
        Kind::Hash(digest) => done(digest),
        Kind::Aes | Kind::Random => fail(NtStatus::NotSupported),
    }
}

/// Reads the key of a provider for message authentication codes. Other providers have no key.
fn secret_of(provider: Provider, secret: GuestSlice<u8>) -> Outcome<Option<Vec<u8>>> {
    match (provider.is_keyed, secret.is_empty()) {
        (true, _) => done(Some(secret.read()?)),
        (false, true) => done(None),
        (false, false) => fail(NtStatus::InvalidParameter),
    }
}

/// Returns the number of a hash whose value was not read yet.
fn unfinished(handle: KernelHandle) -> Outcome<u64> {
    let number = hash(handle)?;
    let is_finished = state().hashes.get(&number).is_some_and(|hash| hash.is_finished);
    if is_finished {
        verify::find(Rule::BadArgument, format_args!("uses a hash after BCryptFinishHash, which is not reusable"));
        return fail(NtStatus::InvalidHandle);
    }
    done(number)
}

/// Opens a handle to a new hash.
fn add(call: &Call, place: Out<KernelHandle>, hash: Hash) -> Outcome {
    let number = state().number();
    let handle = object::open(HASH, number, call.from)?;
    state().hashes.insert(number, hash);
    place.set(handle)?;
    done(())
}
