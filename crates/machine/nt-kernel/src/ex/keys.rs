//! Registry callbacks: they run before and after each operation on the registry. A driver does the operation, or a test
//! describes one.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{
    REG_CREATE_KEY_INFORMATION, REG_DELETE_KEY_INFORMATION, REG_NAME_KEY_INFORMATION, REG_POST_OPERATION_INFORMATION,
    REG_QUERY_VALUE_KEY_INFORMATION, REG_SET_VALUE_KEY_INFORMATION, THREAD,
};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{APC, Failure, Ignored, Out, Outcome, done, fail, routines, status_of};

use super::notify::{About, Registered, Text, call_routine};
use super::raise::{Notified, free, free_text, new, text};
use crate::ex::Notifications;
use crate::pool::Pool;
use crate::{Kernel, kernel, lock};

/// What is done to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOperation {
    /// A key is created, or opened if it is there.
    CreateKey,
    /// A key is opened.
    OpenKey,
    /// A key is deleted.
    DeleteKey,
    /// A key gets another name.
    RenameKey,
    /// A value is deleted.
    DeleteValue,
    /// A value is read.
    QueryValue,
}

/// An operation with what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// The name of the key, of the new one, or of the value.
    Named(KeyOperation, &'a str),
    SetValue {
        value: &'a str,
        kind: u32,
        data: &'a [u8],
    },
}

impl Change<'_> {
    /// `REG_NOTIFY_CLASS` before and after the operation.
    const fn classes(self) -> (u64, u64) {
        match self {
            Self::Named(KeyOperation::DeleteKey, _) => (0, 15),
            Self::SetValue { .. } => (1, 16),
            Self::Named(KeyOperation::DeleteValue, _) => (2, 17),
            Self::Named(KeyOperation::RenameKey, _) => (4, 19),
            Self::Named(KeyOperation::QueryValue, _) => (8, 23),
            Self::Named(KeyOperation::CreateKey, _) => (26, 27),
            Self::Named(KeyOperation::OpenKey, _) => (28, 29),
        }
    }
}

/// Keys that callbacks are notified about, by their objects.
pub(crate) type Keys = SortedMap<u64, String>;

routines! { pub(super) ROUTINES;
    #[irql(APC)]
    fn CmCallbackGetKeyObjectID(
        _cookie: Ignored<GuestPtr<i64>>,
        object: GuestPtr<Opaque>,
        id: Out<u64>,
        name: Option<GuestPtr<Text>>,
    ) -> Outcome {
        key_name(object, id, name)
    }

    /// The driver releases the name.
    #[irql(APC)]
    fn CmCallbackGetKeyObjectIDEx(
        _cookie: Ignored<GuestPtr<i64>>,
        object: GuestPtr<Opaque>,
        id: Out<u64>,
        name: Option<GuestPtr<Text>>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        key_name(object, id, name)
    }

    #[irql(APC)]
    fn CmCallbackReleaseKeyObjectIDEx(name: Text) -> Result<(), Fault> {
        free_text(&kernel().pool, name)
    }
}

/// Stores the number and the name of a key, each if it is wanted.
fn key_name(object: GuestPtr<Opaque>, id: Out<u64>, name: Option<GuestPtr<Text>>) -> Outcome {
    let Kernel { notifications, pool, .. } = kernel();
    let Some(path) = lock(notifications).keys.get(&object.address()).cloned() else {
        return fail(NtStatus::InvalidParameter);
    };
    id.set_if_wanted(object.address())?;
    if let Some(place) = name {
        place.write(text(pool, &path)?)?;
    }
    done(())
}

/// What a callback is notified before an operation, while the operation lasts.
struct Before {
    registration: Registered,
    info: GuestPtr<Opaque>,
    /// Where the callback keeps what it wants to see again afterwards.
    context: GuestPtr<u64>,
}

/// Asks the drivers, does it unless one refuses, and tells those that were asked. `key` is the path of the key.
pub(crate) fn around(key: &str, change: Change<'_>, run: impl FnOnce() -> Outcome) -> Outcome {
    let Kernel { notifications, pool, .. } = kernel();
    let routines = lock(notifications).about(|about| matches!(about, About::Registry { .. }));
    if routines.is_empty() {
        return run();
    }
    let mut run = Some(run);
    with_callbacks(notifications, pool, &routines, key, change, &mut || run.take().map_or(Ok(()), |run| run()))
        .map(drop)
}

/// Calls the driver's routines for an operation that a test describes.
pub(super) fn raise(key: &str, change: Change<'_>) -> Result<Notified, Fault> {
    let Kernel { notifications, pool, .. } = kernel();
    let routines = lock(notifications).about(|about| matches!(about, About::Registry { .. }));
    match with_callbacks(notifications, pool, &routines, key, change, &mut || Ok(())) {
        Ok(called) => Ok(Notified { called, ..Notified::default() }),
        Err(Failure::Status(status)) => Ok(Notified { called: routines.len() as u32, status, ..Notified::default() }),
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

/// Returns how many routines were asked.
fn with_callbacks(
    notifications: &Mutex<Notifications>,
    pool: &Mutex<Pool>,
    routines: &[Registered],
    key: &str,
    change: Change<'_>,
    run: &mut dyn FnMut() -> Outcome,
) -> Outcome<u32> {
    let object: GuestPtr<THREAD> = lock(pool).new_object();
    lock(notifications).keys.insert(object.address(), key.to_owned());
    let name = match change {
        Change::Named(_, name) | Change::SetValue { value: name, .. } => text(pool, name)?,
    };
    let (pre, post) = change.classes();
    let mut requested = Vec::new();
    let mut refused = None;
    for known in routines {
        let About::Registry { context, .. } = known.about else { continue };
        let (info, call_context) = describe(pool, change, object.cast(), name)?;
        let status = NtStatus::from_int(call_routine(
            "registry callback",
            known.routine,
            &[context, pre, info.address()],
        ) as u32);
        if status.is_success() {
            requested.push(Before { registration: *known, info, context: call_context });
            continue;
        }
        // A routine that denies the operation does not get the notification after it.
        free(pool, info);
        // With this status, the driver says that it did the operation itself.
        refused = Some(if status == NtStatus::CallbackBypass { NtStatus::Success } else { status });
        break;
    }
    let mut status = match refused {
        Some(status) => status,
        None => status_of(run())?,
    };
    let count = requested.len() as u32 + u32::from(refused.is_some());
    for Before { registration, info, context } in requested.into_iter().rev() {
        let About::Registry { context: own, .. } = registration.about else { continue };
        let after = new(
            pool,
            REG_POST_OPERATION_INFORMATION {
                Object: object.cast(),
                Status: status,
                Padding1: 0,
                PreInformation: info,
                ReturnStatus: status,
                Padding2: 0,
                CallContext: context.read()?,
                ObjectContext: 0,
                Reserved: 0,
            },
        )?;
        let result = call_routine("registry callback", registration.routine, &[own, post, after.address()]) as u32;
        if NtStatus::from_int(result) == NtStatus::CallbackBypass {
            status = after.ReturnStatus().read()?;
        }
        free(pool, after);
        free(pool, info);
    }
    lock(notifications).keys.remove(&object.address());
    free(pool, object);
    free_text(pool, name)?;
    if status.is_success() { Ok(count) } else { fail(status) }
}

/// What a callback is notified before an operation, and the member that is its own.
fn describe(
    pool: &Mutex<Pool>,
    change: Change<'_>,
    object: GuestPtr<Opaque>,
    name: Text,
) -> Result<(GuestPtr<Opaque>, GuestPtr<u64>), Fault> {
    Ok(match change {
        Change::Named(KeyOperation::DeleteKey, _) => {
            let info = new(
                pool,
                REG_DELETE_KEY_INFORMATION { Object: object, CallContext: 0, ObjectContext: 0, Reserved: 0 },
            )?;
            (info.cast(), info.CallContext())
        }
        Change::Named(KeyOperation::DeleteValue | KeyOperation::RenameKey, _) => {
            let info = new(
                pool,
                REG_NAME_KEY_INFORMATION { Object: object, Name: name, CallContext: 0, ObjectContext: 0, Reserved: 0 },
            )?;
            (info.cast(), info.CallContext())
        }
        Change::Named(KeyOperation::QueryValue, _) => {
            let info: GuestPtr<REG_QUERY_VALUE_KEY_INFORMATION> = lock(pool).new_object();
            info.Object().write(object)?;
            info.ValueName().write(name)?;
            // KeyValuePartialInformation.
            info.KeyValueInformationClass().write(2)?;
            (info.cast(), info.CallContext())
        }
        Change::Named(KeyOperation::CreateKey | KeyOperation::OpenKey, _) => {
            let info: GuestPtr<REG_CREATE_KEY_INFORMATION> = lock(pool).new_object();
            info.CompleteName().write(name)?;
            info.RootObject().write(object)?;
            // KEY_ALL_ACCESS.
            info.DesiredAccess().write(0xF_003F)?;
            (info.cast(), info.CallContext())
        }
        Change::SetValue { kind, data, .. } => {
            // The data follows the structure, and is freed with it.
            let size = size_of::<REG_SET_VALUE_KEY_INFORMATION>() + data.len().max(1);
            let info = GuestPtr::<REG_SET_VALUE_KEY_INFORMATION>::new(lock(pool).object(size as u64));
            info.Object().write(object)?;
            info.ValueName().write(name)?;
            info.Type().write(kind)?;
            info.Data().write(info.after())?;
            info.after::<u8>().write_all(data)?;
            info.DataSize().write(data.len() as u32)?;
            (info.cast(), info.CallContext())
        }
    })
}
