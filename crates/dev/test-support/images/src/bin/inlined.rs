//! Calls that the compiler inlines: `core` into `get`, `get` into `sum`, and `sum` into `load`. The marks identify
//! lines for a test.

#![no_std]
#![no_main]

use images::kernel::Input;

images::driver!(load, unload);

/// A type with a method. The symbols name the method with its type.
struct Cell<'a> {
    value: &'a usize,
}

impl Cell<'_> {
    #[inline(always)]
    fn get(&self) -> usize {
        let address = core::ptr::from_ref(self.value);
        // SAFETY: the address comes from a reference.
        unsafe { address.read_volatile() } // MARK: inner
    }
}

#[inline(always)]
fn sum(cell: &Cell<'_>) -> usize {
    let value = cell.get(); // MARK: middle
    // Two uses, so that the read stays a separate instruction.
    value ^ value.rotate_left(9)
}

#[inline(never)]
fn load(input: Input<'_>) -> u32 {
    let cell = Cell { value: &input.seed };
    let sum = sum(&cell); // MARK: outer
    u32::from(sum == 7)
}

fn unload() {}
