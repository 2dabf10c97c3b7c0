//! `EtwSetInformation`: traits, descriptor types, binary tracking.
//!
//! The checks run in the kernel's order, so that an invalid call returns the same status here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use etw_types::{EventInfoClass, Guid, NtStatus, traits};

use crate::finding::Attempt;
use crate::log::Subject;
use crate::notify::Delivery;
use crate::state::{Missing, Registration};
use crate::sync::read;
use crate::{Engine, Routine, Target};

/// The length of the shortest traits blob that the kernel accepts: a size and an empty name.
const MIN_TRAITS: usize = 3;
/// The length of the longest traits blob that the kernel accepts.
const MAX_TRAITS: usize = Buffer::MAX as usize;

/// The buffer argument of `EtwSetInformation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer<'a> {
    /// A NULL pointer, with the length that was passed with it.
    Null(u32),
    /// Readable bytes.
    Bytes(&'a [u8]),
    /// Bytes longer than any class accepts (more than 0x7FFF); they are not read.
    TooLong(u32),
}

impl Buffer<'_> {
    /// The length of the longest buffer that a class accepts.
    pub const MAX: u32 = 0x7FFF;
}

impl<'a> From<&'a [u8]> for Buffer<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Buffer<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

impl Engine {
    /// `EtwSetInformation`: sets a property of a registration.
    ///
    /// Returns `InvalidHandle` for 0, and for a handle that is not registered, which is also recorded as a finding. By
    /// class:
    /// - `SetTraits`: `InvalidParameter` without a buffer or for a length outside 3..=0x7FFF, `Unsuccessful` if traits
    ///   are already set, `FileCorruptError` for a malformed blob, `PossibleDeadlock` and a finding for traits with a
    ///   group inside a callback of the provider. On success this turns descriptor types on and joins the group that
    ///   the traits name. If sessions enabled the group, the callback runs before this returns.
    /// - `UseDescriptorType`: `InvalidParameter` unless the buffer is one byte with value 0 or 1.
    /// - `BinaryTrackInfo`: `InvalidParameter` unless the buffer is NULL and its length 0.
    /// - any other class: `InvalidDeviceRequest`.
    pub fn set_information<'a>(&self, handle: u64, class: EventInfoClass, buffer: impl Into<Buffer<'a>>) -> NtStatus {
        let buffer = buffer.into();
        self.run(Routine::SetInformation, handle, Subject::Class(class), || {
            self.set_now(handle, class, buffer).err().unwrap_or(NtStatus::Success)
        })
    }

    fn set_now(&self, handle: u64, class: EventInfoClass, buffer: Buffer<'_>) -> Result<(), NtStatus> {
        // The registration is looked up first: an invalid handle takes precedence over every other mistake.
        let provider = self.look(handle, |registration| registration.provider)?;
        match class {
            EventInfoClass::SetTraits => self.set_traits(handle, provider, buffer),
            EventInfoClass::UseDescriptorType => match buffer {
                Buffer::Bytes(&[value @ 0..=1]) => self.alter(handle, |registration| {
                    registration.uses_descriptor_types = value == 1;
                }),
                _ => Err(NtStatus::InvalidParameter),
            },
            EventInfoClass::BinaryTrackInfo => {
                if !self.inner().binary_tracking.load(Ordering::Relaxed) {
                    return Err(NtStatus::InvalidDeviceRequest);
                }
                match buffer {
                    Buffer::Null(0) => {
                        self.alter(handle, |registration| {
                            registration.tracked = true;
                        })?;
                        self.report_binaries();
                        Ok(())
                    }
                    _ => Err(NtStatus::InvalidParameter),
                }
            }
            _ => Err(NtStatus::InvalidDeviceRequest),
        }
    }

    fn set_traits(&self, handle: u64, provider: Guid, buffer: Buffer<'_>) -> Result<(), NtStatus> {
        let Buffer::Bytes(blob) = buffer else {
            return Err(NtStatus::InvalidParameter);
        };
        if !(MIN_TRAITS..=MAX_TRAITS).contains(&blob.len()) {
            return Err(NtStatus::InvalidParameter);
        }
        if self.look(handle, |registration| registration.traits.is_some())? {
            return Err(NtStatus::Unsuccessful);
        }
        let group = traits::validate(blob).map_err(|_| NtStatus::FileCorruptError)?.group();
        // Joining a group may run the callback, which needs the provider's gate. Without a group no callback runs.
        let _pass = match group {
            Some(_) => Some(self.enter_gate(provider, Attempt::JoinGroup(handle))?),
            None => None,
        };
        if let Some(delivery) = self.store_traits(handle, blob, group)? {
            delivery.deliver(None);
        }
        Ok(())
    }

    /// Stores validated traits, once. Returns the callback to run if the registration is now enabled through its group.
    fn store_traits(&self, handle: u64, blob: &[u8], group: Option<Guid>) -> Result<Option<Delivery>, NtStatus> {
        let mut state = self.inner().write_state();
        let registration = match state.get_mut(handle) {
            Ok(registration) => registration,
            Err(missing) => {
                drop(state);
                return Err(self.gone(handle, missing));
            }
        };
        // Another thread may have set traits since the first check.
        if registration.traits.is_some() {
            return Err(NtStatus::Unsuccessful);
        }
        registration.traits = Some(Arc::from(blob));
        registration.group = group;
        registration.uses_descriptor_types = true;
        let registration = registration.clone();
        let joined = group.is_some_and(|group| state.sessions_of(Target::Group(group)) > 0);
        Ok(if joined { Delivery::for_merged(&state, handle, &registration, Guid::ZERO) } else { None })
    }

    fn look<T>(&self, handle: u64, look: impl FnOnce(&Registration) -> T) -> Result<T, NtStatus> {
        let seen = read(&self.inner().state).get(handle).map(look);
        seen.map_err(|missing| self.gone(handle, missing))
    }

    fn alter(&self, handle: u64, alter: impl FnOnce(&mut Registration)) -> Result<(), NtStatus> {
        let altered = self.inner().write_state().get_mut(handle).map(alter);
        altered.map_err(|missing| self.gone(handle, missing))
    }

    fn gone(&self, handle: u64, missing: Missing) -> NtStatus {
        self.missing(Routine::SetInformation, handle, missing)
    }
}
