//! `__C_specific_handler`: `__try`, `__except` and `__finally` of C.
//!
//! Its data is a table of scopes: the addresses that each guards, the filter or the termination handler, and where an
//! `__except` block begins. The layout is that of `SCOPE_TABLE_AMD64` in winnt.h, which LLVM and Microsoft's compiler
//! write; what is done with it follows the documentation of the keywords.

use super::area::{ANY_UNWIND, TARGET_UNWIND, code_of, flags_of};
use super::dispatch::{CONTINUE_EXECUTION, CONTINUE_SEARCH, Request, request};
use crate::cpu::thread;
use crate::kernel::routine::Call;
use crate::memory::guest;

/// Offsets in `DISPATCHER_CONTEXT`.
const CONTROL: u64 = 0;
const IMAGE: u64 = 8;
const TARGET: u64 = 0x20;
const DATA: u64 = 0x38;
const SCOPE_INDEX: u64 = 0x48;

/// A filter that is no function: the exception is always taken.
const ALWAYS: u32 = 1;

/// One scope; addresses are relative to the image.
struct Scope {
    begin: u64,
    end: u64,
    handler: u32,
    /// The `__except` block; 0 for `__finally`.
    block: u32,
}

impl Scope {
    fn read(table: u64, index: u32) -> Self {
        let at = table + 4 + u64::from(index) * 16;
        Self {
            begin: guest::read::<u32>(at).into(),
            end: guest::read::<u32>(at + 4).into(),
            handler: guest::read(at + 8),
            block: guest::read(at + 12),
        }
    }

    const fn contains(&self, rva: u64) -> bool {
        self.begin <= rva && rva < self.end
    }
}

/// Arguments: record, establisher frame, context, dispatcher's context.
pub(super) fn handle(call: &Call) -> u64 {
    let (record, frame, context, dispatcher) = (call.arg(0), call.arg(1), call.arg(2), call.arg(3));
    let base: u64 = guest::read(dispatcher + IMAGE);
    let rva = guest::read::<u64>(dispatcher + CONTROL).wrapping_sub(base);
    let table: u64 = guest::read(dispatcher + DATA);
    let first: u32 = guest::read(dispatcher + SCOPE_INDEX);
    let scopes = (first..guest::read(table)).map(|index| (index, Scope::read(table, index)));
    let mut inside = scopes.filter(|(_, scope)| scope.contains(rva));
    let flags = flags_of(record);
    if flags & ANY_UNWIND == 0 {
        let answer = inside.find_map(|(_, scope)| filter(&scope, base, record, frame, context));
        return answer.unwrap_or(CONTINUE_SEARCH).into();
    }
    let target = guest::read::<u64>(dispatcher + TARGET).wrapping_sub(base);
    for (index, scope) in inside {
        // The block that is gone to: whatever is around it stays entered.
        let is_reached = scope.contains(target) || (scope.block != 0 && u64::from(scope.block) == target);
        if flags & TARGET_UNWIND != 0 && is_reached {
            break;
        }
        if scope.block == 0 {
            // Left before it runs, so that it does not run again when it fails itself.
            guest::write(dispatcher + SCOPE_INDEX, index + 1);
            thread::call(base + u64::from(scope.handler), &[1, frame]);
        }
    }
    CONTINUE_SEARCH.into()
}

/// Asks the filter of a scope; `None` where it has none or declines.
fn filter(scope: &Scope, base: u64, record: u64, frame: u64, context: u64) -> Option<u32> {
    if scope.block == 0 {
        return None;
    }
    let verdict = if scope.handler == ALWAYS {
        1
    } else {
        // EXCEPTION_POINTERS, for the time of the call.
        let pointers = [record, context];
        let pointers = pointers.as_ptr().expose_provenance() as u64;
        thread::call(base + u64::from(scope.handler), &[pointers, frame]) as i32
    };
    match verdict {
        0 => None,
        1.. => {
            request(Request { frame, target: base + u64::from(scope.block), value: code_of(record).as_int().into() });
            Some(CONTINUE_SEARCH)
        }
        _ => Some(CONTINUE_EXECUTION),
    }
}
