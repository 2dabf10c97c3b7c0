//! The contexts that exist: how they are allocated, set on something, referenced and freed.

use etw_types::NtStatus;
use nt_kernel::pool::Kind;
use nt_kernel::sync::worker::submit;
use nt_kernel::{call_back, kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::layout::FLT_CONTEXT_REGISTRATION;
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{APC, Call, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail};
use nt_verifier::verify::{self, Rule};
use windows_constants::filter_manager::{
    FLT_CONTEXT_END, FLT_FILE_CONTEXT, FLT_INSTANCE_CONTEXT, FLT_SET_CONTEXT_KEEP_IF_EXISTS, FLT_STREAM_CONTEXT,
    FLT_STREAMHANDLE_CONTEXT, FLT_VARIABLE_SIZED_CONTEXTS, FLT_VOLUME_CONTEXT,
    FLTFL_CONTEXT_REGISTRATION_NO_EXACT_SIZE_MATCH,
};
use windows_constants::memory::PagedPool;

use super::state::{Context, File, FilterId, Holder, InstanceId, State, state};

/// The maximum number of entries of a registration, one for each type.
const MAX_KINDS: u64 = 8;

pub(super) type ContextId = GuestPtr<Opaque>;

pub(super) fn is_open(file: File) -> Result<bool, Fault> {
    Ok(!file.is_null() && !file.FsContext().read()?.is_null())
}

/// Returns what contexts of a type are set on, in findings.
const fn name(kind: u16) -> &'static str {
    match kind {
        FLT_VOLUME_CONTEXT => "volume context",
        FLT_INSTANCE_CONTEXT => "instance context",
        FLT_FILE_CONTEXT => "file context",
        FLT_STREAM_CONTEXT => "stream context",
        FLT_STREAMHANDLE_CONTEXT => "stream handle context",
        _ => "context",
    }
}

pub(super) fn of_instance(instance: InstanceId) -> Holder {
    Holder { owner: instance.address(), kind: FLT_INSTANCE_CONTEXT, object: instance.address() }
}

/// A file that is not open has no stream.
pub(super) fn of_stream(instance: InstanceId, kind: u16, file: File) -> Outcome<Holder> {
    if !is_open(file)? {
        return fail(NtStatus::NotSupported);
    }
    Ok(Holder { owner: instance.address(), kind, object: file.FsContext().read()?.address() })
}

pub(super) fn of_handle(instance: InstanceId, file: File) -> Outcome<Holder> {
    if !is_open(file)? {
        return fail(NtStatus::NotSupported);
    }
    Ok(Holder { owner: instance.address(), kind: FLT_STREAMHANDLE_CONTEXT, object: file.address() })
}

/// Reads the types of contexts that a minifilter registers.
pub(super) fn registered(first: GuestPtr<FLT_CONTEXT_REGISTRATION>) -> Result<Vec<FLT_CONTEXT_REGISTRATION>, Fault> {
    let mut kinds = Vec::new();
    if !first.is_null() {
        for index in 0..MAX_KINDS {
            let kind = first.at(index).read()?;
            if kind.ContextType == FLT_CONTEXT_END {
                break;
            }
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

pub(super) fn allocate(
    call: &Call,
    filter: FilterId,
    kind: u16,
    size: u64,
    pool_type: i32,
    place: Out<ContextId>,
) -> Outcome {
    let registered = {
        let state = state();
        let Some(filter) = state.filters.get(&filter) else { return fail(NtStatus::InvalidParameter) };
        if filter.is_going {
            return fail(NtStatus::FltDeletingObject);
        }
        let fits = |known: &&FLT_CONTEXT_REGISTRATION| {
            let smaller = known.Flags & FLTFL_CONTEXT_REGISTRATION_NO_EXACT_SIZE_MATCH != 0 && size <= known.Size;
            known.ContextType == kind && (known.Size == FLT_VARIABLE_SIZED_CONTEXTS || known.Size == size || smaller)
        };
        filter.contexts.iter().find(fits).copied()
    };
    let Some(registered) = registered else { return fail(NtStatus::FltContextAllocationNotFound) };
    let is_pageable = pool_type.cast_unsigned() & PagedPool != 0;
    let memory = if let Some(callback) = registered.ContextAllocateCallback.non_null() {
        let arguments = [u64::from(pool_type.cast_unsigned()), size, kind.into()];
        Some(call_back("context allocate callback", thread::irql(), callback, &arguments))
    } else {
        let pool_kind = if is_pageable { Kind::Paged } else { Kind::NonPaged };
        lock(&kernel().pool).allocate_as(pool_kind, size, registered.PoolTag, 0)
    };
    let Some(address) = memory.filter(|address| *address != 0) else { return fail(NO_RESOURCES) };
    let context = Context {
        kind,
        filter,
        cleanup: registered.ContextCleanupCallback,
        free: if registered.ContextAllocateCallback.is_null() {
            GuestPtr::NULL
        } else {
            registered.ContextFreeCallback
        },
        references: 1,
        holder: None,
        is_pageable,
        from: call.from,
    };
    state().contexts.insert(address, context);
    place.set(GuestPtr::new(address))?;
    done(())
}

pub(super) fn report_unknown(context: ContextId) {
    verify::find(Rule::BadArgument, format_args!("{context:#x} is not a context"));
}

pub(super) fn reference(context: ContextId, from: u64) {
    let is_known = match state().contexts.get_mut(&context.address()) {
        Some(context) => {
            context.references += 1;
            context.from = from;
            true
        }
        None => false,
    };
    if !is_known {
        report_unknown(context);
    }
}

/// Releases a reference. Frees the context with the last one.
pub(super) fn release(context: ContextId) {
    let left = state().contexts.get_mut(&context.address()).map(|context| {
        context.references -= 1;
        (context.references, context.is_pageable, context.kind)
    });
    let Some((left, is_pageable, kind)) = left else { return report_unknown(context) };
    let irql = thread::irql();
    if is_pageable && irql > APC {
        let what = name(kind);
        verify::find(
            Rule::IrqlTooHigh,
            format_args!("releases a {what} in paged pool at IRQL {irql}, allowed up to 1"),
        );
    }
    if left > 0 {
        return;
    }
    if irql > APC {
        submit(context.address(), move || free(context));
    } else {
        free(context);
    }
}

/// Frees a context without references. No lock is held while the cleanup callback runs.
fn free(context: ContextId) {
    let Some(known) = state().contexts.remove(&context.address()) else { return };
    let arguments = [context.address(), known.kind.into()];
    if let Some(cleanup) = known.cleanup.non_null() {
        call_back("context cleanup callback", PASSIVE, cleanup, &arguments);
    }
    match known.free.non_null() {
        Some(callback) => drop(call_back("context free callback", PASSIVE, callback, &arguments)),
        None => lock(&kernel().pool).free_object(context.address()),
    }
}

/// Returns the context that is set on something, with a new reference.
pub(super) fn take(holder: Holder, from: u64) -> Option<ContextId> {
    let state = &mut *state();
    let address = *state.attached.get(&holder)?;
    let context = state.contexts.get_mut(&address)?;
    context.references += 1;
    context.from = from;
    Some(GuestPtr::new(address))
}

pub(super) fn get(call: &Call, holder: Holder, place: Out<ContextId>) -> Outcome {
    let found = take(holder, call.from);
    place.set(found.unwrap_or_default())?;
    if found.is_some() { done(()) } else { fail(NtStatus::NotFound) }
}

impl State {
    /// Returns whether the owner of a context goes.
    fn is_going(&self, holder: Holder) -> bool {
        let instance = self.instances.iter().find(|instance| instance.object.address() == holder.owner);
        let filter = self.filters.get(&GuestPtr::new(holder.owner));
        instance.is_some_and(|instance| instance.is_going) || filter.is_some_and(|filter| filter.is_going)
    }
}

pub(super) fn set(holder: Holder, operation: i32, new: ContextId, old: GuestPtr<ContextId>) -> Outcome {
    old.write_if(GuestPtr::NULL)?;
    let replaced = {
        let state = &mut *state();
        if state.is_going(holder) {
            return fail(NtStatus::FltDeletingObject);
        }
        let existing = state.attached.get(&holder).copied();
        let Some(context) = state.contexts.get(&new.address()).filter(|context| context.kind == holder.kind) else {
            return fail(NtStatus::InvalidParameter);
        };
        if context.holder.is_some() {
            return fail(NtStatus::FltContextAlreadyLinked);
        }
        if let Some(existing) = existing.filter(|_| operation == FLT_SET_CONTEXT_KEEP_IF_EXISTS) {
            if !old.is_null() {
                old.write(GuestPtr::new(existing))?;
                if let Some(context) = state.contexts.get_mut(&existing) {
                    context.references += 1;
                }
            }
            return fail(NtStatus::FltContextAlreadyDefined);
        }
        if let Some(context) = state.contexts.get_mut(&new.address()) {
            context.holder = Some(holder);
            context.references += 1;
        }
        state.attached.insert(holder, new.address());
        if let Some(context) = existing.and_then(|existing| state.contexts.get_mut(&existing)) {
            context.holder = None;
        }
        existing
    };
    give_or_release(replaced, old)
}

/// Gives the reference that something had to its context to the driver, if it wants it.
fn give_or_release(context: Option<u64>, place: GuestPtr<ContextId>) -> Outcome {
    match context.map(GuestPtr::new) {
        Some(context) if !place.is_null() => place.write(context)?,
        Some(context) => release(context),
        None => {}
    }
    done(())
}

fn unlink(holder: Holder) -> Option<u64> {
    let state = &mut *state();
    let address = state.attached.remove(&holder)?;
    if let Some(context) = state.contexts.get_mut(&address) {
        context.holder = None;
    }
    Some(address)
}

pub(super) fn delete(holder: Holder, old: GuestPtr<ContextId>) -> Outcome {
    old.write_if(GuestPtr::NULL)?;
    match unlink(holder) {
        None => fail(NtStatus::NotFound),
        removed => give_or_release(removed, old),
    }
}

pub(super) fn detach(holder: Holder) {
    if let Some(context) = unlink(holder) {
        release(GuestPtr::new(context));
    }
}

/// Removes the contexts that are set on what `goes` selects.
fn detach_all(goes: impl Fn(&Holder) -> bool) {
    let holders: Vec<Holder> = state().attached.keys().filter(|holder| goes(holder)).copied().collect();
    holders.into_iter().for_each(detach);
}

/// Removes the contexts of an instance or a filter that goes.
pub(super) fn owner_gone(owner: u64) {
    detach_all(|holder| holder.owner == owner);
}

/// Removes the contexts of a file object that is closed, and of its stream if that has no other.
pub(super) fn file_closed(file: File, stream: u64) {
    let others = lock(&kernel().io).volume.is_stream_open(stream);
    detach_all(|holder| {
        let of_handle = holder.kind == FLT_STREAMHANDLE_CONTEXT && holder.object == file.address();
        of_handle || !others && matches!(holder.kind, FLT_STREAM_CONTEXT | FLT_FILE_CONTEXT) && holder.object == stream
    });
}

/// Reports the contexts that an image left, and forgets them.
pub(super) fn report_leaks(leaving: Leaving) {
    let left: Vec<(u64, Context)> = {
        let mut state = state();
        let own = |_: &u64, context: &mut Context| leaving.owns(context.from);
        state.contexts.extract_if(own).collect()
    };
    for (address, context) in left {
        let what = name(context.kind);
        let count = context.references;
        let detail = format_args!("does not release its {what} (references left: {count})");
        verify::find_at(Rule::ObjectLeak, None, context.from, detail);
        if context.free.is_null() {
            lock(&kernel().pool).free_object(address);
        }
    }
}
