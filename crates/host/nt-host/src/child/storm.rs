//! Everything at once: sessions that come and go, requests from several threads, and a driver that is loaded and
//! unloaded again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread as std_thread;

use etw_engine::Enable;
use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::plug;
use crate::kernel::{kernel, lock, unload};
use crate::loader::Layout;
use crate::wire::{Reply, StormPlan};

/// Runs a storm on the calling thread, which loads and unloads, and on others. The session comes and goes all the time,
/// while the driver is loaded and unloaded too.
pub(super) fn run(layout: &Layout, plan: &StormPlan) -> Reply {
    let over = AtomicBool::new(false);
    std_thread::scope(|scope| {
        let control = scope.spawn(|| as_driver_thread(|| sessions(plan, &over)));
        let failed = (0..plan.rounds).find_map(|round| self::round(layout, plan).err().map(|reason| (round, reason)));
        over.store(true, Ordering::SeqCst);
        waiting_outside(|| drop(control.join()));
        match failed {
            Some((round, reason)) => Reply::Failed { reason: format!("round {round}: {reason}") },
            None => Reply::Status { status: NtStatus::Success },
        }
    })
}

fn round(layout: &Layout, plan: &StormPlan) -> Result<(), String> {
    match unload::load(layout) {
        Ok(status) if status.is_success() => {}
        Ok(status) => {
            let reason = lock(&kernel().refusal).take();
            return Err(reason.unwrap_or_else(|| format!("DriverEntry returned {status}")));
        }
        Err(error) => return Err(error.to_string()),
    }
    if let Ok(device) = plug::add_device() {
        std_thread::scope(|scope| {
            let clients: Vec<_> =
                (0..plan.threads).map(|_| scope.spawn(move || as_driver_thread(|| requests(plan, device)))).collect();
            waiting_outside(|| clients.into_iter().for_each(|client| drop(client.join())));
        });
        let _ = plug::remove_device(device, false);
    }
    unload::unload();
    Ok(())
}

/// Waits for other threads in a way that the scheduler does not see: this thread does not count as running meanwhile.
fn waiting_outside(wait: impl FnOnce()) {
    kernel().scheduler.end();
    wait();
    kernel().scheduler.begin();
}

fn as_driver_thread(body: impl FnOnce()) {
    if let Ok(_attached) = thread::attach() {
        kernel().scheduler.begin();
        body();
        kernel().scheduler.end();
    }
}

fn requests(plan: &StormPlan, device: u64) {
    for _ in 0..plan.requests {
        plug::ioctl(device, plan.code, &plan.input, plan.output);
    }
}

/// At least once, and then until the storm is over.
fn sessions(plan: &StormPlan, over: &AtomicBool) {
    let session = kernel().engine.start_session("storm");
    loop {
        session.enable(plan.provider, Enable::default());
        session.capture_state(plan.provider);
        session.disable(plan.provider);
        drop(session.take_events());
        if over.load(Ordering::SeqCst) {
            break;
        }
    }
    session.stop();
}
