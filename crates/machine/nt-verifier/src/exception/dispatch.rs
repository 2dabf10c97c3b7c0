//! Finds the handler of an exception and unwinds the frames up to it.
//!
//! Only frames of the driver's current call are searched. Beyond them lie the frames of the host, which cannot be
//! unwound. On Windows, the exception would pass through frames of the kernel there; a driver that relies on this does
//! not work.

use std::cell::Cell;

use nt_processor::cpu::crossing::word;
use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::layout::DISPATCHER_CONTEXT;
use nt_processor::memory::{Fault, GuestPtr};
use pe_image::unwind::{Registers, Unwound};
use windows_constants::exception::{
    EXCEPTION_NONCONTINUABLE, EXCEPTION_TARGET_UNWIND, EXCEPTION_UNWINDING, ExceptionContinueExecution,
    ExceptionContinueSearch,
};

use super::area::Area;

/// The maximum number of frames to search: a stack of 24 KiB has no more.
const MOST: usize = 3072;

/// A handler's request to unwind all frames inside `frame` and to continue at `target` there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) frame: u64,
    pub(super) target: u64,
    /// The new value of rax.
    pub(super) value: u64,
}

thread_local! {
    static REQUEST: Cell<Option<Request>> = const { Cell::new(None) };
}

/// Records the request of the handler that is being called.
pub(super) fn request(request: Request) {
    REQUEST.set(Some(request));
}

/// Steps through the frames of the current call.
struct Frames {
    registers: Registers,
}

impl Frames {
    const fn new(start: &Registers) -> Self {
        Self { registers: *start }
    }

    /// Returns the next frame: the image base, the registers, and the unwind information. `None` after the last one.
    fn next(&mut self) -> Option<(u64, Registers, Unwound)> {
        let stack = thread::stack()?;
        let (base, functions) = image::functions(self.registers.rip)?;
        let here = self.registers;
        let unwound = functions.unwind(base, &mut self.registers, &mut |address| word(stack, address)).ok()?;
        (self.registers.rsp() > here.rsp()).then_some((base, here, unwound))
    }
}

/// Returns whether any frame, starting at these registers, has an exception handler. Does not allocate.
pub(super) fn is_guarded(start: &Registers) -> bool {
    let mut frames = Frames::new(start);
    for _ in 0..MOST {
        match frames.next() {
            Some((_, _, unwound)) if unwound.handler.is_some_and(|handler| handler.on_exception) => return true,
            Some(_) => {}
            None => return false,
        }
    }
    false
}

/// Calls the exception handlers. Returns `true` if the driver continues with the area's `CONTEXT`.
pub(super) fn dispatch(area: Area) -> Result<bool, Fault> {
    let start = area.Context().registers()?;
    let mut frames = Frames::new(&start);
    for _ in 0..MOST {
        let Some((base, here, unwound)) = frames.next() else { return Ok(false) };
        if unwound.handler.is_none_or(|handler| !handler.on_exception) {
            continue;
        }
        match call_handler(area, base, &here, &unwound, 0)? {
            HandlerResult::Leave(request) => return leave(area, &start, request),
            HandlerResult::Disposition(ExceptionContinueExecution) => {
                return Ok(area.Record().ExceptionFlags().read()? & EXCEPTION_NONCONTINUABLE == 0);
            }
            HandlerResult::Disposition(_) => {}
        }
    }
    Ok(false)
}

/// Unwinds the frames up to the one that handles the exception, and calls their termination handlers. Returns `true` if
/// that frame was reached.
pub(super) fn leave(area: Area, start: &Registers, request: Request) -> Result<bool, Fault> {
    let flags = area.Record().ExceptionFlags();
    flags.change(|flags| flags | EXCEPTION_UNWINDING)?;
    let mut frames = Frames::new(start);
    for _ in 0..MOST {
        let Some((base, here, unwound)) = frames.next() else { return Ok(false) };
        let is_target = unwound.frame == request.frame;
        if is_target {
            flags.change(|flags| flags | EXCEPTION_TARGET_UNWIND)?;
        }
        if unwound.handler.is_some_and(|handler| handler.on_unwind) {
            call_handler(area, base, &here, &unwound, request.target)?;
        }
        if is_target {
            let mut registers = here;
            registers.rip = request.target;
            registers.set(0, request.value);
            area.Context().update(&registers)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// The result of a handler.
enum HandlerResult {
    Leave(Request),
    Disposition(u32),
}

/// Calls the handler of a frame.
fn call_handler(
    area: Area,
    base: u64,
    here: &Registers,
    unwound: &Unwound,
    target: u64,
) -> Result<HandlerResult, Fault> {
    let Some(handler) = unwound.handler else { return Ok(HandlerResult::Disposition(ExceptionContinueSearch)) };
    let routine = base + u64::from(handler.address);
    // No history table, and start at the first scope.
    area.Dispatcher().write(DISPATCHER_CONTEXT {
        ControlPc: here.rip,
        ImageBase: base,
        FunctionEntry: unwound.function.map_or(0, |(_, entry)| base + u64::from(entry)),
        EstablisherFrame: unwound.frame,
        TargetIp: target,
        ContextRecord: area.Context(),
        LanguageHandler: GuestPtr::new(routine),
        HandlerData: GuestPtr::new(base + u64::from(handler.data)),
        HistoryTable: 0,
        ScopeIndex: 0,
        Fill0: 0,
    })?;
    REQUEST.set(None);
    let record = area.Record().address();
    let context = area.Context().address();
    let result = thread::call(routine, &[record, unwound.frame, context, area.Dispatcher().address()]);
    Ok(REQUEST.take().map_or(HandlerResult::Disposition(result as u32), HandlerResult::Leave))
}
