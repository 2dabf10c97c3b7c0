//! The providers, hashes and keys that drivers have opened, and what their handles lead to.
//!
//! The handles are in the table of the object manager, which finds those that a driver does not close.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::{kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::layer_state::LayerState;
use nt_processor::memory::{Fault, GuestSlice};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{DISPATCH, Outcome, done, fail};
use nt_verifier::verify::{self, Rule};
use windows_releases::Release as Os;

use super::algorithm::{self, Kind, Mode};
use super::digest::{Digest, Hasher};

/// The kinds of handles.
pub(super) const PROVIDER: &str = "algorithm provider";
pub(super) const HASH: &str = "hash";
pub(super) const KEY: &str = "key";

/// `BCRYPT_OBJECT_LENGTH`. The documentation states no number, and Windows' depend on the algorithm and the release.
pub(super) const OBJECT_LENGTH: u32 = 640;
/// What the memory of objects is filled with.
const OBJECT_BYTE: u8 = 0xC6;

static CNG: LayerState<Mutex<State>> = LayerState::new();

/// Makes this the state of this process. Later calls have no effect.
pub fn attach(state: &'static Mutex<State>) {
    CNG.attach(state);
}

/// Locks the state.
pub(super) fn state() -> MutexGuard<'static, State> {
    lock(CNG.get())
}

/// Forgets all objects, after the last image was unloaded.
pub fn forget() {
    let mut state = state();
    *state = State { numbers: state.numbers, ..State::default() };
}

/// All objects, by number.
#[derive(Default)]
pub struct State {
    numbers: u64,
    pub(super) providers: SortedMap<u64, Provider>,
    pub(super) hashes: SortedMap<u64, Hash>,
    pub(super) keys: SortedMap<u64, Key>,
}

impl State {
    /// Returns a number that was not used before.
    pub(super) const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns the number of hashes and keys that were created with a provider.
    pub(super) fn dependents(&self, provider: u64) -> usize {
        let parents = self.hashes.values().map(|hash| hash.origin).chain(self.keys.values().map(|key| key.origin));
        parents.filter(|origin| origin.provider == Some(provider)).count()
    }
}

/// An algorithm provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) mode: Mode,
    /// Whether it was opened with `BCRYPT_ALG_HANDLE_HMAC_FLAG`.
    pub(super) is_keyed: bool,
    /// Whether it was opened with `BCRYPT_HASH_REUSABLE_FLAG`.
    pub(super) is_reusable: bool,
    /// Whether it was opened with `BCRYPT_PROV_DISPATCH`. Pseudo-handles need no such flag.
    pub(super) is_dispatch: bool,
    /// Its number, unless it belongs to a pseudo-handle.
    pub(super) number: Option<u64>,
}

impl Provider {
    pub(super) const fn origin(self, memory: ObjectMemory) -> Origin {
        Origin { provider: self.number, is_dispatch: self.is_dispatch, memory }
    }
}

/// Where a hash or a key comes from, and the memory that the driver gave for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    provider: Option<u64>,
    is_dispatch: bool,
    pub(super) memory: ObjectMemory,
}

impl Origin {
    /// Returns the origin of a copy in other memory.
    pub(super) const fn with(self, memory: ObjectMemory) -> Self {
        Self { memory, ..self }
    }
}

/// A hash that is being computed.
pub(super) struct Hash {
    pub(super) name: &'static str,
    pub(super) digest: Digest,
    pub(super) hasher: Box<dyn Hasher>,
    pub(super) is_reusable: bool,
    pub(super) is_finished: bool,
    pub(super) origin: Origin,
}

/// A symmetric key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) secret: Vec<u8>,
    pub(super) mode: Mode,
    /// `BCRYPT_INITIALIZATION_VECTOR`.
    pub(super) vector: [u8; 16],
    pub(super) origin: Origin,
}

/// The memory of a hash or a key, which the driver must not change or free before it destroys the object. It is filled
/// with a byte, and compared at each use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectMemory(GuestSlice<u8>);

impl ObjectMemory {
    /// Uses memory of the driver. If there is none, the provider allocates it.
    pub(super) fn new(memory: GuestSlice<u8>) -> Outcome<Self> {
        if memory.start().is_null() {
            return if memory.is_empty() { done(Self::default()) } else { fail(NtStatus::InvalidParameter) };
        }
        if memory.len() < OBJECT_LENGTH.into() {
            return fail(NtStatus::BufferTooSmall);
        }
        let memory = memory.take(OBJECT_LENGTH.into());
        memory.fill(OBJECT_BYTE)?;
        done(Self(memory))
    }

    /// Reports memory that the driver has changed. Memory that it has freed faults.
    fn check(self) -> Result<(), Fault> {
        if self.0.read()?.iter().any(|byte| *byte != OBJECT_BYTE) {
            verify::find(
                Rule::BadArgument,
                format_args!("overwrites the memory of a hash or key before destroying it"),
            );
            self.0.fill(OBJECT_BYTE)?;
        }
        Ok(())
    }

    /// Returns the memory to the driver, without secrets.
    pub(super) fn release(self) -> Result<(), Fault> {
        if self.0.is_empty() { Ok(()) } else { self.0.fill(0) }
    }
}

/// Reports a call at `DISPATCH_LEVEL` with an object whose provider was not opened for it.
fn check_irql(is_dispatch: bool) {
    let irql = thread::irql();
    if irql >= DISPATCH && !is_dispatch {
        let detail = format_args!("called at IRQL {irql} for a provider that was opened without BCRYPT_PROV_DISPATCH");
        verify::find(Rule::IrqlTooHigh, detail);
    }
}

/// Ends the run because Windows has something that is not modelled.
pub(super) fn not_modelled(what: fmt::Arguments<'_>) -> ! {
    let site = thread::site();
    let detail = format_args!("{what}, which this host does not model");
    verify::stop(Rule::NotImplemented, site.map(|site| site.routine), site.map_or(0, |site| site.from), detail)
}

/// Returns the number of an object. NULL is not a mistake: routines return a status for it.
pub(super) fn number_of(handle: KernelHandle, kind: &'static str) -> Outcome<u64> {
    let found = object::of_kind(handle, kind);
    if found.is_none() && handle.as_int() != 0 {
        let detail = format_args!("{:#x} is not an open handle of this kind ({kind})", handle.as_int());
        verify::find(Rule::BadArgument, detail);
    }
    found.map_or_else(|| fail(NtStatus::InvalidHandle), done)
}

/// Returns the provider of a handle or pseudo-handle.
pub(super) fn provider(handle: KernelHandle) -> Outcome<Provider> {
    if algorithm::is_pseudo_handle(handle.as_int()) && kernel().config.os >= Os::Win10_1507 {
        let Some(pseudo) = algorithm::from_pseudo_handle(handle.as_int()) else {
            not_modelled(format_args!("uses the algorithm with the pseudo-handle {:#x}", handle.as_int()));
        };
        let Some((name, kind)) = algorithm::find(pseudo.name) else { return fail(NtStatus::InvalidHandle) };
        let mode = pseudo.mode;
        let is_keyed = pseudo.is_keyed;
        return done(Provider { name, kind, mode, is_keyed, is_reusable: false, is_dispatch: true, number: None });
    }
    let number = number_of(handle, PROVIDER)?;
    let Some(provider) = state().providers.get(&number).copied() else { return fail(NtStatus::InvalidHandle) };
    check_irql(provider.is_dispatch);
    done(provider)
}

/// Returns the number of a hash that can be used.
pub(super) fn hash(handle: KernelHandle) -> Outcome<u64> {
    let number = number_of(handle, HASH)?;
    let Some(origin) = state().hashes.get(&number).map(|hash| hash.origin) else {
        return fail(NtStatus::InvalidHandle);
    };
    check_irql(origin.is_dispatch);
    origin.memory.check()?;
    done(number)
}

/// Returns the number and a copy of a key.
pub(super) fn key(handle: KernelHandle) -> Outcome<(u64, Key)> {
    let number = number_of(handle, KEY)?;
    let Some(key) = state().keys.get(&number).cloned() else { return fail(NtStatus::InvalidHandle) };
    check_irql(key.origin.is_dispatch);
    key.origin.memory.check()?;
    done((number, key))
}
