//! A driver that can panic. The tests must detect that.

#![no_std]
#![no_main]

use images::kernel::Input;

images::driver!(load, unload);

#[expect(clippy::indexing_slicing, reason = "the panic that the tests look for")]
fn load(input: Input<'_>) -> u32 {
    let table = [1, 2, 3];
    // The compiler cannot prove that the index is in bounds, so it emits a panic.
    table[input.seed]
}

fn unload() {}
