//! Panics: an index is out of bounds.

#![no_std]
#![no_main]

use core::hint::black_box;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

#[expect(clippy::indexing_slicing, reason = "the mistake that the test is about")]
fn load(_: *mut DriverObject) -> u32 {
    let table = [0, 0, 0];
    let index = black_box(if buggy() { 3 } else { 2 });
    table[index] // BUG
}

fn unload() {}
