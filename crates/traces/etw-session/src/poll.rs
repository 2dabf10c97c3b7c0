//! Events of a system that must be polled.
//!
//! Sessions deliver buffers of single processors, one after the other. Events of buffers that are available together
//! are sorted by time, as Windows does for its consumers. Events of a buffer that arrives later come later.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use etw_etl::Event;
use etw_types::Win32Error;

use crate::system::{EventSource, Received};

/// The interval between two polls while a receiver waits.
const EVERY: Duration = Duration::from_millis(5);
/// The maximum number of buffers that are sorted together.
const MOST: usize = 256;

/// The result of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled {
    /// The events of a buffer.
    Buffer(Vec<Event>),
    /// No buffer is available now.
    Nothing,
    /// The session has stopped and everything was delivered.
    End,
    /// Reading failed.
    Failed(Win32Error),
}

/// Creates a source that calls `next` periodically. `next` must not block.
pub fn poll(next: impl FnMut() -> Polled + Send + 'static) -> Box<dyn EventSource> {
    Box::new(Source { next, waiting: VecDeque::new(), last: None })
}

struct Source<F> {
    next: F,
    waiting: VecDeque<Event>,
    /// The final result, returned when no event is left.
    last: Option<Received>,
}

impl<F: FnMut() -> Polled + Send> Source<F> {
    /// Reads all available buffers.
    fn take(&mut self) {
        let mut events = Vec::new();
        for _ in 0..MOST {
            match (self.next)() {
                Polled::Buffer(buffer) => events.extend(buffer),
                Polled::Nothing => break,
                Polled::End => self.last = Some(Received::End),
                Polled::Failed(code) => self.last = Some(Received::Failed(code)),
            }
            if self.last.is_some() {
                break;
            }
        }
        // The sort is stable: events with the same time keep their order.
        events.sort_by_key(|event: &Event| event.header.stamp);
        self.waiting.extend(events);
    }
}

impl<F: FnMut() -> Polled + Send> EventSource for Source<F> {
    fn receive(&mut self, timeout: Duration) -> Received {
        let end = Instant::now().checked_add(timeout);
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Received::Event(Box::new(event));
            }
            if let Some(last) = &self.last {
                return last.clone();
            }
            self.take();
            if self.waiting.is_empty() && self.last.is_none() {
                if end.is_some_and(|end| Instant::now() >= end) {
                    return Received::Nothing;
                }
                thread::sleep(EVERY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use etw_etl::{Clock, Event, EventData};
    use etw_types::Win32Error;

    use super::{Polled, poll};
    use crate::system::Received;

    fn event(stamp: u64, cpu: u16) -> Event {
        let data = EventData { timestamp: stamp, ..EventData::default() };
        let mut bytes = vec![0; data.encoded_len()];
        data.encode(&mut bytes).expect("room");
        Event::from_record(&bytes, cpu, &Clock::default()).expect("a record")
    }

    #[test]
    fn buffers_that_are_there_together_are_put_in_order() {
        let buffer = |stamps: &[u64], cpu| Polled::Buffer(stamps.iter().map(|stamp| event(*stamp, cpu)).collect());
        let mut results = vec![
            Polled::Nothing,
            buffer(&[1, 4, 4], 0),
            buffer(&[2, 4], 1),
            Polled::Nothing,
            buffer(&[3], 0),
            Polled::Failed(Win32Error::Cancelled),
        ]
        .into_iter();
        let mut source = poll(move || results.next().expect("it is not asked after the end"));
        let mut seen = Vec::new();
        let last = loop {
            match source.receive(Duration::from_secs(30)) {
                Received::Event(event) => seen.push((event.header.stamp, event.header.cpu)),
                last => break last,
            }
        };
        assert_eq!(seen, [(1, 0), (2, 1), (4, 0), (4, 0), (4, 1), (3, 0)]);
        assert_eq!(last, Received::Failed(Win32Error::Cancelled));
        assert_eq!(source.receive(Duration::ZERO), last);
    }

    #[test]
    fn a_source_without_events_is_polled_once_and_waits_at_most_its_timeout() {
        let mut polls = 0;
        let mut source = poll(move || {
            polls += 1;
            if polls == 1 { Polled::Nothing } else { Polled::End }
        });
        assert_eq!(source.receive(Duration::ZERO), Received::Nothing);
        assert_eq!(source.receive(Duration::ZERO), Received::End);
    }
}
