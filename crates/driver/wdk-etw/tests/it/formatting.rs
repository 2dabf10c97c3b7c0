//! The limit for text that writes events while it is formatted.

use std::{iter, thread};

use etw_symbols as _;
use wdk_etw::__private::Formatting;
use wdk_etw::{Kernel, Mode, User};

fn each_thread_has_its_own_limit<M: Mode>() {
    let entered: Vec<_> = iter::from_fn(Formatting::<M>::enter).collect();
    assert_eq!(entered.len(), 4);
    thread::scope(|scope| {
        let other = scope.spawn(|| Formatting::<M>::enter().is_some());
        assert!(other.join().unwrap(), "the other thread formats nothing");
    });
}

#[test]
fn threads_do_not_share_the_limit() {
    each_thread_has_its_own_limit::<Kernel>();
    each_thread_has_its_own_limit::<User>();
}
