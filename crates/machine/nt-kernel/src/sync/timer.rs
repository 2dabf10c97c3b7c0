//! Clocks and timers.

use std::sync::Arc;

use nt_processor::cpu::thread;
use nt_processor::layout::{KDPC, KTIMER, TIME_FIELDS};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, HAL, Ignored, Out, Outcome, done, routines};
use windows_constants::object::TimerNotificationObject;

use super::dpc;
use super::scheduler::{Action, Timer};
use crate::{Kernel, kernel};

/// A millisecond in 100 ns units.
const MILLISECOND: u64 = 10_000;
/// A second, and the time from 1601 to 1970, in 100 ns units.
const SECOND: u64 = 1000 * MILLISECOND;
const UNIX_EPOCH: u64 = 11_644_473_600 * SECOND;
/// The start of 1980.
const YEAR_1980: u64 = 11_960_006_400 * SECOND;
/// The time between two clock interrupts: 15.625 ms.
pub const TICK: u64 = 156_250;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeInitializeTimer(timer: GuestPtr<KTIMER>) -> Result<(), Fault> {
        initialize(timer, 0)
    }

    #[irql(ANY)]
    fn KeInitializeTimerEx(timer: GuestPtr<KTIMER>, kind: i32) -> Result<(), Fault> {
        initialize(timer, kind.cast_unsigned() as u8)
    }

    #[irql(DISPATCH), keeps]
    fn KeSetTimer(&call, timer: GuestPtr<KTIMER>, due: i64, dpc: GuestPtr<KDPC>) -> Result<bool, Fault> {
        set(call, timer, due, 0, dpc)
    }

    #[irql(DISPATCH), keeps]
    fn KeSetTimerEx(&call, timer: GuestPtr<KTIMER>, due: i64, period: i32, dpc: GuestPtr<KDPC>) -> Result<bool, Fault> {
        set(call, timer, due, period.cast_unsigned(), dpc)
    }

    #[irql(DISPATCH), keeps]
    fn KeSetCoalescableTimer(
        &call,
        timer: GuestPtr<KTIMER>,
        due: i64,
        period: u32,
        _delay: Ignored<u32>,
        dpc: GuestPtr<KDPC>,
    ) -> Result<bool, Fault> {
        set(call, timer, due, period, dpc)
    }

    #[irql(DISPATCH)]
    fn KeCancelTimer(timer: GuestPtr<KTIMER>) -> bool {
        kernel().scheduler.change(|state| state.unset(timer.address()))
    }

    #[irql(ANY)]
    fn KeReadStateTimer(timer: GuestPtr<KTIMER>) -> Result<bool, Fault> {
        Ok(timer.Header().SignalState().read()? != 0)
    }

    #[irql(APC)]
    fn KeDelayExecutionThread(_mode: Ignored<i8>, _alertable: Ignored<bool>, interval: GuestPtr<i64>) -> Outcome {
        let Kernel { scheduler, .. } = kernel();
        let deadline = scheduler.deadline(interval.read()?);
        scheduler.wait_until(deadline);
        done(())
    }

    #[irql(ANY)]
    fn KeQueryTimeIncrement() -> u32 {
        TICK as u32
    }

    #[irql(ANY)]
    fn KeQueryInterruptTime() -> u64 {
        kernel().scheduler.now()
    }

    #[irql(ANY)]
    fn KeQueryUnbiasedInterruptTime() -> u64 {
        kernel().scheduler.now()
    }

    #[irql(ANY)]
    fn KeQueryInterruptTimePrecise(counter: Out<u64>) -> Result<u64, Fault> {
        let Kernel { scheduler, .. } = kernel();
        counter.set_if_wanted(scheduler.now())?;
        Ok(scheduler.now())
    }

    #[irql(ANY)]
    fn KeQuerySystemTime(time: Out<u64>) -> Result<(), Fault> {
        time.set(kernel().scheduler.system_time())
    }

    #[irql(ANY)]
    fn KeQuerySystemTimePrecise(time: Out<u64>) -> Result<(), Fault> {
        time.set(kernel().scheduler.system_time())
    }

    #[irql(ANY)]
    fn KeQueryTickCount(count: Out<u64>) -> Result<(), Fault> {
        count.set(kernel().scheduler.now() / TICK)
    }

    #[irql(ANY), module(HAL)]
    fn KeQueryPerformanceCounter(frequency: Out<u64>) -> Result<i64, Fault> {
        frequency.set_if_wanted(10_000_000)?;
        Ok(kernel().scheduler.now().cast_signed())
    }

    #[irql(ANY), module(HAL), fixed]
    fn KeStallExecutionProcessor(_microseconds: Ignored<u32>) {}

    #[irql(ANY)]
    fn ExSystemTimeToLocalTime(system: GuestPtr<u64>, local: Out<u64>) -> Result<(), Fault> {
        local.set(system.read()?)
    }

    #[irql(ANY)]
    fn ExLocalTimeToSystemTime(local: GuestPtr<u64>, system: Out<u64>) -> Result<(), Fault> {
        system.set(local.read()?)
    }

    #[irql(ANY)]
    fn RtlTimeToTimeFields(time: GuestPtr<u64>, fields: Out<TIME_FIELDS>) -> Result<(), Fault> {
        fields.set(time_fields(time.read()?))
    }

    /// Returns whether the fields are a valid time.
    #[irql(ANY)]
    fn RtlTimeFieldsToTime(fields: GuestPtr<TIME_FIELDS>, time: Out<u64>) -> Result<bool, Fault> {
        let Some(found) = time_of(fields.read()?) else { return Ok(false) };
        time.set(found)?;
        Ok(true)
    }

    #[irql(ANY)]
    fn RtlTimeToSecondsSince1970(time: GuestPtr<u64>, seconds: Out<u32>) -> Result<bool, Fault> {
        seconds_since(UNIX_EPOCH, time, seconds)
    }

    #[irql(APC)]
    fn RtlTimeToSecondsSince1980(time: GuestPtr<u64>, seconds: Out<u32>) -> Result<bool, Fault> {
        seconds_since(YEAR_1980, time, seconds)
    }

    #[irql(ANY)]
    fn RtlSecondsSince1970ToTime(seconds: u32, time: Out<u64>) -> Result<(), Fault> {
        time.set(UNIX_EPOCH + u64::from(seconds) * SECOND)
    }

    #[irql(APC)]
    fn RtlSecondsSince1980ToTime(seconds: u32, time: Out<u64>) -> Result<(), Fault> {
        time.set(YEAR_1980 + u64::from(seconds) * SECOND)
    }

    #[irql(APC), fixed]
    fn ExSetTimerResolution(_time: Ignored<u32>, _set: Ignored<bool>) -> u32 {
        TICK as u32
    }
}

fn initialize(timer: GuestPtr<KTIMER>, kind: u8) -> Result<(), Fault> {
    timer.zero()?;
    timer.Header().initialize(TimerNotificationObject.wrapping_add(kind), 0)
}

fn set(call: &Call, timer: GuestPtr<KTIMER>, due: i64, period: u32, dpc: GuestPtr<KDPC>) -> Result<bool, Fault> {
    let Kernel { scheduler, .. } = kernel();
    let due = scheduler.deadline(due);
    let was_set = scheduler.change(|state| state.unset(timer.address()));
    timer.Header().SignalState().write(0)?;
    let action = dpc.non_null().map(|dpc| -> Action { Arc::new(move || dpc::run(dpc)) });
    let key = timer.address();
    let period = u64::from(period) * MILLISECOND;
    let entry = Timer { key, due, period, signals: Some(timer.Header()), action, from: call.from };
    thread::job_queued();
    scheduler.change(|state| state.timers.push(entry));
    Ok(was_set)
}

/// Writes the seconds from a moment to a time. Returns whether they fit in 32 bits.
fn seconds_since(start: u64, time: GuestPtr<u64>, seconds: Out<u32>) -> Result<bool, Fault> {
    let elapsed = time.read()?.checked_sub(start).map(|elapsed| elapsed / SECOND);
    let Some(elapsed) = elapsed.and_then(|elapsed| u32::try_from(elapsed).ok()) else { return Ok(false) };
    seconds.set(elapsed)?;
    Ok(true)
}

/// Converts 100 ns units since 1601 to date and time.
fn time_fields(time: u64) -> TIME_FIELDS {
    const DAY: u64 = 864_000_000_000;
    let days = time / DAY;
    let rest = time % DAY;
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
    // The members are signed.
    let year = u64::try_from(fields.Year.cast_signed()).ok()?;
    let month = u64::from(fields.Month);
    let day = u64::from(fields.Day);
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
