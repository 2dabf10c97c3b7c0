//! Tests the table of devices. There is only one test, because the table is a single static.

use std::time::Duration;

use super::devices::{self, State};
use super::ioctl::Statistics;

#[test]
fn slots_are_taken_counted_and_given_back() {
    let first = devices::add().expect("an empty table");
    let second = devices::add().expect("one slot is taken");
    assert_ne!(first.id(), second.id());
    assert_eq!(devices::all().count(), 2);
    assert_eq!(first.state(), State::Added);
    assert_eq!(first.state().name(), "added");

    first.set_state(State::Working);
    first.count_request();
    first.count_bytes(7);
    assert_eq!(first.count_tick(), 1);
    first.set_interval(Duration::from_millis(250));
    assert_eq!(first.interval(), Duration::from_millis(250));
    assert_eq!(first.statistics(), Statistics { requests: 1, bytes: 7, ticks: 1 });
    assert_eq!(second.statistics(), Statistics::default());

    first.remove();
    assert_eq!(devices::all().map(devices::Device::id).collect::<Vec<_>>(), [second.id()]);
    let third = devices::add().expect("a slot was given back");
    assert_eq!(third.statistics(), Statistics::default());
    assert_eq!(third.interval(), Duration::from_secs(1));
    assert!(third.id() > second.id());

    let more: Vec<_> = std::iter::from_fn(devices::add).collect();
    assert!(devices::add().is_none(), "the table is full");
    assert_eq!(devices::all().count(), more.len() + 2);
    devices::all().for_each(devices::Device::remove);
    assert_eq!(devices::all().count(), 0);

    third.set_state(State::Stopped);
    assert_eq!(third.state().name(), "stopped");
    third.remove();
    assert_eq!(State::Free.name(), "free");
    assert_eq!(State::Working.name(), "working");
}
