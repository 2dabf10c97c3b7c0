//! Notification routines, which drivers register for events of processes, threads, images, the registry and handles.
//!
//! None of these events happens on its own here: a test raises them, see [`Notification`].

use etw_types::NtStatus;
use nt_processor::image::Leaving;
use nt_processor::layout::{OB_CALLBACK_REGISTRATION, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{APC, Call, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::gap;
use windows_constants::image::LDRP_IMAGE_INTEGRITY_FORCED;
use windows_constants::object::OB_FLT_REGISTRATION_VERSION;

use super::handle::KernelHandle;
use super::keys::Keys;
use super::object;
use crate::{call_back, kernel, lock};

/// The maximum number of routines of a kind.
const MOST: usize = 64;

/// What a routine is registered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// `PCREATE_PROCESS_NOTIFY_ROUTINE`.
    Process,
    /// `PCREATE_PROCESS_NOTIFY_ROUTINE_EX`.
    ProcessEx,
    Thread,
    Image,
    /// Registry operations, with the cookie and the context of the registration.
    Registry {
        cookie: u64,
        context: u64,
    },
    /// Handles to objects of a type. `routine` of [`Registered`] is called before the operation, `post` after it.
    Handles {
        handle: KernelHandle,
        of: GuestPtr<Opaque>,
        operations: u32,
        post: GuestPtr<Code>,
        context: u64,
    },
}

/// A registered routine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registered {
    pub(super) about: About,
    pub(super) routine: GuestPtr<Code>,
    pub(super) from: u64,
}

/// The registered routines of a machine.
#[derive(Default)]
pub struct Notifications {
    registered: Vec<Registered>,
    cookies: u64,
    /// The altitudes of routines that are or were registered, by their cookies.
    altitudes: SortedMap<u64, String>,
    pub(super) keys: Keys,
}

impl Notifications {
    /// Returns whether a routine for registry operations is registered at an altitude.
    fn has_altitude(&self, altitude: &str) -> bool {
        self.registered.iter().any(|registered| match registered.about {
            About::Registry { cookie, .. } => self.altitudes.get(&cookie).is_some_and(|known| known == altitude),
            _ => false,
        })
    }
}

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NtStatus::InvalidParameter)]
    #[undoes(remove)]
    fn PsSetCreateProcessNotifyRoutine(&call, routine: GuestPtr<Code>, remove: bool) -> NtStatus {
        set(call, About::Process, routine, remove)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    #[undoes(remove)]
    fn PsSetCreateProcessNotifyRoutineEx(&call, routine: GuestPtr<Code>, remove: bool) -> Outcome<NtStatus> {
        set_trusted(call, routine, remove)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    #[undoes(remove)]
    fn PsSetCreateProcessNotifyRoutineEx2(
        &call,
        _kind: Ignored<i32>,
        routine: GuestPtr<Code>,
        remove: bool,
    ) -> Outcome<NtStatus> {
        set_trusted(call, routine, remove)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PsSetCreateThreadNotifyRoutine(&call, routine: GuestPtr<Code>) -> NtStatus {
        set(call, About::Thread, routine, false)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PsSetCreateThreadNotifyRoutineEx(&call, _kind: Ignored<i32>, routine: GuestPtr<Code>) -> NtStatus {
        set(call, About::Thread, routine, false)
    }

    #[irql(APC)]
    fn PsRemoveCreateThreadNotifyRoutine(&call, routine: GuestPtr<Code>) -> NtStatus {
        set(call, About::Thread, routine, true)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PsSetLoadImageNotifyRoutine(&call, routine: GuestPtr<Code>) -> NtStatus {
        set(call, About::Image, routine, false)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PsSetLoadImageNotifyRoutineEx(&call, routine: GuestPtr<Code>, _flags: Ignored<u64>) -> NtStatus {
        set(call, About::Image, routine, false)
    }

    #[irql(APC)]
    fn PsRemoveLoadImageNotifyRoutine(&call, routine: GuestPtr<Code>) -> NtStatus {
        set(call, About::Image, routine, true)
    }

    #[irql(APC), fails(NO_RESOURCES)]
    fn CmRegisterCallback(&call, routine: GuestPtr<Code>, context: GuestPtr<Opaque>, cookie: Out<u64>) -> Outcome {
        registry(call, routine, context, cookie, None)
    }

    #[irql(APC), fails(NO_RESOURCES)]
    fn CmRegisterCallbackEx(
        &call,
        routine: GuestPtr<Code>,
        altitude: GuestPtr<UNICODE_STRING>,
        _driver: Ignored<GuestPtr<Opaque>>,
        context: GuestPtr<Opaque>,
        cookie: Out<u64>,
        _reserved: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        registry(call, routine, context, cookie, Some(altitude.text()?))
    }

    /// Version 1.1, as on every release.
    #[irql(APC), fixed]
    fn CmGetCallbackVersion(major: Out<u32>, minor: Out<u32>) -> Result<(), Fault> {
        major.set_if_wanted(1)?;
        minor.set_if_wanted(1)
    }

    #[irql(APC)]
    fn CmUnRegisterCallback(wanted: i64) -> NtStatus {
        let is_it = |about| matches!(about, About::Registry { cookie, .. } if cookie == wanted.cast_unsigned());
        if remove(is_it) { NtStatus::Success } else { NtStatus::InvalidParameter }
    }

    #[irql(APC), fails(NtStatus::AccessDenied)]
    fn ObRegisterCallbacks(
        &call,
        registration: GuestPtr<OB_CALLBACK_REGISTRATION>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        handles(call, registration, place)
    }

    #[irql(APC)]
    fn ObUnRegisterCallbacks(wanted: KernelHandle) {
        remove(|about| matches!(about, About::Handles { handle, .. } if handle == wanted));
        object::close(wanted);
    }

    #[irql(APC)]
    fn ObGetFilterVersion() -> u16 {
        OB_FLT_REGISTRATION_VERSION
    }
}

/// Registers a routine, or removes it if `take_back` is set.
fn set(call: &Call, about: About, routine: GuestPtr<Code>, take_back: bool) -> NtStatus {
    let mut notifications = lock(&kernel().notifications);
    let registered = &mut notifications.registered;
    let known = registered.iter().position(|known| known.about == about && known.routine == routine);
    match (known, take_back) {
        (Some(position), true) => {
            registered.remove(position);
            NtStatus::Success
        }
        (None, true) if matches!(about, About::Process | About::ProcessEx) => NtStatus::InvalidParameter,
        (None, true) => NtStatus::ProcedureNotFound,
        (Some(_), false) if matches!(about, About::Process | About::ProcessEx) => NtStatus::InvalidParameter,
        _ if registered.iter().filter(|known| known.about == about).count() >= MOST => NtStatus::InvalidParameter,
        _ => {
            registered.push(Registered { about, routine, from: call.from });
            NtStatus::Success
        }
    }
}

/// Returns whether the image that contains an address has the flag that `PsSetCreateProcessNotifyRoutineEx` requires. It
/// is in the list of modules, where public drivers set it themselves.
fn is_trusted(address: u64) -> Result<bool, Fault> {
    let drivers = lock(&kernel().io).drivers.clone();
    for driver in drivers {
        let module = driver.DriverSection().read()?;
        let offset = address.wrapping_sub(module.DllBase().read()?.address());
        if offset < module.SizeOfImage().read()?.into() {
            return Ok(module.Flags().read()? & LDRP_IMAGE_INTEGRITY_FORCED != 0);
        }
    }
    Ok(false)
}

/// Registers or removes a routine that Windows accepts only from images that are linked with `/INTEGRITYCHECK`.
fn set_trusted(call: &Call, routine: GuestPtr<Code>, take_back: bool) -> Outcome<NtStatus> {
    if !take_back && !is_trusted(routine.address())? {
        let what = "the image lacks IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY: link it with /INTEGRITYCHECK";
        gap::note(format!("{} returned STATUS_ACCESS_DENIED, because {what}", call.name()));
        return fail(NtStatus::AccessDenied);
    }
    done(set(call, About::ProcessEx, routine, take_back))
}

fn remove(is_it: impl Fn(About) -> bool) -> bool {
    let registered = &mut lock(&kernel().notifications).registered;
    let before = registered.len();
    registered.retain(|known| !is_it(known.about));
    registered.len() != before
}

/// Registers a routine for registry operations. An altitude can be used only once.
fn registry(
    call: &Call,
    routine: GuestPtr<Code>,
    context: GuestPtr<Opaque>,
    place: Out<u64>,
    altitude: Option<String>,
) -> Outcome {
    let cookie = {
        let mut notifications = lock(&kernel().notifications);
        if altitude.as_ref().is_some_and(|altitude| notifications.has_altitude(altitude)) {
            return fail(NtStatus::FltInstanceAltitudeCollision);
        }
        notifications.cookies += 1;
        let cookie = notifications.cookies;
        notifications.altitudes.extend(altitude.map(|altitude| (cookie, altitude)));
        let about = About::Registry { cookie, context: context.address() };
        notifications.registered.push(Registered { about, routine, from: call.from });
        cookie
    };
    place.set(cookie)?;
    Ok(())
}

fn handles(call: &Call, asking: GuestPtr<OB_CALLBACK_REGISTRATION>, place: Out<KernelHandle>) -> Outcome {
    let registration = asking.read()?;
    if registration.Version != OB_FLT_REGISTRATION_VERSION || registration.OperationRegistrationCount == 0 {
        return fail(NtStatus::InvalidParameter);
    }
    let mut requested = Vec::new();
    for index in 0..u64::from(registration.OperationRegistrationCount) {
        let operation = registration.OperationRegistration.at(index).read()?;
        // 1 is the creation of handles, 2 is duplication.
        let nothing = operation.PreOperation.is_null() && operation.PostOperation.is_null();
        if operation.Operations.trailing_zeros() >= 2 || nothing {
            return fail(NtStatus::InvalidParameter);
        }
        requested.push((operation, operation.ObjectType.read()?));
    }
    let handle = object::open("object callback", asking.address(), call.from)?;
    let mut notifications = lock(&kernel().notifications);
    for (operation, of) in requested {
        let operations = operation.Operations;
        let post = operation.PostOperation;
        let context = registration.RegistrationContext;
        let about = About::Handles { handle, of, operations, post, context };
        notifications.registered.push(Registered { about, routine: operation.PreOperation, from: call.from });
    }
    drop(notifications);
    place.set(handle)?;
    done(())
}

impl Notifications {
    /// Returns the routines of a kind, in order of registration.
    pub(super) fn about(&self, wanted: impl Fn(&About) -> bool) -> Vec<Registered> {
        self.registered.iter().filter(|known| wanted(&known.about)).copied().collect()
    }

    /// Reports the routines that an image did not remove, and forgets them.
    pub fn report_leaks(&mut self, leaving: Leaving) {
        use nt_verifier::verify::{self, Rule};
        for known in self.registered.extract_if(.., |known| leaving.owns(known.from)) {
            let what = match known.about {
                About::Process | About::ProcessEx => "process notification routine",
                About::Thread => "thread notification routine",
                About::Image => "image notification routine",
                About::Registry { .. } => "registry callback",
                // Its handle is reported as a leak.
                About::Handles { .. } => continue,
            };
            verify::find_at(Rule::ObjectLeak, None, known.from, format_args!("does not remove a {what}"));
        }
    }
}

/// Calls a routine at `PASSIVE_LEVEL`.
pub(super) fn call_routine(what: &'static str, routine: GuestPtr<Code>, arguments: &[u64]) -> u64 {
    call_back(what, PASSIVE, routine, arguments)
}

/// A string of the host that lives as long as a notification.
pub(super) type Text = GuestPtr<UNICODE_STRING>;
