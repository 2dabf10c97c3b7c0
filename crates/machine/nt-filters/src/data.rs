//! The callback data of operations: what minifilters make, change and look up.

use etw_types::NtStatus;
use nt_kernel::io::mdl;
use nt_kernel::{call_back, kernel};
use nt_processor::layout::{FLT_IO_PARAMETER_BLOCK, MDL};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{
    ANY, APC, DISPATCH, FILTER_MANAGER, Failure, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines,
};
use windows_constants::device::{IoReadAccess, IoWriteAccess};
use windows_constants::request::{IRP_MJ_CREATE, IRP_MJ_SET_INFORMATION, IRP_MJ_WRITE};

use super::request::{self, Request};
use super::state::{Data, File, InstanceId, Operation, Stage, state, with};
use super::{major, operation};

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltAllocateCallbackData(instance: InstanceId, file: File, place: Out<Data>) -> Outcome {
        allocate(instance, file, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltAllocateCallbackDataEx(instance: InstanceId, file: File, _flags: Ignored<u32>, place: Out<Data>) -> Outcome {
        allocate(instance, file, place)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltFreeCallbackData(data: Data) {
        request::free(data);
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReuseCallbackData(data: Data) -> Result<(), Fault> {
        data.IoStatus().zero()?;
        let above = data.Iopb().read()?.TargetInstance().read()?;
        let below = state().path(above.non_null());
        with(data, |operation| (operation.below, operation.stage) = (below, Stage::Running));
        data.Iopb().read()?.Parameters().zero()
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltPerformSynchronousIo(data: Data) -> Result<(), Fault> {
        operation::start(data)?;
        let is_done = || with(data, |operation| operation.stage == Stage::Done).unwrap_or(true);
        kernel().scheduler.wait(None, |_| is_done().then_some(()));
        Ok(())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NO_RESOURCES), keeps_nothing]
    fn FltPerformAsynchronousIo(data: Data, callback: GuestPtr<Code>, context: GuestPtr<Opaque>) -> Outcome<NtStatus> {
        with(data, |operation| operation.then = Some(Box::new(move |_| notify(data, callback, context))));
        operation::start(data)?;
        done(NtStatus::Pending)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReissueSynchronousIo(instance: InstanceId, data: Data) -> Result<(), Fault> {
        let iopb = data.Iopb().read()?.read()?;
        let request = Request {
            major: iopb.MajorFunction,
            minor: iopb.MinorFunction,
            flags: iopb.OperationFlags,
            file: iopb.TargetFileObject,
            parameters: iopb.Parameters,
            is_user: data.RequestorMode().read()? != 0,
            above: Some(instance),
        };
        match request::run(&request) {
            Ok(result) => data.IoStatus().write(result.block),
            Err(Failure::Status(status)) => data.IoStatus().Status().write(status),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }

    #[irql(PASSIVE), module(FILTER_MANAGER)]
    fn FltCancelFileOpen(_instance: Ignored<InstanceId>, file: File) {
        let is_create = |operation: &Operation| operation.major == IRP_MJ_CREATE && operation.file == file;
        let data = state().operations.iter().find(|(_, operation)| is_create(operation)).map(|(data, _)| *data);
        if let Some(data) = data {
            operation::cancel_open(data);
        }
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES), keeps_nothing]
    fn FltLockUserBuffer(data: Data) -> Outcome {
        let iopb = data.Iopb().read()?;
        let major = iopb.MajorFunction().read()?;
        let (Some(list), Some(buffer)) = (word(iopb, major::list_at(major)), word(iopb, major::buffer_at(major))) else {
            return done(());
        };
        if list.read()? == 0 && buffer.read()? != 0 {
            let length = iopb.Parameters().cast::<u32>().read()?;
            let new = mdl::describe(GuestPtr::new(buffer.read()?), length)?;
            list.write(new.address())?;
            // The change is the filter manager's, and stays for all.
            with(data, |operation| {
                operation.lists.push(new);
                if let (Some(current), Some(at)) = (&mut operation.current, major::list_at(major))
                    && let Some(place) = current.parameters.Parameters.get_mut(at)
                {
                    *place = new.address();
                }
            });
        }
        done(())
    }

    /// Returns where the parameters of an operation are.
    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltDecodeParameters(
        data: Data,
        list: GuestPtr<GuestPtr<u64>>,
        buffer: GuestPtr<GuestPtr<u64>>,
        length: GuestPtr<GuestPtr<u64>>,
        access: GuestPtr<i32>,
    ) -> Outcome {
        let iopb = data.Iopb().read()?;
        let major = iopb.MajorFunction().read()?;
        let Some(place) = word(iopb, major::buffer_at(major)) else { return fail(NtStatus::InvalidParameter) };
        list.write_if(word(iopb, major::list_at(major)).unwrap_or_default())?;
        buffer.write_if(place)?;
        length.write_if(iopb.Parameters().cast())?;
        let reads = matches!(major, IRP_MJ_WRITE | IRP_MJ_SET_INFORMATION);
        access.write_if(if reads { IoReadAccess } else { IoWriteAccess })?;
        done(())
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltGetSwappedBufferMdlAddress(data: Data) -> GuestPtr<MDL> {
        with(data, |operation| operation.swapped_list()).flatten().map_or(GuestPtr::NULL, |(_, list)| list)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltRetainSwappedBufferMdlAddress(data: Data) {
        with(data, |operation| {
            let retained = operation.swapped_list();
            operation.swapped.retain(|known| Some(*known) != retained);
        });
    }
}

impl Operation {
    /// Returns the MDL that the minifilter which has the operation swapped in.
    fn swapped_list(&self) -> Option<(InstanceId, GuestPtr<MDL>)> {
        let instance = self.current?.instance;
        self.swapped.iter().find(|(owner, _)| *owner == instance).copied()
    }
}

fn word(iopb: GuestPtr<FLT_IO_PARAMETER_BLOCK>, index: Option<usize>) -> Option<GuestPtr<u64>> {
    iopb.Parameters().element(index?)
}

fn allocate(instance: InstanceId, file: File, place: Out<Data>) -> Outcome {
    let request = Request { file, above: Some(instance), ..Request::default() };
    let data = request::create(&request)?;
    place.set(data)?;
    done(())
}

/// Tells a minifilter that an operation that it did not wait for has ended.
pub(super) fn notify(data: Data, callback: GuestPtr<Code>, context: GuestPtr<Opaque>) {
    call_back("asynchronous I/O callback", DISPATCH, callback, &[data.address(), context.address()]);
}
