//! Synchronisation scopes: callbacks that run one at a time, under a lock of their device or queue.
//!
//! The thread that holds the lock may acquire it again, as with the framework's presentation lock. If the callbacks of
//! the device need not run at passive level, the lock is a spin lock, so they run at `DISPATCH_LEVEL`.

use etw_types::NtStatus;
use nt_kernel::kernel;
use nt_kernel::sync::irql;
use nt_processor::cpu::thread;
use nt_verifier::routine::{DISPATCH, Outcome, done, fail, functions};
use nt_verifier::verify::{self, Rule};

use crate::Handle;
use crate::device::{self, Device};
use crate::object::attributes::Scope;
use crate::object::{self, change, is_passive};
use crate::queue::Queue;
use crate::state::with;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfObjectAcquireLock(object: Handle) {
        let holder = lockable(object);
        if is_passive(holder) {
            acquire(holder);
        } else {
            let old = irql::raise(DISPATCH);
            acquire(holder);
            with(|framework| framework.lock_irqls.push((holder, old)));
        }
    }

    #[irql(DISPATCH)]
    fn WdfObjectReleaseLock(object: Handle) {
        let holder = lockable(object);
        release(holder);
        let old = with(|framework| {
            let position = framework.lock_irqls.iter().rposition(|(known, _)| *known == holder)?;
            Some(framework.lock_irqls.remove(position).1)
        });
        if let Some(old) = old {
            irql::lower(old);
        }
    }
}

/// Returns the device or queue whose lock an object's callbacks run under; `None` if they need no lock.
pub(super) fn holder_for(handle: Handle) -> Option<Handle> {
    let mut queue = None;
    let mut current = handle;
    while object::exists(current) {
        let (is_queue, scope, parent) =
            object::lookup(current, |object| (object.is::<Queue>(), object.scope, object.parent));
        if is_queue {
            queue = Some(current);
        }
        match scope {
            Scope::None => return None,
            Scope::Device => return device::nearest(handle),
            Scope::Queue => return queue,
            Scope::Inherit => current = parent,
        }
    }
    None
}

/// Checks the parent of a timer, work item or DPC, as `Initialize` of `FxTimer`, `FxWorkItem` and `FxDpc` does: it must be a
/// device or belong to one, and serialized callbacks need its execution level (`_GetEffectiveLock` in `shared/object/fxobject.cpp`).
pub(super) fn check_parent(parent: Handle, is_serialized: bool, is_passive: bool) -> Outcome {
    let refused = |status, what: &str| {
        verify::find(Rule::FrameworkMisuse, format_args!("{what}"));
        fail(status)
    };
    object::lookup(parent, |_| ());
    if device::nearest(parent).is_none() {
        let what = "the parent of a timer, work item or DPC must be a device or belong to one";
        return refused(NtStatus::InvalidDeviceRequest, what);
    }
    let has_lock = is_serialized && holder_for(parent).is_some();
    if has_lock && object::is_passive(parent) != is_passive {
        let what = "AutomaticSerialization is set, but the callbacks of the parent run at another IRQL: clear it, or change the \
                    ExecutionLevel of the parent";
        return refused(NtStatus::WdfIncompatibleExecutionLevel, what);
    }
    done(())
}

/// Runs a callback under the lock of `holder`, if there is one. A lock that is a spin lock raises the IRQL to
/// `DISPATCH_LEVEL`; `body` receives the resulting IRQL.
pub(super) fn locked(holder: Option<Handle>, irql: u8, body: impl FnOnce(u8) -> u64) -> u64 {
    let Some(holder) = holder.filter(|holder| object::exists(*holder)) else { return body(irql) };
    acquire(holder);
    let value = body(if is_passive(holder) { irql } else { irql.max(DISPATCH) });
    if object::exists(holder) {
        release(holder);
    }
    value
}

fn acquire(holder: Handle) {
    let me = thread::number();
    kernel().scheduler.wait(None, |_| {
        change(holder, |object| match &mut object.holder {
            (thread, depth) if *depth == 0 || *thread == me => {
                (*thread, *depth) = (me, *depth + 1);
                Some(())
            }
            _ => None,
        })
    });
}

fn release(holder: Handle) {
    let held = change(holder, |object| {
        let held = object.holder.1 != 0 && object.holder.0 == thread::number();
        object.holder.1 = object.holder.1.saturating_sub(1);
        held
    });
    if !held {
        verify::find(Rule::LockMisuse, format_args!("releases an object's lock that this thread does not hold"));
    }
    kernel().scheduler.change(|_| ());
}

/// Returns the object whose lock is used for a device or queue. Reports any other object: it has no lock.
fn lockable(handle: Handle) -> Handle {
    if !object::lookup(handle, |object| object.is::<Device>() || object.is::<Queue>()) {
        verify::find(Rule::FrameworkMisuse, format_args!("the object has no lock: only devices and queues have one"));
    }
    holder_for(handle).unwrap_or(handle)
}
