//! The number of instructions of a program is the same on a busy machine and on an idle one.

use std::process::Command;

use bench::step::program::between_marks;

#[test]
fn the_count_does_not_depend_on_when_the_kernel_updates_the_time() {
    let count = |reads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        between_marks(command.args(["worker", "clock", reads])).unwrap()
    };
    let none = count("1");
    let first = count("301");
    let second = count("601");
    let third = count("901");
    let each = (first - none) / 300;
    assert_eq!(first - none, 300 * each, "each read takes as many instructions");
    assert_eq!(second - first, 300 * each, "each read takes as many instructions");
    assert_eq!(third - second, 300 * each, "each read takes as many instructions");
}
