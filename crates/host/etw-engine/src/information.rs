//! `EtwSetInformation`: traits, descriptor types, binary tracking.
//!
//! The order of the checks is the kernel's, so that a wrong call gets the same status here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use etw_types::{EventInfoClass, Guid, NtStatus, traits};

use crate::finding::Attempt;
use crate::log::Subject;
use crate::notify::Delivery;
use crate::state::{Missing, Registration};
use crate::sync::read;
use crate::{Engine, Routine, Target};

/// The shortest traits blob that the kernel looks at: a size and an empty name.
const MIN_TRAITS: usize = 3;
/// The longest.
const MAX_TRAITS: usize = Buffer::MAX as usize;

/// The buffer argument of `EtwSetInformation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer<'a> {
    /// A NULL pointer, with the length that came with it.
    Null(u32),
    /// Readable bytes.
    Bytes(&'a [u8]),
    /// Bytes of a length that no class takes (more than 0x7FFF): not looked at.
    TooLong(u32),
}

impl Buffer<'_> {
    /// The longest buffer that a class takes.
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
    /// `EtwSetInformation`: sets something about a registration.
    ///
    /// Answers `InvalidHandle` for 0 and, with a finding, for a handle that is not registered. By class:
    /// - `SetTraits`: `InvalidParameter` for no buffer or a length outside 3..=0x7FFF, `Unsuccessful` when traits are
    ///   set already, `FileCorruptError` for a malformed blob. Success turns descriptor types on and joins the group
    ///   that the traits name; what sessions enabled for the group is reported to the callback before this returns.
    /// - `UseDescriptorType`: `InvalidParameter` unless it is one byte, 0 or 1.
    /// - `BinaryTrackInfo`: `InvalidParameter` unless there is no buffer and no length.
    /// - any other: `InvalidDeviceRequest`.
    pub fn set_information<'a>(&self, handle: u64, class: EventInfoClass, buffer: impl Into<Buffer<'a>>) -> NtStatus {
        let buffer = buffer.into();
        self.run(Routine::SetInformation, handle, Subject::Class(class), || {
            self.set_now(handle, class, buffer).err().unwrap_or(NtStatus::Success)
        })
    }

    fn set_now(&self, handle: u64, class: EventInfoClass, buffer: Buffer<'_>) -> Result<(), NtStatus> {
        // A look at the registration comes first: a wrong handle wins over every other mistake.
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
                        self.tell_binaries();
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
        // Joining a group may call back, which needs the provider's gate. Without a group nothing is reported.
        let _pass = match group {
            Some(_) => Some(self.enter_gate(provider, Attempt::JoinGroup(handle))?),
            None => None,
        };
        if let Some(delivery) = self.store_traits(handle, blob, group)? {
            delivery.deliver(None);
        }
        Ok(())
    }

    /// Stores checked traits, once; the callback that is due where that enabled the registration through its group.
    fn store_traits(&self, handle: u64, blob: &[u8], group: Option<Guid>) -> Result<Option<Delivery>, NtStatus> {
        let mut state = self.inner().write_state();
        let registration = match state.get_mut(handle) {
            Ok(registration) => registration,
            Err(missing) => {
                drop(state);
                return Err(self.gone(handle, missing));
            }
        };
        // Another thread may have been faster since the first look.
        if registration.traits.is_some() {
            return Err(NtStatus::Unsuccessful);
        }
        registration.traits = Some(Arc::from(blob));
        registration.group = group;
        registration.uses_descriptor_types = true;
        let registration = registration.clone();
        let joined = group.is_some_and(|group| state.sessions_of(Target::Group(group)) > 0);
        Ok(if joined { Delivery::of_merged(&state, handle, &registration, Guid::ZERO) } else { None })
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
