//! Raises events of the system on behalf of a test: registered routines of the driver are called.

use std::sync::Mutex;

use etw_types::{Guid, NtStatus};
use nt_processor::layout::{
    CLIENT_ID, IMAGE_INFO, OB_POST_OPERATION_INFORMATION, OB_PRE_CREATE_HANDLE_INFORMATION,
    OB_PRE_OPERATION_INFORMATION, PS_CREATE_NOTIFY_INFO, THREAD,
};
use nt_processor::memory::{Fault, GuestPtr, Opaque, Plain};

use windows_constants::object::ProcessObject;

use super::keys::{self, Change, KeyOperation};
use super::notify::{About, Notifications, Text, call_routine};
use crate::pool::Pool;
use crate::{Kernel, kernel, lock};

/// An event of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A process is created. A driver may refuse it.
    ProcessCreated {
        /// The process ID.
        process: u64,
        /// The ID of the parent process.
        parent: u64,
        /// The image, for example `\??\C:\Windows\notepad.exe`.
        image: String,
        /// The command line.
        command_line: String,
    },
    /// A process exits.
    ProcessExited {
        /// The process ID.
        process: u64,
    },
    /// A thread is created or exits.
    Thread {
        /// The ID of its process.
        process: u64,
        /// The thread ID.
        thread: u64,
        /// Whether it is created.
        created: bool,
    },
    /// An image is loaded.
    ImageLoaded {
        /// The ID of the process that it is loaded into; 0 for a driver.
        process: u64,
        /// The name of the image.
        image: String,
        /// The size of the image in memory.
        size: u64,
    },
    /// A value of a key is about to be set. A driver may refuse it.
    RegistrySetValue {
        /// The name of the value.
        value: String,
        /// The type of the value, for example `REG_SZ`.
        kind: u32,
        /// The data of the value.
        data: Vec<u8>,
    },
    /// Another operation on the registry is about to be done. A driver may deny it. Drivers that allowed it are
    /// notified after it.
    Registry {
        /// The operation.
        operation: KeyOperation,
        /// The path of the key. For a key that is created or opened, the path of its parent.
        key: String,
        /// The name of the key that is created or opened, of the value, or the new name of a key.
        name: String,
    },
    /// A handle to a process or a thread is about to be created. A driver may remove access rights.
    HandleCreated {
        /// Whether it is a handle to a thread, not to a process.
        thread: bool,
        /// Whether it is created by duplication of another one.
        duplicated: bool,
        /// The requested access rights.
        access: u32,
    },
    /// A device of another driver, which the driver has opened by name, is removed. The driver may refuse the removal.
    TargetDevice {
        /// The name of the device, for example `\Device\Other`.
        device: String,
        /// What happens to the device.
        event: TargetEvent,
    },
}

/// What happens to a device that a driver has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetEvent {
    /// The device is about to be removed. A driver closes its handle, or refuses with a failure status.
    QueryRemove,
    /// The device is not removed. A driver may open it again.
    RemoveCanceled,
    /// The device was removed.
    RemoveComplete,
}

impl TargetEvent {
    /// Returns `GUID_TARGET_DEVICE_…` of wdmguid.h.
    pub const fn id(self) -> Guid {
        match self {
            Self::QueryRemove => Guid::from_u128(0xCB3A_4006_46F0_11D0_B08F_0060_9713_053F),
            Self::RemoveCanceled => Guid::from_u128(0xCB3A_4007_46F0_11D0_B08F_0060_9713_053F),
            Self::RemoveComplete => Guid::from_u128(0xCB3A_4008_46F0_11D0_B08F_0060_9713_053F),
        }
    }
}

/// The result of a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notified {
    /// The number of routines that were called.
    pub called: u32,
    /// The status that the routines left: of the creation of a process, of an operation on the registry, or of the
    /// removal of a device.
    pub status: NtStatus,
    /// The access rights that the routines left.
    pub access: u32,
}

impl Notified {
    /// Adds the status of a routine. The first failure is the result.
    pub fn add(&mut self, status: NtStatus) {
        self.called += 1;
        if !self.status.is_error() {
            self.status = status;
        }
    }
}

/// The key of a value if a test gives no key.
const DEFAULT_KEY: &str = r"\REGISTRY\MACHINE\SOFTWARE\NTHOST";

pub(super) fn new<T: Plain>(pool: &Mutex<Pool>, value: T) -> Result<GuestPtr<T>, Fault> {
    let place: GuestPtr<T> = lock(pool).new_object();
    place.write(value)?;
    Ok(place)
}

pub(super) fn free<T>(pool: &Mutex<Pool>, place: GuestPtr<T>) {
    lock(pool).free_object(place.address());
}

pub(super) fn text(pool: &Mutex<Pool>, text: &str) -> Result<Text, Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let buffer: GuestPtr<u16> = lock(pool).new_objects(units.len() as u64 + 1);
    buffer.write_all(&units)?;
    let string: Text = lock(pool).new_object();
    string.set(units.len() as u16 * 2, units.len() as u16 * 2 + 2, buffer)?;
    Ok(string)
}

pub(super) fn free_text(pool: &Mutex<Pool>, string: Text) -> Result<(), Fault> {
    free(pool, string.Buffer().read()?);
    free(pool, string);
    Ok(())
}

/// Calls the routines that are registered for the event.
pub fn raise(notification: &Notification) -> Result<Notified, Fault> {
    match notification {
        Notification::ProcessCreated { process, parent, image, command_line } => {
            process_created(*process, *parent, image, command_line)
        }
        Notification::ProcessExited { process } => process_exited(*process),
        Notification::Thread { process, thread, created } => Ok(each(
            &kernel().notifications,
            |about| *about == About::Thread,
            "thread notification",
            &[*process, *thread, (*created).into()],
        )),
        Notification::ImageLoaded { process, image, size } => image_loaded(*process, image, *size),
        Notification::RegistrySetValue { value, kind, data } => {
            keys::raise(DEFAULT_KEY, Change::SetValue { value, kind: *kind, data })
        }
        Notification::Registry { operation, key, name } => keys::raise(key, Change::Named(*operation, name)),
        Notification::HandleCreated { thread, duplicated, access } => handle_created(*thread, *duplicated, *access),
        // The routines for it belong to the I/O manager and the framework, so `Machine::notify` does not pass it here.
        Notification::TargetDevice { .. } => Ok(Notified::default()),
    }
}

/// Calls each routine of a kind with the same arguments.
fn each(
    notifications: &Mutex<Notifications>,
    wanted: impl Fn(&About) -> bool,
    what: &'static str,
    arguments: &[u64],
) -> Notified {
    let routines = lock(notifications).about(wanted);
    for known in &routines {
        call_routine(what, known.routine, arguments);
    }
    Notified { called: routines.len() as u32, ..Notified::default() }
}

/// The maximum length of the name that `PsGetProcessImageFileName` returns.
const MAX_NAME: usize = 15;

/// Creates the object of a process that runs the image at this path. The name of the image follows it.
pub(crate) fn new_process(id: u64, image: &str) -> Result<GuestPtr<THREAD>, Fault> {
    let Kernel { pool, threads, .. } = kernel();
    let memory: GuestPtr<u8> = lock(pool).new_objects((size_of::<THREAD>() + MAX_NAME + 1) as u64);
    let object = memory.cast::<THREAD>();
    object.Header().initialize(ProcessObject, 0)?;
    let name = image.rsplit('\\').next().unwrap_or(image).as_bytes();
    object.after::<u8>().write_all(name.get(..MAX_NAME).unwrap_or(name))?;
    lock(threads).processes.insert(id, (object, image.to_owned()));
    Ok(object)
}

fn process_created(process: u64, parent: u64, image: &str, command_line: &str) -> Result<Notified, Fault> {
    let Kernel { notifications, pool, .. } = kernel();
    let object = new_process(process, image)?;
    let image = text(pool, image)?;
    let command_line = text(pool, command_line)?;
    let info = new(
        pool,
        PS_CREATE_NOTIFY_INFO {
            Size: size_of::<PS_CREATE_NOTIFY_INFO>() as u64,
            // FileOpenNameAvailable.
            Flags: 1,
            Padding1: 0,
            ParentProcessId: parent,
            CreatingThreadId: CLIENT_ID { UniqueProcess: parent, UniqueThread: 0 },
            FileObject: GuestPtr::NULL,
            ImageFileName: image,
            CommandLine: command_line,
            CreationStatus: NtStatus::Success,
            Padding2: 0,
        },
    )?;
    let basic = each(notifications, |about| *about == About::Process, "process notification", &[parent, process, 1]);
    let arguments = [object.address(), process, info.address()];
    let full = each(notifications, |about| *about == About::ProcessEx, "process notification", &arguments);
    let status = info.CreationStatus().read()?;
    free(pool, info);
    free_text(pool, image)?;
    free_text(pool, command_line)?;
    Ok(Notified { called: basic.called + full.called, status, access: 0 })
}

fn process_exited(process: u64) -> Result<Notified, Fault> {
    let Kernel { notifications, scheduler, threads, .. } = kernel();
    let object = lock(threads).processes.remove(&process).map(|known| known.0);
    let basic = each(notifications, |about| *about == About::Process, "process notification", &[0, process, 0]);
    let arguments = [object.unwrap_or_default().address(), process, 0];
    let full = each(notifications, |about| *about == About::ProcessEx, "process notification", &arguments);
    if let Some(object) = object {
        let header = object.Header();
        scheduler.change_object(header, |_| header.SignalState().write(1))?;
    }
    Ok(Notified { called: basic.called + full.called, ..Notified::default() })
}

fn image_loaded(process: u64, image: &str, size: u64) -> Result<Notified, Fault> {
    let Kernel { notifications, pool, .. } = kernel();
    let name = text(pool, image)?;
    // ImageAddressingMode is 3, for 64 bits; SystemModeImage is the ninth bit.
    let info = new(
        pool,
        IMAGE_INFO {
            Properties: 3 | if process == 0 { 1 << 8 } else { 0 },
            Padding1: 0,
            ImageBase: GuestPtr::new(0x0000_7FF6_0000_0000),
            ImageSelector: 0,
            Padding2: 0,
            ImageSize: size,
            ImageSectionNumber: 0,
            Padding3: 0,
        },
    )?;
    let arguments = [name.address(), process, info.address()];
    let notified = each(notifications, |about| *about == About::Image, "image notification", &arguments);
    free(pool, info);
    free_text(pool, name)?;
    Ok(notified)
}

fn handle_created(thread: bool, duplicated: bool, access: u32) -> Result<Notified, Fault> {
    let Kernel { notifications, pool, table, .. } = kernel();
    let operation = if duplicated { 2 } else { 1 };
    let kind = table.variables().object_type(if thread { "PsThreadType" } else { "PsProcessType" })?;
    let object: GuestPtr<Opaque> = table.variables().process().cast();
    let wanted = |about: &About| matches!(about, About::Handles { of, operations, .. } if *of == kind && operations & operation != 0);
    let parameters = new(
        pool,
        OB_PRE_CREATE_HANDLE_INFORMATION {
            DesiredAccess: access,
            OriginalDesiredAccess: access,
            SourceProcess: object,
            TargetProcess: object,
        },
    )?;
    let routines = lock(notifications).about(wanted);
    let mut contexts = Vec::new();
    for known in &routines {
        let About::Handles { context, .. } = known.about else { continue };
        let info = new(
            pool,
            OB_PRE_OPERATION_INFORMATION {
                Operation: operation,
                Flags: 0,
                Object: object,
                ObjectType: kind,
                CallContext: 0,
                Parameters: parameters,
            },
        )?;
        if !known.routine.is_null() {
            call_routine("object callback", known.routine, &[context, info.address()]);
        }
        contexts.push(info.CallContext().read()?);
        free(pool, info);
    }
    // A routine can remove rights but cannot add any.
    let granted = parameters.DesiredAccess().read()? & access;
    parameters.cast::<u32>().write(granted)?;
    for (known, context) in routines.iter().zip(contexts) {
        let About::Handles { post, context: registration, .. } = known.about else { continue };
        let info = new(
            pool,
            OB_POST_OPERATION_INFORMATION {
                Operation: operation,
                Flags: 0,
                Object: object,
                ObjectType: kind,
                CallContext: context,
                ReturnStatus: NtStatus::Success,
                Padding: 0,
                Parameters: parameters.cast(),
            },
        )?;
        if !post.is_null() {
            call_routine("object callback", post, &[registration, info.address()]);
        }
        free(pool, info);
    }
    free(pool, parameters);
    Ok(Notified { called: routines.len() as u32, status: NtStatus::Success, access: granted })
}
