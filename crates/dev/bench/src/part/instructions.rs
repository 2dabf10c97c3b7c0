//! Measures instructions, descriptors and stack of an event: disabled, enabled, and with a keyword that is not enabled.

pub(super) mod driver;

use super::images::SIDES;
use super::{Findings, Images};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use driver::{Driver, Measured, SHAPES};

const HOW: &str = "stepped twice, equal";
const TEXT: &str = "\
Each event is one exported function of a release image, executed in single steps from its first instruction to its `ret`. The kernel's \
routine is neither executed nor counted; the jump through which `tracelogging` reaches it is part of the image and counts. Events have \
level 4: E0 has no fields, E1 a `u32`, E2 a `u32`, a `u64` and text of 16 bytes, E3 eight mixed fields with UTF-16 and a slice, E4 a \
struct of three fields, a GUID and two strings; k0 has no keyword, k1 keyword 1. *Mismatch*: a session has enabled another keyword. \
Both sides compile the same source file with the same profile, and wrote the same payload.";
const LOOP_TEXT: &str = "\
A disabled E2 event inside a loop: the instructions of 100 more iterations, minus those of a loop without an event, per iteration. \
The compiler must not keep anything in registers from one iteration to the next.";

/// A disabled event: a load, a compare, a branch, and the function's return.
const DISABLED: f64 = 4.0;
/// The same in a loop, without the return.
const LOOPED: f64 = 3.0;
/// Number of iterations of a loop.
const ROUNDS: u64 = 100;

/// Steps through all events of both images.
///
/// # Errors
///
/// Returns an error if an image cannot be stepped, or if the two sides do not write the same.
pub fn instructions(images: &Images) -> Result<Findings, String> {
    let mut sides = Vec::new();
    for (image, _) in SIDES {
        let mut driver = Driver::new(&images.read(image)?)?;
        sides.push((events(&mut driver)?, loops(&mut driver)?));
    }
    let [(ours, our_loops), (theirs, their_loops)] = sides.as_slice() else {
        return Err(String::from("there are not two sides"));
    };
    let columns = [
        "event",
        "ours disabled",
        "peer disabled",
        "ours mismatch",
        "peer mismatch",
        "ours enabled",
        "peer enabled",
        "ratio",
        "ours descriptors",
        "peer descriptors",
        "ours stack",
        "peer stack",
    ];
    let mut section = Section::new("Instructions per event", TEXT, &columns);
    let mut goals = Vec::new();
    for (ours, theirs) in ours.iter().zip(theirs) {
        if ours.payload != theirs.payload {
            return Err(format!("{}: the two sides wrote different bytes", ours.name));
        }
        let ratio = ratio(ours.enabled, theirs.enabled);
        section.row(
            vec![
                Cell::text(&ours.name),
                Cell::count(ours.disabled),
                Cell::count(theirs.disabled),
                Cell::number(ours.mismatch.map(as_number), 0),
                Cell::number(theirs.mismatch.map(as_number), 0),
                Cell::count(ours.enabled),
                Cell::count(theirs.enabled),
                Cell::Number(ratio, 2),
                Cell::count(ours.descriptors),
                Cell::count(theirs.descriptors),
                Cell::count(ours.stack),
                Cell::count(theirs.stack),
            ],
            HOW,
        );
        let disabled = format!("disabled {}, instructions", ours.name);
        goals.push(goal(&disabled, Origin::Promise, DISABLED, as_number(ours.disabled)));
        let enabled = format!("enabled {}, ratio to tracelogging", ours.name);
        goals.push(goal(&enabled, Origin::Peer, 1.0, ratio));
    }
    let mut looped = Section::new("A disabled event in a loop", LOOP_TEXT, &["event", "ours", "peer"]);
    for ((name, ours), (_, theirs)) in our_loops.iter().zip(their_loops) {
        let how = format!("stepped twice, equal; {} rounds minus {ROUNDS}", 2 * ROUNDS);
        looped.row(vec![Cell::text(name), Cell::Number(*ours, 2), Cell::Number(*theirs, 2)], how);
        goals.push(goal(&format!("disabled {name} in a loop, instructions"), Origin::Promise, LOOPED, *ours));
    }
    Ok(Findings { sections: vec![section, looped], goals })
}

/// Measures every shape with both keywords.
fn events(driver: &mut Driver) -> Result<Vec<Measured>, String> {
    let mut events = Vec::new();
    for shape in 0..SHAPES {
        for keyword in [0, 1] {
            let first = driver.measure(shape, keyword)?;
            let second = driver.measure(shape, keyword)?;
            if first != second {
                return Err(format!("two runs of {} differ", first.name));
            }
            events.push(first);
        }
    }
    Ok(events)
}

fn loops(driver: &mut Driver) -> Result<Vec<(String, f64)>, String> {
    let mut loops = Vec::new();
    for keyword in [0, 1] {
        let first = driver.round(keyword, ROUNDS)?;
        let second = driver.round(keyword, ROUNDS)?;
        if first.total_cmp(&second).is_ne() {
            return Err(String::from("two runs of a loop differ"));
        }
        loops.push((format!("E2 k{keyword}"), first));
    }
    Ok(loops)
}

fn goal(what: &str, origin: Origin, limit: f64, measured: f64) -> Goal {
    let note = String::from("single steps");
    let why = String::from(
        "The compiler in use generates other code from the same source than the compiler with which the goal was reached.",
    );
    Goal {
        what: what.into(),
        limit,
        bound: Bound::AtMost,
        origin,
        measured: Some(measured),
        everywhere: true,
        note,
        why,
    }
}

fn ratio(ours: u64, theirs: u64) -> f64 {
    as_number(ours) / as_number(theirs).max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn as_number(count: u64) -> f64 {
    count as f64
}
