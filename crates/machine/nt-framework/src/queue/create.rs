//! The creation of queues.

use etw_types::NtStatus;
use nt_processor::layout::{WDF_IO_QUEUE_CONFIG, WDF_OBJECT_ATTRIBUTES};
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, done, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::framework::{
    WdfIoQueueDispatchManual, WdfIoQueueDispatchParallel, WdfIoQueueDispatchSequential,
};

use crate::device::with_device;
use crate::object::attributes::Options;
use crate::object::kind::Kind;
use crate::object::{create, created_if_wanted};
use crate::queue::Queue;
use crate::{Handle, queue, structures};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoQueueCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_IO_QUEUE_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created_if_wanted(create_queue(call, device, config, attributes), place)
    }
}

impl Kind for Queue {
    fn name(&self) -> &'static str {
        "queue"
    }

    fn options(&self) -> Options {
        Options { level: true, scope: true, ..Options::default() }
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_of_package(&self) -> bool {
        true
    }

    fn end(&self) -> fn(Handle) {
        queue::state::end
    }
}

/// The size of `WDF_IO_QUEUE_CONFIG` before version 1.9.
const FIRST_CONFIG: u32 = 80;

fn create_queue(
    call: &Call,
    device: Handle,
    config: GuestPtr<WDF_IO_QUEUE_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome<Handle> {
    let size = structures::IO_QUEUE_CONFIG.check(config)?;
    let config = config.read()?;
    let kind = config.DispatchType;
    if !(WdfIoQueueDispatchSequential..=WdfIoQueueDispatchManual).contains(&kind) {
        verify::find(Rule::BadArgument, format_args!("invalid dispatch type {kind}: expected 1 to 3"));
        return fail(NtStatus::InvalidParameter);
    }
    // As in `FxIoQueue::Initialize` (`shared/irphandlers/io/fxioqueue.cpp`).
    match (kind, config.EvtIo.iter().all(|callback| callback.is_null())) {
        (WdfIoQueueDispatchManual, false) => {
            verify::find(Rule::BadArgument, format_args!("gives a manual queue callbacks for requests: set none"));
            return fail(NtStatus::InvalidParameter);
        }
        (WdfIoQueueDispatchSequential | WdfIoQueueDispatchParallel, true) => {
            let what = format_args!("the queue has no callback for requests: set EvtIoDefault or another one");
            verify::find(Rule::BadArgument, what);
            return fail(NtStatus::WdfNoCallback);
        }
        _ => {}
    }
    let (control, filter) = with_device(device, |device| (device.init.control, device.init.filter));
    // Version 1.9 added the number of presented requests.
    let presented = (size > FIRST_CONFIG).then_some(config.NumberOfPresentedRequests);
    let queue = Queue {
        device,
        kind,
        limit: limit(kind, presented)?,
        power_managed: !control
            && match config.PowerManaged {
                0 => false,
                1 => true,
                _ => !filter,
            },
        allows_empty: config.AllowZeroLengthRequests != 0,
        handlers: config.EvtIo,
        stop: config.EvtIoStop,
        resume: config.EvtIoResume,
        canceled: config.EvtIoCanceledOnQueue,
        ..Queue::default()
    };
    let is_default = config.DefaultQueue != 0;
    if is_default && with_device(device, |device| device.default_queue).non_null().is_some() {
        verify::find(Rule::FrameworkMisuse, format_args!("creates a second default queue for the device"));
        return fail(NtStatus::Unsuccessful);
    }
    let handle = create(call, attributes, Some(device), queue)?;
    with_device(device, |device| {
        device.queues.push(handle);
        if is_default {
            device.default_queue = handle;
        }
    });
    Ok(handle)
}

/// Returns how many requests of a queue the driver may have at the same time. `presented` is the driver's
/// `NumberOfPresentedRequests`, which is checked as by `FxIoQueue::Initialize` in
/// `shared/irphandlers/io/fxioqueue.cpp`.
fn limit(kind: u32, presented: Option<u32>) -> Outcome<u32> {
    match (kind, presented) {
        (WdfIoQueueDispatchParallel, Some(limit)) => {
            if limit == 0 {
                let what = "a parallel queue with NumberOfPresentedRequests = 0 never presents a request: set it to -1, \
                            as WDF_IO_QUEUE_CONFIG_INIT does";
                verify::find(Rule::FrameworkMisuse, format_args!("{what}"));
            }
            done(limit)
        }
        (_, Some(limit @ 1..)) => {
            let what = format_args!("NumberOfPresentedRequests is {limit}, but the queue is not parallel: set it to 0");
            verify::find(Rule::BadArgument, what);
            fail(NtStatus::InvalidParameter)
        }
        (WdfIoQueueDispatchSequential, _) => done(1),
        // A manual queue, or a parallel one of a driver before 1.9.
        _ => done(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::{WdfIoQueueDispatchManual, WdfIoQueueDispatchParallel, WdfIoQueueDispatchSequential, limit};

    #[test]
    fn a_driver_before_1_9_has_no_limit_for_parallel_queues() {
        let cases = [
            ((WdfIoQueueDispatchParallel, None), u32::MAX),
            ((WdfIoQueueDispatchParallel, Some(2)), 2),
            ((WdfIoQueueDispatchParallel, Some(u32::MAX)), u32::MAX),
            ((WdfIoQueueDispatchSequential, None), 1),
            ((WdfIoQueueDispatchSequential, Some(0)), 1),
            ((WdfIoQueueDispatchManual, Some(0)), u32::MAX),
        ];
        for ((kind, presented), expected) in cases {
            assert!(matches!(limit(kind, presented), Ok(limit) if limit == expected), "{kind} {presented:?}");
        }
    }
}
