//! Measures the bytes of an event in an image, the compile time of a thousand events, and the panics in the images.

use std::path::PathBuf;

use test_support::images::Image;

use super::generated::{COUNTS, Generated, TABLE, image};
use super::images::SIDES;
use super::{Findings, Images, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::{median, paired_ratio, range, slope};
use crate::tools::Spent;

const TEXT: &str = "\
Images with 10, 100 and 1,000 E2 events (`u32`, `u64`, text; keyword 1), each event in a separate function. *Per event* is the growth of \
all read-only sections (code, constants, unwind information) from 10 to 100 events, divided by 90; the table that keeps the events in \
the image is not counted. The image is the size of the file.";
const COMPILE_TEXT: &str = "\
`cargo build --release` and `cargo check --release` of one crate with 1,000 E2 events, with compiled dependencies. The two sides are \
compiled in turns; the ratio is the median of the ratios of the pairs. Seconds are processor time (user and system), which other work \
on the machine changes little; wall time is in the last columns.";
const PANIC_TEXT: &str = "\
Signs of a path that ends in a panic, in the image with all event shapes: the import of the panic handler, and source files that a panic \
would name.";
/// The routine that only the images' panic handler calls.
const PANIC: &str = "ntoskrnl.exe!KeBugCheckEx";
const DIRS: [&str; 3] = ["etw-types/src/", "wdk-etw-macros/src/", "wdk-etw/src/"];

/// Builds the images and measures them.
///
/// # Errors
///
/// Returns an error if an image cannot be built or read.
pub fn size(settings: &Settings, images: &Images) -> Result<Findings, String> {
    let generated = Generated::new(settings)?;
    let mut findings = bytes(&generated.build()?)?;
    let times = compile(settings, &generated)?;
    let panics = panics(images)?;
    for part in [times, panics] {
        findings.sections.extend(part.sections);
        findings.goals.extend(part.goals);
    }
    Ok(findings)
}

/// Returns the size of the read-only sections and of the file.
fn weigh(file: &[u8]) -> Result<(f64, f64), String> {
    let image = pe_image::Image::parse(file).map_err(|error| error.to_string())?;
    let counted = image.sections.iter().filter(|section| !section.is_writable());
    let counted = counted.filter(|section| section.name != TABLE && section.name != ".reloc");
    let bytes: u32 = counted.map(pe_image::Section::memory_size).sum();
    #[expect(clippy::cast_precision_loss, reason = "files here are far smaller than 2^53 bytes")]
    Ok((f64::from(bytes), file.len() as f64))
}

fn bytes(built: &[PathBuf]) -> Result<Findings, String> {
    let mut sides = Vec::new();
    for (side, _) in SIDES {
        let mut weights = Vec::new();
        for count in COUNTS {
            weights.push(weigh(&image(built, side, count)?)?);
        }
        sides.push(weights);
    }
    let at =
        |side: usize, index: usize| sides.get(side).and_then(|weights| weights.get(index)).copied().unwrap_or_default();
    let per_event = |side: usize| slope((10.0, at(side, 0).0), (100.0, at(side, 1).0)).unwrap_or_default();
    let image = |side: usize| at(side, 2).1;
    let mut section = Section::new("Bytes per event", TEXT, &["what", "ours", "peer", "ratio"]);
    let mut goals = Vec::new();
    let rows = [
        ("E2 code and data per event", [per_event(0), per_event(1)], 1, "code and data per E2 event, ratio"),
        ("image of 1,000 E2 events", [image(0), image(1)], 0, "image of 1,000 E2 events, ratio"),
    ];
    for (name, [ours, theirs], digits, goal) in rows {
        let ratio = ours / theirs.max(1.0);
        let cells =
            vec![Cell::text(name), Cell::Number(ours, digits), Cell::Number(theirs, digits), Cell::Number(ratio, 2)];
        section.row(cells, "read from the images, once");
        goals.push(Goal {
            what: goal.into(),
            limit: 0.5,
            bound: Bound::AtMost,
            origin: Origin::Target,
            measured: Some(ratio),
            everywhere: true,
            note: String::from("sections of the images"),
            why: String::from(
                "`EtwWriteTransfer` has one argument more than `EtwWrite`, with which the goal was reached. The function of an event \
                 stores it on the stack, becomes larger than 48 bytes, and the next function begins 16 bytes later.",
            ),
        });
    }
    Ok(Findings { sections: vec![section], goals })
}

fn compile(settings: &Settings, generated: &Generated) -> Result<Findings, String> {
    let columns = ["what", "ours s", "peer s", "ratio", "ours wall s", "peer wall s"];
    let mut section = Section::new("Compile time of 1,000 events", COMPILE_TEXT, &columns);
    let rounds = if settings.quick { 1 } else { 5 };
    let mut goals = Vec::new();
    for verb in ["build", "check"] {
        if verb == "check" {
            // The dependencies are checked before anything is timed.
            for (side, _) in SIDES {
                generated.compile(verb, side, 10)?;
            }
        }
        let mut pairs = Vec::new();
        for round in 0..rounds {
            pairs.push(in_turns(generated, verb, round)?);
        }
        let values = |value: fn(&(Spent, Spent)) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
        let ours = values(|pair| pair.0.processor);
        let theirs = values(|pair| pair.1.processor);
        let ratio = paired_ratio(&ours.iter().copied().zip(theirs.iter().copied()).collect::<Vec<_>>());
        let spread = range(&ours).map_or_else(String::new, |(low, high)| format!(", ours {low:.2} to {high:.2} s"));
        section.row(
            vec![
                Cell::text(format!("cargo {verb} --release")),
                Cell::number(median(&ours), 2),
                Cell::number(median(&theirs), 2),
                Cell::number(ratio, 2),
                Cell::number(median(&values(|pair| pair.0.wall)), 2),
                Cell::number(median(&values(|pair| pair.1.wall)), 2),
            ],
            format!("{rounds} pairs in turns, median{spread}"),
        );
        goals.push(Goal {
            what: format!("compile time of 1,000 E2 events, {verb}, ratio"),
            limit: 1.0,
            bound: Bound::AtMost,
            origin: Origin::Peer,
            measured: ratio,
            everywhere: false,
            note: format!("processor time, {rounds} pairs"),
            why: String::from("Macros that check more expand to more code."),
        });
    }
    Ok(Findings { sections: vec![section], goals })
}

/// Compiles both sides, with ours first in every other round.
fn in_turns(generated: &Generated, verb: &str, round: usize) -> Result<(Spent, Spent), String> {
    if round.is_multiple_of(2) {
        let ours = generated.compile(verb, "ours", 1000)?;
        Ok((ours, generated.compile(verb, "peer", 1000)?))
    } else {
        let theirs = generated.compile(verb, "peer", 1000)?;
        Ok((generated.compile(verb, "ours", 1000)?, theirs))
    }
}

fn panics(images: &Images) -> Result<Findings, String> {
    let mut section = Section::new("Panic paths", PANIC_TEXT, &["image", "signs"]);
    let mut goals = Vec::new();
    for (side, name) in SIDES {
        let signs = Image::parse(&images.read(side)?)?.panic_paths(PANIC, &DIRS);
        let how = if signs.is_empty() { String::from("read from the image, once") } else { signs.join("; ") };
        section.row(vec![Cell::text(name), Cell::count(signs.len() as u64)], how);
        if side == "ours" {
            #[expect(clippy::cast_precision_loss, reason = "a handful")]
            let measured = signs.len() as f64;
            goals.push(Goal {
                what: String::from("panic paths from our crates in the image"),
                limit: 0.0,
                bound: Bound::AtMost,
                origin: Origin::Promise,
                measured: Some(measured),
                everywhere: true,
                note: String::from("imports and strings of the image"),
                why: String::from("The compiler could not prove that a check is unnecessary."),
            });
        }
    }
    Ok(Findings { sections: vec![section], goals })
}
