//! A provider whose name is known only at run time, in memory that the driver owns.

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};

use etw_types::Guid;
use etw_types::traits::{TraitsBuilder, TraitsError};

use super::{Provider, SetInformationMode};
use crate::backend::kernel::Kernel;
use crate::backend::{Mode, Status};

const EMPTY: u8 = 0;
const FILLING: u8 = 1;
const READY: u8 = 2;

/// Memory for a provider whose name is known only at run time. `N` is the maximum size of its traits: the length of the
/// name plus 3 bytes, and 19 more bytes for a group.
///
/// The macros accept such a provider. If the schema of an event is also known only at run time, use
/// [`Provider::write_built`].
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{FixedText, Guid, ProviderBuffer, write_event};
///
/// static BUFFER: ProviderBuffer<64> = ProviderBuffer::new();
///
/// let instance = 3;
/// let mut name = FixedText::<48>::new();
/// let provider = BUFFER.define(name.format(format_args!("MyCompany.MyDriver.{instance}")), None)?;
/// assert_eq!(*provider.id(), Guid::from_name("MyCompany.MyDriver.3"));
/// // Elsewhere in the driver; `None` before `define`.
/// assert!(BUFFER.get().is_some());
///
/// // SAFETY: unregistered below, when nothing writes any more.
/// let status = unsafe { provider.register() };
/// assert!(status.is_success());
/// write_event!(provider, "Started", u32("Instance", &instance));
/// provider.unregister();
/// # Ok::<(), wdk_etw::NtStatus>(())
/// ```
pub struct ProviderBuffer<const N: usize = 128, M: Mode = Kernel> {
    state: AtomicU8,
    traits: UnsafeCell<[u8; N]>,
    provider: UnsafeCell<MaybeUninit<Provider<M>>>,
}

// SAFETY: `traits` and `provider` are written only by the thread that changes `state` to `FILLING`. Other threads read
// them only after they have seen `READY`, which is stored after the writes. A provider is `Sync`.
unsafe impl<const N: usize, M: Mode> Sync for ProviderBuffer<N, M> {}

impl<const N: usize, M: Mode> ProviderBuffer<N, M> {
    /// Creates an empty buffer.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            traits: UnsafeCell::new([0; N]),
            provider: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Creates the provider of this buffer. Its id is derived from its name. It is a member of `group`, if that is
    /// given. Its mode is [`SetInformationMode::Lookup`].
    ///
    /// # Errors
    ///
    /// Returns `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if the buffer already has a
    /// provider, `STATUS_BUFFER_TOO_SMALL` (`ERROR_INSUFFICIENT_BUFFER`) if the traits do not fit, and
    /// `STATUS_INVALID_PARAMETER` if the name contains a NUL. After the last two errors, the buffer can be used for
    /// another name.
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn define(&'static self, name: &str, group: Option<&Guid>) -> Result<&'static Provider<M>, M::Status> {
        let traits = TraitsBuilder::new(name);
        let traits = group.map_or(traits, |group| traits.with_group(*group));
        let size = match traits.encoded_len() {
            Ok(size) if size <= N => size,
            Ok(_) | Err(TraitsError::TooLarge) => return Err(M::Status::BUFFER_TOO_SMALL),
            Err(_) => return Err(M::Status::INVALID_PARAMETER),
        };
        if self.state.compare_exchange(EMPTY, FILLING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(M::Status::ALREADY_REGISTERED);
        }
        // SAFETY: only this call changed the state to `FILLING`. It leaves that state only for `READY`, and nothing is
        // read before that.
        let bytes = unsafe { &mut *self.traits.get() };
        let blob = bytes.get_mut(..size).unwrap_or_default();
        // This cannot fail: the slice has the required length.
        let _ = traits.encode_into(blob);
        let provider = Provider::new(Guid::from_name(name), blob, SetInformationMode::Lookup);
        // SAFETY: as above; the traits are borrowed as long as this static lives and are not written again.
        unsafe { self.provider.get().write(MaybeUninit::new(provider)) };
        self.state.store(READY, Ordering::Release);
        self.get().ok_or(M::Status::INVALID_PARAMETER)
    }

    /// Returns the provider, or `None` before [`define`](Self::define) succeeded.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn get(&'static self) -> Option<&'static Provider<M>> {
        if self.state.load(Ordering::Acquire) != READY {
            return None;
        }
        // SAFETY: the state is `READY`, so there are no more writes.
        let provider = unsafe { &*self.provider.get() };
        // SAFETY: the state is `READY`, so the provider has been written.
        Some(unsafe { provider.assume_init_ref() })
    }
}

impl<const N: usize, M: Mode> Default for ProviderBuffer<N, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, M: Mode> fmt::Debug for ProviderBuffer<N, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBuffer").field("state", &self.state).finish_non_exhaustive()
    }
}
