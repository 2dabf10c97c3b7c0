//! Calls itself until its stack is used up.

#![no_std]
#![no_main]

use core::hint::black_box;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

/// A frame of more than a page, so that its prolog looks for the end of the stack, wherever that is.
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    // BUG
    let frame = black_box([depth; 600]);
    if depth == 0 { 0 } else { deeper(depth - 1) + frame[1] }
}

fn load(_: *mut DriverObject) -> u32 {
    black_box(deeper(if buggy() { 1000 } else { 1 }));
    0
}

fn unload() {}
