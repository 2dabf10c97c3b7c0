//! Counts the instructions of a call from a driver to a routine of nt-host.

use super::{Findings, Images};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::step::program::between_marks;
use crate::tools::worker_command;

const TEXT: &str = "\
A driver calls `RtlUpperChar`, one of the shortest routines, in nt-host. Instructions are those from the driver's `call` to the routine's body \
and back, with the body and the three instructions of the driver's loop, counted by single steps.";
/// The row, which is also the goal.
const ROW: &str = "call of a short routine of nt-host, instructions";
/// The number of calls in the run that has them.
const CALLS: u64 = 1000;
/// The maximum number of instructions: 278 when it was chosen.
const LIMIT: f64 = 300.0;

/// Steps through a driver's entry point with and without calls.
///
/// # Errors
///
/// Returns an error if the driver cannot be stepped, or if two runs differ.
pub fn calls(images: &Images) -> Result<Findings, String> {
    let image = images.path("calls")?.display().to_string();
    let run = |thousands: &str| between_marks(&mut worker_command(&["calls", thousands, &image])?);
    let measure = || Ok::<u64, String>(run("1")?.saturating_sub(run("0")?));
    let first = measure()?;
    let second = measure()?;
    if first.abs_diff(second) > CALLS {
        return Err(format!("two runs differ: {first} and {second} instructions"));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
    let each = (first.min(second) / CALLS) as f64;
    let how = "stepped twice; 1,000 calls minus none";
    let mut section = Section::new("A call of a routine", TEXT, &["what", "instructions"]);
    section.row(vec![Cell::text(ROW), Cell::Number(each, 0)], how);
    let goal = Goal {
        what: String::from(ROW),
        limit: LIMIT,
        bound: Bound::AtMost,
        origin: Origin::Regression,
        measured: Some(each),
        everywhere: true,
        note: String::from("single steps"),
        why: String::from(
            "A call switches stacks, saves the driver's registers, and checks its state, IRQL and failures.",
        ),
    };
    Ok(Findings { sections: vec![section], goals: vec![goal] })
}
