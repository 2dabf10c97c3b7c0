//! What a driver registers with the system beside its devices: extensions, second initialisations, shut-down
//! notifications, WMI, entries of the error log.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{call_back, kernel, lock};
use crate::memory::guest;
use crate::verify;

const NAME_COLLISION: u64 = 0xC000_0035;
/// `ERROR_LOG_MAXIMUM_SIZE`.
const LONGEST_ENTRY: u64 = 240;

/// Extensions of the driver object, by the address that identifies their client.
static EXTENSIONS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
/// Routines that are to run once more after `DriverEntry`: routine and context.
static AGAIN: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: driver, client, size, place for the extension.
    routine("IoAllocateDriverObjectExtension", APC, |call| {
        let mut extensions = lock(&EXTENSIONS);
        if extensions.contains_key(&call.arg(1)) {
            return NAME_COLLISION;
        }
        let memory = lock(&kernel().pool).object(u64::from(call.u32(2)));
        extensions.insert(call.arg(1), memory);
        guest::write(call.arg(3), memory);
        0
    })
    .fails(NO_RESOURCES),
    routine("IoGetDriverObjectExtension", DISPATCH, |call| {
        lock(&EXTENSIONS).get(&call.arg(1)).copied().unwrap_or_default()
    }),
    // Arguments: driver, routine, context.
    routine("IoRegisterDriverReinitialization", PASSIVE, |call| {
        lock(&AGAIN).push((call.arg(1), call.arg(2)));
        0
    }),
    routine("IoRegisterShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).register("shutdown notification", call.arg(0), call.from);
        0
    })
    .fails(NO_RESOURCES),
    routine("IoRegisterLastChanceShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).register("shutdown notification", call.arg(0), call.from);
        0
    })
    .fails(NO_RESOURCES),
    routine("IoUnregisterShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).forget("shutdown notification", call.arg(0));
        0
    }),
    // Arguments: device or callback, action: 1 registers, 2 takes back.
    routine("IoWMIRegistrationControl", PASSIVE, |call| {
        let mut io = lock(&kernel().io);
        match call.u32(1) {
            1 => io.register("WMI registration", call.arg(0), call.from),
            2 if !io.forget("WMI registration", call.arg(0)) => return 0xC000_000D,
            _ => {}
        }
        0
    })
    .fails(NO_RESOURCES),
    // Arguments: device or driver, size.
    routine("IoAllocateErrorLogEntry", DISPATCH, |call| {
        let size = u64::from(call.u8(1));
        if size == 0 || size > LONGEST_ENTRY { 0 } else { lock(&kernel().pool).object(size) }
    })
    .fails_with_zero(),
    routine("IoWriteErrorLogEntry", DISPATCH, |call| {
        // `IO_ERROR_LOG_PACKET`: the code at 12, the final status at 20.
        let (code, status): (u32, u32) = (guest::read(call.arg(0) + 12), guest::read(call.arg(0) + 20));
        if let Some(arena) = verify::arena() {
            arena.print(format!("nt-host: error log: code {code:#010X}, status {status:#010X}\n").as_bytes());
        }
        lock(&kernel().pool).free_object(call.arg(0));
        0
    }),
    routine("IoFreeErrorLogEntry", DISPATCH, |call| {
        lock(&kernel().pool).free_object(call.arg(0));
        0
    }),
    // WDM 6.0 is what Windows Vista and everything after it has.
    routine("IoIsWdmVersionAvailable", ANY, |call| u64::from((call.u8(0), call.u8(1)) <= (6, 0))),
];

/// `DriverEntry` has succeeded: what it asked to run afterwards runs, and may ask again.
pub(super) fn reinitialize(driver: u64) {
    for count in 1_u64..=16 {
        let again = std::mem::take(&mut *lock(&AGAIN));
        if again.is_empty() {
            return;
        }
        for (routine, context) in again {
            call_back("reinitialization routine", PASSIVE, routine, &[driver, context, count]);
        }
    }
}

/// The driver is gone.
pub(super) fn forget() {
    for memory in std::mem::take(&mut *lock(&EXTENSIONS)).into_values() {
        lock(&kernel().pool).free_object(memory);
    }
    lock(&AGAIN).clear();
}
