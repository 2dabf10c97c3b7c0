//! Encodes system notifications as bytes: the kind, then its members.

use nt_machine::{KeyOperation, Notification, TargetEvent};

use super::Wire;

/// The operations; the index of each is its encoded number.
const OPERATIONS: [KeyOperation; 6] = [
    KeyOperation::CreateKey,
    KeyOperation::OpenKey,
    KeyOperation::DeleteKey,
    KeyOperation::RenameKey,
    KeyOperation::DeleteValue,
    KeyOperation::QueryValue,
];

/// The events of a device; the index of each is its encoded number.
const EVENTS: [TargetEvent; 3] = [TargetEvent::QueryRemove, TargetEvent::RemoveCanceled, TargetEvent::RemoveComplete];

impl Wire for Notification {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::ProcessCreated { process, parent, image, command_line } => {
                out.push(1);
                process.put(out);
                parent.put(out);
                image.put(out);
                command_line.put(out);
            }
            Self::ProcessExited { process } => {
                out.push(2);
                process.put(out);
            }
            Self::Thread { process, thread, created } => {
                out.push(3);
                process.put(out);
                thread.put(out);
                created.put(out);
            }
            Self::ImageLoaded { process, image, size } => {
                out.push(4);
                process.put(out);
                image.put(out);
                size.put(out);
            }
            Self::RegistrySetValue { value, kind, data } => {
                out.push(5);
                value.put(out);
                kind.put(out);
                data.put(out);
            }
            Self::Registry { operation, key, name } => {
                out.push(7);
                (OPERATIONS.iter().position(|known| known == operation).unwrap_or_default() as u8).put(out);
                key.put(out);
                name.put(out);
            }
            Self::HandleCreated { thread, duplicated, access } => {
                out.push(6);
                thread.put(out);
                duplicated.put(out);
                access.put(out);
            }
            Self::TargetDevice { device, event } => {
                out.push(8);
                device.put(out);
                (EVENTS.iter().position(|known| known == event).unwrap_or_default() as u8).put(out);
            }
        }
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::get(from)? {
            1 => Self::ProcessCreated {
                process: Wire::get(from)?,
                parent: Wire::get(from)?,
                image: Wire::get(from)?,
                command_line: Wire::get(from)?,
            },
            2 => Self::ProcessExited { process: Wire::get(from)? },
            3 => Self::Thread { process: Wire::get(from)?, thread: Wire::get(from)?, created: Wire::get(from)? },
            4 => Self::ImageLoaded { process: Wire::get(from)?, image: Wire::get(from)?, size: Wire::get(from)? },
            5 => Self::RegistrySetValue { value: Wire::get(from)?, kind: Wire::get(from)?, data: Wire::get(from)? },
            6 => {
                Self::HandleCreated { thread: Wire::get(from)?, duplicated: Wire::get(from)?, access: Wire::get(from)? }
            }
            7 => Self::Registry {
                operation: OPERATIONS.get(usize::from(u8::get(from)?)).copied()?,
                key: Wire::get(from)?,
                name: Wire::get(from)?,
            },
            8 => Self::TargetDevice {
                device: Wire::get(from)?,
                event: EVENTS.get(usize::from(u8::get(from)?)).copied()?,
            },
            _ => return None,
        })
    }
}
