//! Timers.

use std::sync::Arc;

use etw_types::NtStatus;
use nt_kernel::sync::scheduler::Timer as Entry;
use nt_kernel::sync::worker::submit;
use nt_kernel::{call_back, kernel};
use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_TIMER_CONFIG};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Rule};

use crate::object::attributes::{Attributes, Level, Options, Parent};
use crate::object::kind::Kind;
use crate::object::{self, created, lookup, needs_passive, parent_until_disposed};
use crate::{Handle, structures, sync};

/// The sizes of the configuration before version 1.9, and before version 1.13.
const FIRST_CONFIG: u32 = 24;
const CONFIG_OF_1_9: u32 = 32;

/// One millisecond in units of 100 ns.
const MILLISECOND: u64 = 10_000;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfTimerCreate(
        &call,
        config: GuestPtr<WDF_TIMER_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        create_timer(call, config, attributes, place)
    }

    #[irql(DISPATCH)]
    fn WdfTimerStart(&call, handle: Handle, due: i64) -> bool {
        start(call, handle, due)
    }

    #[irql(DISPATCH)]
    fn WdfTimerStop(handle: Handle, wait: bool) -> bool {
        stop(handle, wait)
    }

    #[irql(DISPATCH)]
    fn WdfTimerGetParentObject(handle: Handle) -> Handle {
        parent_until_disposed(handle)
    }
}

/// A timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    callback: GuestPtr<Code>,
    period: u64,
    serialized: bool,
}

impl Kind for Timer {
    fn name(&self) -> &'static str {
        "timer"
    }

    fn options(&self) -> Options {
        Options { parent: Parent::Required, level: true, scope: false }
    }

    fn waits(&self) -> bool {
        true
    }

    fn end(&self) -> fn(Handle) {
        end
    }
}

fn create_timer(
    call: &Call,
    config: GuestPtr<WDF_TIMER_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    place: GuestPtr<Handle>,
) -> Outcome {
    let size = structures::TIMER_CONFIG.check(config)?;
    let delay = if size > FIRST_CONFIG { config.TolerableDelay().read()? } else { 0 };
    let is_exact = size > CONFIG_OF_1_9 && config.cast::<u8>().at(CONFIG_OF_1_9.into()).read()? != 0;
    if config.Period().read()? > i32::MAX.cast_unsigned() || delay > 0 && is_exact {
        return fail(NtStatus::InvalidParameter);
    }
    let data = Timer {
        callback: config.EvtTimerFunc().read()?,
        period: u64::from(config.Period().read()?) * MILLISECOND,
        serialized: config.AutomaticSerialization().read()? != 0,
    };
    let attributes = Attributes::read(attributes, data.options())?;
    let is_passive = attributes.level == Level::Passive;
    if data.period > 0 && is_passive {
        verify::find(Rule::BadArgument, format_args!("a periodic timer cannot have passive execution level"));
        return fail(NtStatus::NotSupported);
    }
    sync::check_parent(attributes.parent, data.serialized, is_passive)?;
    created(object::create_with(call.from, &attributes, None, data), place)
}

fn start(call: &Call, handle: Handle, due: i64) -> bool {
    let passive = lookup(handle, |object| object.level == Level::Passive);
    let timer = object::part(handle, |timer: &mut Timer| *timer);
    let scheduler = &kernel().scheduler;
    let due = scheduler.deadline(due);
    let entry = Entry {
        key: handle.as_int(),
        due,
        period: timer.period,
        signals: None,
        action: Some(Arc::new(move || fire(handle, timer, passive))),
        from: call.from,
    };
    scheduler.change(|state| {
        let was_set = state.unset(handle.as_int());
        state.timers.push(entry);
        was_set
    })
}

fn fire(handle: Handle, timer: Timer, passive: bool) {
    if !object::exists(handle) {
        return;
    }
    if passive {
        submit(handle.as_int(), move || run(handle, timer, PASSIVE));
    } else {
        run(handle, timer, DISPATCH);
    }
}

fn run(handle: Handle, timer: Timer, irql: u8) {
    if object::exists(handle) {
        let lock = if timer.serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
        sync::locked(lock, irql, |irql| call_back("EvtTimerFunc", irql, timer.callback, &[handle.as_int()]));
    }
}

/// Stops a timer. If `wait` is set, waits for a running callback. Returns whether the timer was set.
fn stop(handle: Handle, wait: bool) -> bool {
    needs_passive(wait);
    if wait && object::waits_for_itself(handle, "WdfTimerStop") {
        return false;
    }
    let was_set = cancel(handle);
    if wait {
        kernel().scheduler.wait_for_job(handle.as_int());
    }
    was_set
}

fn cancel(handle: Handle) -> bool {
    kernel().scheduler.change(|state| {
        let had_work = state.has_work(handle.as_int());
        state.work.retain(|(key, _)| *key != handle.as_int());
        state.unset(handle.as_int()) | state.undefer(handle.as_int()) | had_work
    })
}

/// Called before a timer is deleted: cancels it and waits for a running callback.
fn end(handle: Handle) {
    cancel(handle);
    if !object::waits_for_itself(handle, "WdfObjectDelete") {
        kernel().scheduler.wait_for_job(handle.as_int());
    }
}
