//! Clocks and timers.

use std::sync::Arc;

use super::dpc;
use super::scheduler::{Action, Timer};
use crate::cpu::thread;
use crate::kernel::kernel;
use crate::layout::{DISPATCHER_HEADER, KDPC, KTIMER, TIME_FIELDS};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, APC, Call, DISPATCH, Outcome, Routine, done, fixed, routine};

/// A millisecond in 100 ns units.
const MILLISECOND: u64 = 10_000;
/// A second, and the time from 1601 to 1970, in 100 ns units.
const SECOND: u64 = 1000 * MILLISECOND;
const UNIX_EPOCH: u64 = 11_644_473_600 * SECOND;
/// The time between two clock interrupts: 15.625 ms.
pub(crate) const TICK: u64 = 156_250;
/// `TimerNotificationObject`.
const NOTIFICATION: u8 = 8;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeInitializeTimer", ANY, |call| initialize(call.ptr(0), 0)),
    routine!("KeInitializeTimerEx", ANY, |call| initialize(call.ptr(0), call.u8(1))),
    routine!("KeSetTimer", DISPATCH, |call| set(call, 0, call.ptr(2))).keeps(),
    routine!("KeSetTimerEx", DISPATCH, |call| set(call, call.u32(2), call.ptr(3))).keeps(),
    routine!("KeSetCoalescableTimer", DISPATCH, |call| set(call, call.u32(2), call.ptr(4))).keeps(),
    routine!("KeCancelTimer", DISPATCH, |call| kernel().scheduler.change(|state| state.unset(call.arg(0)))),
    routine!("KeReadStateTimer", ANY, |call| { done(call.ptr::<DISPATCHER_HEADER>(0).SignalState().read()? != 0) }),
    routine!("KeDelayExecutionThread", APC, |call| {
        let deadline = kernel().scheduler.deadline(call.ptr::<i64>(2).read()?);
        kernel().scheduler.wait_until(deadline);
        done(())
    }),
    routine!("KeQueryTimeIncrement", ANY, |_| TICK),
    routine!("KeQueryInterruptTime", ANY, |_| kernel().scheduler.now()),
    routine!("KeQueryUnbiasedInterruptTime", ANY, |_| kernel().scheduler.now()),
    routine!("KeQueryInterruptTimePrecise", ANY, |call| {
        call.ptr(0).write_if(kernel().scheduler.now())?;
        done(kernel().scheduler.now())
    }),
    routine!("KeQuerySystemTime", ANY, |call| call.ptr(0).write(kernel().scheduler.system_time())),
    routine!("KeQuerySystemTimePrecise", ANY, |call| call.ptr(0).write(kernel().scheduler.system_time())),
    routine!("KeQueryTickCount", ANY, |call| call.ptr(0).write(kernel().scheduler.now() / TICK)),
    routine!("KeQueryPerformanceCounter", ANY, |call| {
        call.ptr(0).write_if(10_000_000_u64)?;
        done(kernel().scheduler.now())
    }),
    fixed("KeStallExecutionProcessor", ANY, 0),
    routine!("ExSystemTimeToLocalTime", ANY, |call| call.ptr(1).write(call.ptr::<u64>(0).read()?)),
    routine!("ExLocalTimeToSystemTime", ANY, |call| call.ptr(1).write(call.ptr::<u64>(0).read()?)),
    routine!("RtlTimeToTimeFields", ANY, |call| {
        let fields = time_fields(call.ptr::<u64>(0).read()?);
        call.ptr(1).write(fields)
    }),
    // Arguments: fields, pointer to the time. Returns whether the fields are a valid time.
    routine!("RtlTimeFieldsToTime", ANY, |call| {
        let Some(time) = time_of(call.ptr::<TIME_FIELDS>(0).read()?) else { return done(false) };
        call.ptr(1).write(time)?;
        done(true)
    }),
    // Arguments of both: the time or the seconds, pointer to the result. The first returns whether the result fits in
    // 32 bits.
    routine!("RtlTimeToSecondsSince1970", ANY, |call| {
        let seconds = call.ptr::<u64>(0).read()?.checked_sub(UNIX_EPOCH).map(|time| time / SECOND);
        let Some(seconds) = seconds.and_then(|seconds| u32::try_from(seconds).ok()) else { return done(false) };
        call.ptr(1).write(seconds)?;
        done(true)
    }),
    routine!("RtlSecondsSince1970ToTime", ANY, |call| {
        call.ptr(1).write(UNIX_EPOCH + u64::from(call.u32(0)) * SECOND)
    }),
    fixed("ExSetTimerResolution", APC, TICK),
];

fn initialize(timer: GuestPtr<KTIMER>, kind: u8) -> Result<(), Fault> {
    timer.zero()?;
    timer.Header().initialize(NOTIFICATION.wrapping_add(kind), 0)
}

fn set(call: &Call, period: u32, dpc: GuestPtr<KDPC>) -> Outcome<bool> {
    let timer = call.ptr::<KTIMER>(0);
    let due = kernel().scheduler.deadline(call.arg(1).cast_signed());
    let was_set = kernel().scheduler.change(|state| state.unset(timer.address()));
    timer.Header().SignalState().write(0)?;
    let action = dpc.non_null().map(|dpc| -> Action { Arc::new(move || dpc::run(dpc)) });
    let (key, period) = (timer.address(), u64::from(period) * MILLISECOND);
    let entry = Timer { key, due, period, signals: Some(timer.Header()), action, from: call.from };
    thread::job_queued();
    kernel().scheduler.change(|state| state.timers.push(entry));
    Ok(was_set)
}

/// Converts 100 ns units since 1601 to date and time.
fn time_fields(time: u64) -> TIME_FIELDS {
    const DAY: u64 = 864_000_000_000;
    let (days, rest) = (time / DAY, time % DAY);
    let (year, month, day) = civil(days);
    let second = rest / 10_000_000;
    TIME_FIELDS {
        Year: year as u16,
        Month: month as u16,
        Day: day as u16,
        Hour: (second / 3600) as u16,
        Minute: (second / 60 % 60) as u16,
        Second: (second % 60) as u16,
        Milliseconds: (rest % 10_000_000 / MILLISECOND) as u16,
        // 1601-01-01 was a Monday.
        Weekday: ((days + 1) % 7) as u16,
    }
}

/// Converts date and time to 100 ns units since 1601. Returns `None` if there is no such date.
fn time_of(fields: TIME_FIELDS) -> Option<u64> {
    let (year, month, day) = (u64::from(fields.Year), u64::from(fields.Month), u64::from(fields.Day));
    let inside = fields.Hour < 24 && fields.Minute < 60 && fields.Second < 60 && fields.Milliseconds < 1000;
    // The year starts at least 365 days per year after 1601. There are at most `year / 4` leap days, and the date is
    // within 366 days of the start of its year.
    let first = year.checked_sub(1601)? * 365;
    let days = (first..first + year / 4 + 366).find(|days| civil(*days) == (year, month, day)).filter(|_| inside)?;
    let hours = days * 24 + u64::from(fields.Hour);
    let seconds = (hours * 60 + u64::from(fields.Minute)) * 60 + u64::from(fields.Second);
    Some(seconds * SECOND + u64::from(fields.Milliseconds) * MILLISECOND)
}

/// Returns the year, month and day that is `days` after 1601-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // 400 years have 146,097 days, and such a cycle begins in 1601.
    let mut year = 1601 + days / 146_097 * 400;
    let mut left = days % 146_097;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::{civil, time_fields, time_of};

    #[test]
    fn days_become_dates_across_leap_years() {
        assert_eq!(civil(0), (1601, 1, 1));
        assert_eq!(civil(134_774), (1970, 1, 1));
        assert_eq!(civil(134_774 + 20_454), (2026, 1, 1));
        assert_eq!(civil(134_774 + 11_016), (2000, 2, 29));
    }

    #[test]
    fn fields_become_the_time_that_they_are_from() {
        for time in [0, 133_444_736_123_450_000, 125_963_423_990_010_000] {
            assert_eq!(time_of(time_fields(time)), Some(time));
        }
        let mut fields = time_fields(125_963_423_990_010_000);
        (fields.Month, fields.Day) = (2, 30);
        assert_eq!(time_of(fields), None);
    }
}
