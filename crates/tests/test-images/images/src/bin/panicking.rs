//! A driver that can panic. The tests must detect that.

#![no_std]
#![no_main]

use images::kernel::Input;

images::driver!(load, unload);

#[expect(clippy::indexing_slicing, reason = "the panic that the tests look for")]
fn load(input: Input<'_>) -> u32 {
    let table = [1, 2, 3];
    // The compiler cannot prove whether the index is in bounds.
    table[input.seed]
}

fn unload() {}
