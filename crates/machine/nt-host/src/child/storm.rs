//! Storms: a session enables and disables a provider, several threads send requests, and the driver is loaded and
//! unloaded many times, all at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread as std_thread;
use std::{fmt, io};

use etw_engine::Enable;
use etw_types::NtStatus;
use nt_machine::{DeviceId, Guests, IoRequest, Loaded, Machine, RequestKind};

use crate::Error;
use crate::wire::{Reply, StormPlan};

/// Why a storm ended early.
#[derive(Debug)]
enum Ended {
    /// `DriverEntry` returned this status.
    Entry(NtStatus),
    /// The image was refused for this reason.
    Refused(String),
    /// The image could not be loaded.
    NotLoaded(io::Error),
    /// The driver did not unload.
    NotUnloaded,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(status) => write!(f, "DriverEntry returned {status}"),
            Self::Refused(reason) => f.write_str(reason),
            Self::NotLoaded(error) => error.fmt(f),
            Self::NotUnloaded => Error::NotUnloaded.fmt(f),
        }
    }
}

/// Runs a storm. The calling thread loads and unloads the driver; other threads send requests. The session enables and
/// disables the provider all the time, also while the driver is loaded and unloaded.
pub(super) fn run(machine: Machine, guests: &Guests, plan: &StormPlan) -> Reply {
    let over = AtomicBool::new(false);
    let cycles = AtomicU64::new(0);
    std_thread::scope(|scope| {
        let control = scope.spawn(|| machine.with_thread(|| sessions(machine, plan, &over, &cycles)));
        // The second end of a cycle from now on is that of a whole one.
        let wait = || {
            let now = cycles.load(Ordering::SeqCst);
            while cycles.load(Ordering::SeqCst) < now + 2 && !control.is_finished() {
                std_thread::yield_now();
            }
        };
        let round = |number| round(machine, guests, plan, &wait).err().map(|reason| (number, reason));
        let failed = (0..plan.rounds).find_map(round);
        over.store(true, Ordering::SeqCst);
        machine.wait_outside(|| drop(control.join()));
        match failed {
            Some((round, reason)) => Reply::Failed { reason: format!("round {round}: {reason}") },
            None => Reply::Status { status: NtStatus::Success },
        }
    })
}

/// Loads the driver, sends the requests and unloads it. `wait` returns when the session has come and gone once: on a busy machine it
/// might otherwise not get the processor while a device is there.
fn round(machine: Machine, guests: &Guests, plan: &StormPlan, wait: &dyn Fn()) -> Result<(), Ended> {
    match machine.load(guests) {
        Ok(Loaded::Entered(status)) if status.is_success() => {}
        Ok(Loaded::Entered(status)) => return Err(Ended::Entry(status)),
        Ok(Loaded::Refused(_, reason)) => return Err(Ended::Refused(reason)),
        Err(error) => return Err(Ended::NotLoaded(error)),
    }
    // If there is no device, the storm has no requests. The machine records this as a gap.
    if let Ok(device) = machine.add_device() {
        let plan = plan.clone();
        machine.with_threads(plan.threads as usize, move |_, can_call| {
            if can_call {
                requests(machine, &plan, device);
            }
        });
        machine.wait_outside(wait);
        let _ = machine.remove_device(device, false);
    }
    if machine.unload().is_success() { Ok(()) } else { Err(Ended::NotUnloaded) }
}

fn requests(machine: Machine, plan: &StormPlan, device: DeviceId) {
    let kind = RequestKind::DEVICE_CONTROL;
    let request =
        IoRequest { kind, code: plan.code, input: plan.input.clone(), output: plan.output, ..IoRequest::default() };
    for _ in 0..plan.requests {
        let _ = machine.request(device, &request);
    }
}

/// Enables and disables the provider at least once, and then until the storm is over. Counts how often it has done so.
fn sessions(machine: Machine, plan: &StormPlan, over: &AtomicBool, cycles: &AtomicU64) {
    let session = machine.engine().start_session("storm");
    loop {
        session.enable(plan.provider, Enable::default());
        session.capture_state(plan.provider);
        session.disable(plan.provider);
        cycles.fetch_add(1, Ordering::SeqCst);
        drop(session.take_events());
        if over.load(Ordering::SeqCst) {
            break;
        }
    }
    session.stop();
}
