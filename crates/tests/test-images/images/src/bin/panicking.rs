//! A driver that can panic: the tests must find that out.

#![no_std]
#![no_main]

use images::kernel::Input;

images::driver!(load, unload);

#[expect(clippy::indexing_slicing, reason = "the panic that the tests look for")]
fn load(input: Input<'_>) -> u32 {
    let table = [1, 2, 3];
    // The compiler can prove neither that the index is in bounds nor that it is not.
    table[input.seed]
}

fn unload() {}
