//! The routines for contexts: memory that a minifilter keeps for a volume, an instance, a file, a stream or a stream
//! handle.

use nt_processor::layout::{FLT_RELATED_CONTEXTS, FLT_RELATED_OBJECTS};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{APC, DISPATCH, FILTER_MANAGER, Ignored, NO_RESOURCES, Out, Outcome, routines};
use windows_constants::filter_manager::{
    FLT_FILE_CONTEXT, FLT_INSTANCE_CONTEXT, FLT_STREAM_CONTEXT, FLT_STREAMHANDLE_CONTEXT, FLT_VOLUME_CONTEXT,
};

use super::contexts::{
    ContextId, allocate, delete, detach, get, is_open, of_handle, of_instance, of_stream, reference, release,
    report_unknown, set, take,
};
use super::state::{File, FilterId, Holder, InstanceId, VolumeId, state};

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltAllocateContext(
        &call,
        filter: FilterId,
        kind: u16,
        size: u64,
        pool_type: i32,
        place: Out<ContextId>,
    ) -> Outcome {
        allocate(call, filter, kind, size, pool_type, place)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltReferenceContext(&call, context: ContextId) {
        reference(context, call.from);
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltReleaseContext(context: ContextId) {
        release(context);
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteContext(context: ContextId) {
        let holder = state().contexts.get(&context.address()).and_then(|context| context.holder);
        match holder {
            Some(holder) => detach(holder),
            None if state().contexts.contains_key(&context.address()) => {}
            None => report_unknown(context),
        }
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSetVolumeContext(volume: VolumeId, operation: i32, new: ContextId, old: GuestPtr<ContextId>) -> Outcome {
        let owner = state().contexts.get(&new.address()).map_or(0, |context| context.filter.address());
        set(Holder { owner, kind: FLT_VOLUME_CONTEXT, object: volume.address() }, operation, new, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetVolumeContext(&call, filter: FilterId, volume: VolumeId, place: Out<ContextId>) -> Outcome {
        get(call, Holder { owner: filter.address(), kind: FLT_VOLUME_CONTEXT, object: volume.address() }, place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteVolumeContext(filter: FilterId, volume: VolumeId, old: GuestPtr<ContextId>) -> Outcome {
        delete(Holder { owner: filter.address(), kind: FLT_VOLUME_CONTEXT, object: volume.address() }, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSetInstanceContext(
        instance: InstanceId,
        operation: i32,
        new: ContextId,
        old: GuestPtr<ContextId>,
    ) -> Outcome {
        set(of_instance(instance), operation, new, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetInstanceContext(&call, instance: InstanceId, place: Out<ContextId>) -> Outcome {
        get(call, of_instance(instance), place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteInstanceContext(instance: InstanceId, old: GuestPtr<ContextId>) -> Outcome {
        delete(of_instance(instance), old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSetStreamContext(
        instance: InstanceId,
        file: File,
        operation: i32,
        new: ContextId,
        old: GuestPtr<ContextId>,
    ) -> Outcome {
        set(of_stream(instance, FLT_STREAM_CONTEXT, file)?, operation, new, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetStreamContext(&call, instance: InstanceId, file: File, place: Out<ContextId>) -> Outcome {
        place.set(GuestPtr::NULL)?;
        get(call, of_stream(instance, FLT_STREAM_CONTEXT, file)?, place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteStreamContext(instance: InstanceId, file: File, old: GuestPtr<ContextId>) -> Outcome {
        delete(of_stream(instance, FLT_STREAM_CONTEXT, file)?, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSetFileContext(
        instance: InstanceId,
        file: File,
        operation: i32,
        new: ContextId,
        old: GuestPtr<ContextId>,
    ) -> Outcome {
        set(of_stream(instance, FLT_FILE_CONTEXT, file)?, operation, new, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetFileContext(&call, instance: InstanceId, file: File, place: Out<ContextId>) -> Outcome {
        place.set(GuestPtr::NULL)?;
        get(call, of_stream(instance, FLT_FILE_CONTEXT, file)?, place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteFileContext(instance: InstanceId, file: File, old: GuestPtr<ContextId>) -> Outcome {
        delete(of_stream(instance, FLT_FILE_CONTEXT, file)?, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSetStreamHandleContext(
        instance: InstanceId,
        file: File,
        operation: i32,
        new: ContextId,
        old: GuestPtr<ContextId>,
    ) -> Outcome {
        set(of_handle(instance, file)?, operation, new, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetStreamHandleContext(&call, instance: InstanceId, file: File, place: Out<ContextId>) -> Outcome {
        place.set(GuestPtr::NULL)?;
        get(call, of_handle(instance, file)?, place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDeleteStreamHandleContext(instance: InstanceId, file: File, old: GuestPtr<ContextId>) -> Outcome {
        delete(of_handle(instance, file)?, old)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltGetContexts(
        &call,
        objects: GuestPtr<FLT_RELATED_OBJECTS>,
        wanted: u16,
        contexts: GuestPtr<FLT_RELATED_CONTEXTS>,
    ) -> Result<(), Fault> {
        let objects = objects.read()?;
        let instance = objects.Instance;
        let file = objects.FileObject;
        let volume = Holder { owner: objects.Filter.address(), kind: FLT_VOLUME_CONTEXT, object: objects.Volume.address() };
        contexts.zero()?;
        let find = |kind: u16, holder: Option<Holder>, place: GuestPtr<ContextId>| {
            let found = holder.filter(|_| wanted & kind != 0).and_then(|holder| take(holder, call.from));
            place.write(found.unwrap_or_default())
        };
        find(FLT_VOLUME_CONTEXT, Some(volume), contexts.VolumeContext())?;
        find(FLT_INSTANCE_CONTEXT, Some(of_instance(instance)), contexts.InstanceContext())?;
        find(FLT_FILE_CONTEXT, of_stream(instance, FLT_FILE_CONTEXT, file).ok(), contexts.FileContext())?;
        find(FLT_STREAM_CONTEXT, of_stream(instance, FLT_STREAM_CONTEXT, file).ok(), contexts.StreamContext())?;
        find(FLT_STREAMHANDLE_CONTEXT, of_handle(instance, file).ok(), contexts.StreamHandleContext())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltReleaseContexts(contexts: GuestPtr<FLT_RELATED_CONTEXTS>) -> Result<(), Fault> {
        let contexts = contexts.read()?;
        let all = [
            contexts.VolumeContext,
            contexts.InstanceContext,
            contexts.FileContext,
            contexts.StreamContext,
            contexts.StreamHandleContext,
        ];
        all.into_iter().filter_map(GuestPtr::non_null).for_each(release);
        Ok(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSupportsStreamContexts(file: File) -> Result<bool, Fault> {
        is_open(file)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSupportsFileContexts(file: File) -> Result<bool, Fault> {
        is_open(file)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSupportsFileContextsEx(file: File, _instance: Ignored<InstanceId>) -> Result<bool, Fault> {
        is_open(file)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltSupportsStreamHandleContexts(file: File) -> Result<bool, Fault> {
        is_open(file)
    }
}
