//! Clocks and timers.

use std::sync::Arc;

use super::kernel;
use super::routine::{ANY, APC, Call, DISPATCH, Routine, routine};
use super::scheduler::Timer;
use crate::memory::guest;

/// 100 ns units of a millisecond.
const MILLISECOND: u64 = 10_000;
/// Time between two ticks of the clock interrupt: 15.625 ms.
const TICK: u64 = 156_250;
/// `TimerNotificationObject`.
const NOTIFICATION: u8 = 8;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeInitializeTimer", ANY, |call| initialize(call.arg(0), 0)),
    routine("KeInitializeTimerEx", ANY, |call| initialize(call.arg(0), call.u8(1))),
    routine("KeSetTimer", DISPATCH, |call| set(call, 0, call.arg(2))),
    routine("KeSetTimerEx", DISPATCH, |call| set(call, call.u32(2), call.arg(3))),
    routine("KeSetCoalescableTimer", DISPATCH, |call| set(call, call.u32(2), call.arg(4))),
    routine("KeCancelTimer", DISPATCH, |call| cancel(call.arg(0)).into()),
    routine("KeReadStateTimer", ANY, |call| u64::from(guest::read::<i32>(call.arg(0) + 4) != 0)),
    routine("KeDelayExecutionThread", APC, |call| {
        let deadline = kernel().scheduler.deadline(guest::read(call.arg(2)));
        kernel().scheduler.wait(Some(deadline), |_| None::<()>);
        0
    }),
    routine("KeQueryTimeIncrement", ANY, |_| TICK),
    routine("KeQueryInterruptTime", ANY, |_| kernel().scheduler.now()),
    routine("KeQueryUnbiasedInterruptTime", ANY, |_| kernel().scheduler.now()),
    routine("KeQueryInterruptTimePrecise", ANY, |call| {
        guest::write_if(call.arg(0), kernel().scheduler.now());
        kernel().scheduler.now()
    }),
    routine("KeQuerySystemTime", ANY, store_system_time),
    routine("KeQuerySystemTimePrecise", ANY, store_system_time),
    routine("KeQueryTickCount", ANY, |call| {
        guest::write(call.arg(0), kernel().scheduler.now() / TICK);
        0
    }),
    routine("KeQueryPerformanceCounter", ANY, |call| {
        guest::write_if(call.arg(0), 10_000_000_u64);
        kernel().scheduler.now()
    }),
    routine("KeStallExecutionProcessor", ANY, |_| 0).fixed(),
    routine("ExSystemTimeToLocalTime", ANY, |call| {
        guest::write(call.arg(1), guest::read::<u64>(call.arg(0)));
        0
    }),
    routine("ExLocalTimeToSystemTime", ANY, |call| {
        guest::write(call.arg(1), guest::read::<u64>(call.arg(0)));
        0
    }),
    routine("RtlTimeToTimeFields", ANY, time_fields),
    routine("ExSetTimerResolution", APC, |_| TICK).fixed(),
];

fn store_system_time(call: &Call) -> u64 {
    guest::write(call.arg(0), kernel().scheduler.system_time());
    0
}

fn initialize(timer: u64, kind: u8) -> u64 {
    guest::fill(timer, 0, 0x40);
    guest::write(timer, NOTIFICATION + kind);
    guest::write(timer + 8, timer + 8);
    guest::write(timer + 16, timer + 8);
    0
}

fn set(call: &Call, period: u32, dpc: u64) -> u64 {
    let timer = call.arg(0);
    let due = kernel().scheduler.deadline(call.arg(1).cast_signed());
    let was_set = cancel(timer);
    guest::write(timer + 4, 0_i32);
    let action = (dpc != 0).then(|| -> super::scheduler::Action { Arc::new(move || super::dpc::run(dpc)) });
    let period = u64::from(period) * MILLISECOND;
    let entry = Timer { key: timer, due, period, signals: Some(timer), action, from: call.from };
    kernel().scheduler.change(|state| state.timers.push(entry));
    was_set.into()
}

fn cancel(timer: u64) -> bool {
    kernel().scheduler.change(|state| {
        let before = state.timers.len();
        state.timers.retain(|known| known.key != timer);
        state.timers.len() != before
    })
}

/// `TIME_FIELDS`: year, month, day, hour, minute, second, millisecond, day of week.
fn time_fields(call: &Call) -> u64 {
    const DAY: u64 = 864_000_000_000;
    let time: u64 = guest::read(call.arg(0));
    let (days, rest) = (time / DAY, time % DAY);
    let (year, month, day) = civil(days);
    let second = rest / 10_000_000;
    let fields = [
        year,
        month,
        day,
        second / 3600,
        second / 60 % 60,
        second % 60,
        rest % 10_000_000 / 10_000,
        // 1601-01-01 was a Monday.
        (days + 1) % 7,
    ];
    for (index, field) in (0..).zip(fields) {
        guest::write(call.arg(1) + index * 2, field as u16);
    }
    0
}

/// Year, month and day of the day that is `days` after 1601-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // 400 years have 146,097 days, and 1601 begins such a cycle.
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
    use super::civil;

    #[test]
    fn days_become_dates_across_leap_years() {
        assert_eq!(civil(0), (1601, 1, 1));
        assert_eq!(civil(134_774), (1970, 1, 1));
        assert_eq!(civil(134_774 + 20_454), (2026, 1, 1));
        assert_eq!(civil(134_774 + 11_016), (2000, 2, 29));
    }
}
