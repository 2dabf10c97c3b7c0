//! Calls itself until its stack is used up.

#![no_std]
#![no_main]

use core::hint::black_box;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

#[inline(never)]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 32]); // BUG
    if depth == 0 { 0 } else { deeper(depth - 1) + frame[1] }
}

fn load(_: *mut DriverObject) -> u32 {
    black_box(deeper(if buggy() { 1000 } else { 4 }));
    0
}

fn unload() {}
