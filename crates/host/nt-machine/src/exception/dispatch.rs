//! Looking for the handler of an exception, and leaving the frames up to it.
//!
//! Only frames of the driver's current call count: beyond it lies the host, whose frames cannot be left. On Windows an
//! exception would pass through the kernel's frames there; a driver that relies on it is not one that works.

use std::cell::Cell;

use super::area::{Area, NONCONTINUABLE, TARGET_UNWIND, UNWINDING};
use crate::cpu::crossing::word;
use crate::cpu::thread;
use crate::image;
use crate::layout::DISPATCHER_CONTEXT;
use crate::memory::{Fault, GuestPtr};
use pe_image::unwind::{Functions, Registers, Unwound};

/// Most frames that are looked at: a stack of 24 KiB has no more.
const MOST: usize = 3072;

/// `ExceptionContinueExecution` and `ExceptionContinueSearch`.
pub(super) const CONTINUE_EXECUTION: u32 = 0;
pub(super) const CONTINUE_SEARCH: u32 = 1;

/// A handler's wish: leave all frames inside of `frame` and go on at `target` there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) frame: u64,
    pub(super) target: u64,
    /// What rax is to be.
    pub(super) value: u64,
}

thread_local! {
    static REQUEST: Cell<Option<Request>> = const { Cell::new(None) };
}

/// Notes the wish of the handler that is being asked.
pub(super) fn request(request: Request) {
    REQUEST.set(Some(request));
}

/// Steps through the frames of the current call.
struct Frames {
    functions: Functions<'static>,
    registers: Registers,
}

impl Frames {
    fn new(start: &Registers) -> Option<Self> {
        Some(Self { functions: image::functions()?, registers: *start })
    }

    /// The next frame: its registers and what is known about it. `None` behind the last one.
    fn next(&mut self) -> Option<(u64, Registers, Unwound)> {
        let stack = thread::stack()?;
        let base = image::base_of(self.registers.rip)?;
        let here = self.registers;
        let unwound = self.functions.unwind(base, &mut self.registers, &mut |address| word(stack, address)).ok()?;
        (self.registers.rsp() > here.rsp()).then_some((base, here, unwound))
    }
}

/// Whether any frame from these registers on has a handler for exceptions. Allocates nothing.
pub(crate) fn is_guarded(start: &Registers) -> bool {
    let Some(mut frames) = Frames::new(start) else { return false };
    for _ in 0..MOST {
        match frames.next() {
            Some((_, _, unwound)) if unwound.handler.is_some_and(|handler| handler.on_exception) => return true,
            Some(_) => {}
            None => return false,
        }
    }
    false
}

/// Offers an exception to the handlers. `true` if the driver is to go on with the area's `CONTEXT`.
pub(super) fn dispatch(area: Area) -> Result<bool, Fault> {
    let start = area.Context().registers()?;
    let Some(mut frames) = Frames::new(&start) else { return Ok(false) };
    for _ in 0..MOST {
        let Some((base, here, unwound)) = frames.next() else { return Ok(false) };
        if unwound.handler.is_none_or(|handler| !handler.on_exception) {
            continue;
        }
        match ask(area, base, &here, &unwound, 0)? {
            Answer::Leave(request) => return leave(area, &start, request),
            Answer::Disposition(CONTINUE_EXECUTION) => {
                return Ok(area.Record().ExceptionFlags().read()? & NONCONTINUABLE == 0);
            }
            Answer::Disposition(_) => {}
        }
    }
    Ok(false)
}

/// Leaves the frames up to the one that takes the exception, telling their handlers. `true` if it was reached.
pub(super) fn leave(area: Area, start: &Registers, request: Request) -> Result<bool, Fault> {
    let flags = area.Record().ExceptionFlags();
    flags.change(|flags| flags | UNWINDING)?;
    let Some(mut frames) = Frames::new(start) else { return Ok(false) };
    for _ in 0..MOST {
        let Some((base, here, unwound)) = frames.next() else { return Ok(false) };
        let is_target = unwound.frame == request.frame;
        if is_target {
            flags.change(|flags| flags | TARGET_UNWIND)?;
        }
        if unwound.handler.is_some_and(|handler| handler.on_unwind) {
            ask(area, base, &here, &unwound, request.target)?;
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

/// What a handler said.
enum Answer {
    Leave(Request),
    Disposition(u32),
}

/// Calls the handler of a frame.
fn ask(area: Area, base: u64, here: &Registers, unwound: &Unwound, target: u64) -> Result<Answer, Fault> {
    let Some(handler) = unwound.handler else { return Ok(Answer::Disposition(CONTINUE_SEARCH)) };
    let routine = base + u64::from(handler.address);
    // Without history, and from the first scope on.
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
    let (record, context) = (area.Record().address(), area.Context().address());
    let answer = thread::call(routine, &[record, unwound.frame, context, area.Dispatcher().address()]);
    Ok(REQUEST.take().map_or(Answer::Disposition(answer as u32), Answer::Leave))
}
