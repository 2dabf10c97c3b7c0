//! Properties of providers, hashes and keys.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{CNG, DISPATCH, Ignored, Out, Outcome, done, fail, routines};

use super::algorithm::{Kind, MODES, Mode, OTHER_MODES, name_of};
use super::block::BLOCK;
use super::cipher::TAGS;
use super::provider::text;
use super::state::{HASH, KEY, OBJECT_LENGTH, hash, key, not_modelled, provider, state};

/// The lengths of AES keys in bits: the shortest, the longest, and the step.
const KEY_BITS: [u32; 3] = [128, 256, 64];

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(CNG), fails(NtStatus::NotSupported), keeps_nothing]
    fn BCryptGetProperty(
        handle: KernelHandle,
        name: GuestPtr<u16>,
        output: GuestSlice<u8>,
        size: Out<u32>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let subject = Subject::from_handle(handle)?;
        let Some(value) = subject.property(&text(name)?) else { return fail(NtStatus::NotSupported) };
        size.set(value.len() as u32)?;
        if output.start().is_null() {
            return done(());
        }
        if output.len() < value.len() as u64 {
            return fail(NtStatus::BufferTooSmall);
        }
        output.write(&value)?;
        done(())
    }

    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptSetProperty(
        handle: KernelHandle,
        name: GuestPtr<u16>,
        input: GuestSlice<u8>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let subject = Subject::from_handle(handle)?;
        match (text(name)?.as_str(), subject.kind) {
            ("ChainingMode", Kind::Aes) => set_mode(handle, &mode_name(input)?),
            ("IV", Kind::Aes) if subject.key_bits.is_some() => {
                let Ok(vector) = input.read()?.try_into() else { return fail(NtStatus::InvalidParameter) };
                let (number, _) = key(handle)?;
                if let Some(key) = state().keys.get_mut(&number) {
                    key.vector = vector;
                }
                done(())
            }
            _ => fail(NtStatus::NotSupported),
        }
    }
}

/// What properties are about.
struct Subject {
    name: &'static str,
    kind: Kind,
    mode: Mode,
    /// The length of a key.
    key_bits: Option<u32>,
}

impl Subject {
    fn from_handle(handle: KernelHandle) -> Outcome<Self> {
        if object::of_kind(handle, HASH).is_some() {
            let number = hash(handle)?;
            let found = state().hashes.get(&number).map(|hash| (hash.name, hash.digest));
            let Some((name, digest)) = found else { return fail(NtStatus::InvalidHandle) };
            return done(Self { name, kind: Kind::Hash(digest), mode: Mode::Cbc, key_bits: None });
        }
        if object::of_kind(handle, KEY).is_some() {
            let (_, key) = key(handle)?;
            let key_bits = Some(key.secret.len() as u32 * 8);
            return done(Self { name: "AES", kind: Kind::Aes, mode: key.mode, key_bits });
        }
        let provider = provider(handle)?;
        done(Self { name: provider.name, kind: provider.kind, mode: provider.mode, key_bits: None })
    }

    /// Returns the value of a property.
    fn property(&self, name: &str) -> Option<Vec<u8>> {
        match (name, self.kind) {
            ("AlgorithmName", _) => Some(wide(self.name)),
            ("ObjectLength", Kind::Hash(_) | Kind::Aes) => Some(numbers(&[OBJECT_LENGTH])),
            ("HashDigestLength", Kind::Hash(digest)) => Some(numbers(&[digest.length() as u32])),
            ("HashBlockLength", Kind::Hash(digest)) => Some(numbers(&[digest.block_length() as u32])),
            ("BlockLength" | "BlockSizeList", Kind::Aes) => Some(numbers(&[BLOCK as u32])),
            ("ChainingMode", Kind::Aes) => Some(wide(name_of(self.mode))),
            ("KeyLengths", Kind::Aes) => Some(numbers(&KEY_BITS)),
            ("KeyLength" | "KeyStrength", Kind::Aes) => self.key_bits.map(|bits| numbers(&[bits])),
            ("AuthTagLength", Kind::Aes) if self.mode == Mode::Gcm => Some(numbers(&[*TAGS.start(), *TAGS.end(), 1])),
            _ => None,
        }
    }
}

fn numbers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns a text as the driver sees it, with its end.
fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Reads the name of a chaining mode, with or without its end.
fn mode_name(input: GuestSlice<u8>) -> Outcome<String> {
    let units = input.start().cast::<u16>().until(0, input.len() / 2)?;
    done(String::from_utf16_lossy(&units))
}

/// Sets the chaining mode of a provider, for keys that are created later, or of a key.
fn set_mode(handle: KernelHandle, name: &str) -> Outcome {
    let Some((_, mode)) = MODES.into_iter().find(|(known, _)| *known == name) else {
        if OTHER_MODES.contains(&name) {
            not_modelled(format_args!("sets the chaining mode {name}"));
        }
        return fail(NtStatus::InvalidParameter);
    };
    if object::of_kind(handle, KEY).is_some() {
        let (number, _) = key(handle)?;
        if let Some(key) = state().keys.get_mut(&number) {
            key.mode = mode;
        }
        return done(());
    }
    let Some(number) = provider(handle)?.number else { return fail(NtStatus::NotSupported) };
    if let Some(provider) = state().providers.get_mut(&number) {
        provider.mode = mode;
    }
    done(())
}
