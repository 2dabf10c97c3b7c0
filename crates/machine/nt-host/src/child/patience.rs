//! How much time a thread has taken, on a machine that may be busy with something else.
//!
//! A runnable thread may not get the processor, and that time must not count. So while any thread of this process can
//! run, only processor time counts, that of the busiest thread. While all threads wait, wall-clock time counts. A thread
//! that was started but has not run yet also can run: it may be the one that the others wait for.
//!
//! The time that the host takes for one call of the driver is not the driver's, such as the time for a large file, unless it
//! takes so long that it probably follows a structure which the driver has destroyed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nt_machine::Machine;

/// How often threads are checked.
pub(super) const INTERVAL: Duration = Duration::from_millis(25);

/// The maximum wall-clock time of [`wait`].
const LONGEST: Duration = Duration::from_secs(30);

/// The time that the driver has taken for a request.
pub(super) struct Patience {
    spent: Duration,
    /// The time that the host has taken for the call that it is making, and the limit of that.
    host: Duration,
    limit: Duration,
    looked: Instant,
    /// The processor time of each thread at the last check, in nanoseconds.
    times: BTreeMap<i32, u64>,
    /// The threads that ran code of the host at the last check, and since when.
    phases: BTreeMap<i32, u64>,
}

impl Patience {
    /// Begins with the processor times of all threads. `limit` is how long the host may take for one call; longer, and the time
    /// counts.
    pub(super) fn new(times: &BTreeMap<i32, u64>, limit: Duration) -> Self {
        let phases = BTreeMap::new();
        Self {
            spent: Duration::ZERO,
            host: Duration::ZERO,
            limit,
            looked: Instant::now(),
            times: times.clone(),
            phases,
        }
    }

    /// Updates the time from the state of the threads, and returns it.
    pub(super) fn spent(&mut self, machine: Machine) -> Duration {
        let times = machine.processor_times();
        let phases = machine.host_phases();
        let before = |thread: &i32| self.times.get(thread).copied().unwrap_or_default();
        let used =
            times.iter().map(|(thread, time)| (*thread, Duration::from_nanos(time.saturating_sub(before(thread)))));
        let Used { mut driver, host } = Used::new(used, &self.phases, &phases);
        self.host = if host.is_zero() { Duration::ZERO } else { self.host + host };
        if self.host > self.limit {
            driver = driver.max(host);
        }
        let waited = self.looked.elapsed();
        self.spent += counted(driver, waited, are_others_asleep);
        self.looked = Instant::now();
        self.times = times;
        self.phases = phases;
        self.spent
    }
}

/// Processor time since the last check.
#[derive(Debug, PartialEq, Eq)]
struct Used {
    /// That of the busiest thread that ran the driver in between.
    driver: Duration,
    /// That of the busiest thread that only ran the host, for one call.
    host: Duration,
}

impl Used {
    /// Divides the time that threads have used. A thread only ran the host if its phase is the same as at the last check.
    fn new(used: impl Iterator<Item = (i32, Duration)>, before: &BTreeMap<i32, u64>, now: &BTreeMap<i32, u64>) -> Self {
        let mut all = Self { driver: Duration::ZERO, host: Duration::ZERO };
        for (thread, time) in used {
            let is_host = now.get(&thread).is_some_and(|phase| before.get(&thread) == Some(phase));
            let most = if is_host { &mut all.host } else { &mut all.driver };
            *most = time.max(*most);
        }
        all
    }
}

/// Calls `is_over`, which waits for at most the time that it gets, until it returns `true` or all other threads of this
/// process have waited for `most`. A busy machine does not shorten the time that they get. A thread that never waits is
/// given up after [`LONGEST`].
pub(super) fn wait(most: Duration, mut is_over: impl FnMut(Duration) -> bool) {
    let mut quiet = Duration::ZERO;
    let began = Instant::now();
    while quiet < most && !is_over(INTERVAL) && began.elapsed() < LONGEST {
        quiet = if are_others_asleep() { quiet + INTERVAL } else { Duration::ZERO };
    }
}

/// Returns how much of the time since the last check counts. `used` is the processor time of the busiest thread,
/// `waited` the wall-clock time, and `is_quiet` returns whether all threads wait.
fn counted(used: Duration, waited: Duration, is_quiet: impl FnOnce() -> bool) -> Duration {
    // Reading the state of every thread takes time, and a thread that ran most of the time was not waiting.
    if used > waited / 2 {
        return used.min(waited);
    }
    // This thread may not have had the processor either. It does not know what happened meanwhile, so only the time
    // around one check counts.
    let idle = if is_quiet() { waited.min(INTERVAL * 2) } else { Duration::ZERO };
    idle.max(used)
}

/// Returns whether all threads of this process wait, except for the calling one.
fn are_others_asleep() -> bool {
    // SAFETY: the call only returns a number.
    let this = unsafe { libc::gettid() };
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    let ids = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|thread| *thread != this).all(is_asleep)
}

/// Returns whether a thread of this process waits. A thread whose state cannot be read has ended, and counts as
/// waiting.
fn is_asleep(thread: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    // The name is in parentheses and may contain anything; the state follows it.
    status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::{INTERVAL, Used, are_others_asleep, counted, is_asleep};

    #[test]
    fn the_time_for_one_long_call_of_the_host_is_not_the_drivers() {
        let second = Duration::from_secs(1);
        let phases = |phase: u64| BTreeMap::from([(1, phase)]);
        let used = |before: &BTreeMap<i32, u64>, now: &BTreeMap<i32, u64>| {
            Used::new([(1, second), (2, second / 4)].into_iter(), before, now)
        };
        // Thread 1 is in the same call at both checks; thread 2 is in the driver.
        assert_eq!(used(&phases(4), &phases(4)), Used { driver: second / 4, host: second });
        // It has returned, and has called something again.
        assert_eq!(used(&phases(4), &phases(8)), Used { driver: second, host: Duration::ZERO });
        assert_eq!(used(&phases(4), &BTreeMap::new()), Used { driver: second, host: Duration::ZERO });
        assert_eq!(used(&BTreeMap::new(), &phases(4)), Used { driver: second, host: Duration::ZERO });
    }

    #[test]
    fn only_processor_time_counts_while_a_thread_wants_to_run() {
        let none = Duration::ZERO;
        let second = Duration::from_secs(1);
        // A busy machine: no thread got the processor, and this thread checked late.
        assert_eq!(counted(none, second * 60, || false), none);
        assert_eq!(counted(INTERVAL, second * 60, || false), INTERVAL);
        // A thread that spins.
        assert_eq!(counted(second, second, || false), second);
        // All threads wait: at most two intervals count.
        assert_eq!(counted(none, INTERVAL, || true), INTERVAL);
        assert_eq!(counted(none, second * 60, || true), INTERVAL * 2);
    }

    #[test]
    fn a_thread_that_runs_is_not_asleep_and_one_that_waits_is() {
        // SAFETY: the call only returns a number.
        let this = unsafe { libc::gettid() };
        assert!(!is_asleep(this));
        let ((sender, number), (release, wait)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let other = std::thread::spawn(move || {
            // SAFETY: the call only returns a number.
            let _ = sender.send(unsafe { libc::gettid() });
            let _ = wait.recv();
        });
        let other_number = number.recv().expect("a number");
        // The thread waits soon; the system decides when.
        while !is_asleep(other_number) {
            std::thread::yield_now();
        }
        drop(release);
        other.join().expect("it ends");
        assert!(is_asleep(other_number), "a thread that has ended counts as waiting");
    }

    /// No machine knows this thread, as no machine knows a thread that was started and has not run yet.
    #[test]
    fn a_thread_that_no_machine_knows_can_keep_the_others_waiting() {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            assert!(!are_others_asleep());
            over.store(true, Ordering::Relaxed);
        });
    }
}
