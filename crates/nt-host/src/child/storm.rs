//! Everything at once: sessions that come and go, requests from several threads, and a driver that is loaded and
//! unloaded again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread as std_thread;

use etw_engine::Enable;
use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::plug;
use crate::kernel::{kernel, unload};
use crate::loader::Layout;
use crate::wire::{Reply, StormPlan};

/// Runs a storm on the calling thread, which loads and unloads, and on others.
pub(super) fn run(layout: &Layout, plan: &StormPlan) -> Reply {
    for round in 0..plan.rounds {
        match unload::load(layout) {
            Ok(status) if status.is_success() => {}
            Ok(status) => return Reply::Failed { reason: format!("round {round}: DriverEntry answered {status}") },
            Err(error) => return Reply::Failed { reason: error.to_string() },
        }
        let device = plug::add_device();
        if let Ok(device) = device {
            blow(plan, device);
            let _ = plug::remove_device(device, false);
        } else {
            blow(plan, 0);
        }
        unload::unload();
    }
    Reply::Status { status: NtStatus::Success }
}

fn blow(plan: &StormPlan, device: u64) {
    let over = AtomicBool::new(false);
    let over = &over;
    std_thread::scope(|scope| {
        let control = scope.spawn(move || as_driver_thread(|| sessions(plan, over)));
        let clients: Vec<_> =
            (0..plan.threads).map(|_| scope.spawn(move || as_driver_thread(|| requests(plan, device)))).collect();
        // Not blocked in the scheduler's sense: this thread waits outside of it.
        kernel().scheduler.end();
        for client in clients {
            let _ = client.join();
        }
        over.store(true, Ordering::SeqCst);
        let _ = control.join();
        kernel().scheduler.begin();
    });
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
        if device != 0 {
            plug::ioctl(device, plan.code, &plan.input, plan.output);
        }
    }
}

/// At least once, and then until the requests are done.
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
