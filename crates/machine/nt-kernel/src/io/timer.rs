//! Timers that the system allocates: `EX_TIMER`, and the one-second timer of a device.

use std::sync::Arc;

use nt_processor::layout::{DEVICE_OBJECT, EX_TIMER};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, routines};

use crate::pool;
use crate::sync::scheduler::Scheduler;
use crate::sync::scheduler::Timer;
use crate::{Kernel, call_back, kernel, lock};

/// The period of a device's timer: one second in units of 100 ns.
const SECOND: u64 = 10_000_000;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails_with_zero]
    fn ExAllocateTimer(
        &call,
        callback: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        _attributes: Ignored<u32>,
    ) -> Result<GuestPtr<EX_TIMER>, Fault> {
        let memory = lock(&kernel().pool).allocate(size_of::<EX_TIMER>() as u64, *b"ExTm", false, call.from);
        let timer = GuestPtr::<EX_TIMER>::new(memory.unwrap_or_default());
        timer.write_if(EX_TIMER { Callback: callback, Context: context.address(), Unused: [0; 2] })?;
        Ok(timer)
    }

    #[irql(DISPATCH)]
    fn ExSetTimer(
        &call,
        timer: GuestPtr<EX_TIMER>,
        due: i64,
        period: i64,
        _parameters: Ignored<GuestPtr<Opaque>>,
    ) -> Result<bool, Fault> {
        let EX_TIMER { Callback: callback, Context: context, .. } = timer.read()?;
        let times = (due, period.cast_unsigned());
        Ok(set(call, timer, times, "timer callback", callback, vec![timer.address(), context]))
    }

    #[irql(DISPATCH)]
    fn ExCancelTimer(timer: GuestPtr<EX_TIMER>, _parameters: Ignored<GuestPtr<Opaque>>) -> bool {
        let Kernel { scheduler, .. } = kernel();
        cancel(scheduler, timer)
    }

    #[irql(DISPATCH)]
    fn ExDeleteTimer(
        timer: GuestPtr<EX_TIMER>,
        stop: bool,
        wait: bool,
        _parameters: Ignored<GuestPtr<Opaque>>,
    ) -> bool {
        let Kernel { scheduler, .. } = kernel();
        let was_set = stop && cancel(scheduler, timer);
        if wait {
            scheduler.wait_for_job(timer.address());
        }
        pool::free(timer.address(), None);
        was_set
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoInitializeTimer(
        device: GuestPtr<DEVICE_OBJECT>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Outcome {
        let timer: GuestPtr<EX_TIMER> = lock(&kernel().pool).try_new_object()?;
        timer.write(EX_TIMER { Callback: routine, Context: context.address(), Unused: [0; 2] })?;
        device.Timer().write(timer)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn IoStartTimer(&call, device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
        let timer = device.Timer().read()?;
        let EX_TIMER { Callback: callback, Context: context, .. } = timer.read()?;
        let every_second = (-SECOND.cast_signed(), SECOND);
        set(call, timer, every_second, "IoTimer routine", callback, vec![device.address(), context]);
        Ok(())
    }

    #[irql(DISPATCH)]
    fn IoStopTimer(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
        let Kernel { scheduler, .. } = kernel();
        cancel(scheduler, device.Timer().read()?);
        Ok(())
    }
}

/// Sets a timer with a due time and a period. Returns whether the timer was already set.
fn set(
    call: &Call,
    timer: GuestPtr<EX_TIMER>,
    (due, period): (i64, u64),
    name: &'static str,
    callback: GuestPtr<Code>,
    arguments: Vec<u64>,
) -> bool {
    let Kernel { scheduler, .. } = kernel();
    let due = scheduler.deadline(due);
    let was_set = cancel(scheduler, timer);
    let action = move || {
        call_back(name, DISPATCH, callback, &arguments);
    };
    let key = timer.address();
    let action = Some(Arc::new(action) as _);
    let timer = Timer { key, due, period, signals: None, action, from: call.from };
    scheduler.change(|state| state.timers.push(timer));
    was_set
}

fn cancel(scheduler: &Scheduler, timer: GuestPtr<EX_TIMER>) -> bool {
    let key = timer.address();
    scheduler.change(|state| state.unset(key) | state.undefer(key))
}
