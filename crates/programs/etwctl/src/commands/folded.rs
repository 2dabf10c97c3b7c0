//! Call stacks in the folded format of flame graphs: the process, the frames from the outermost to the innermost, and the event's
//! name, with semicolons between them; and how often each occurs.

use std::collections::HashMap;

use etw_etl::{Process, escaped};

use super::profile::is_sample;
use crate::input::Traces;
use crate::select::Selection;

/// The maximum number of different stacks. Further ones are counted together.
const MAX_STACKS: usize = 1_000_000;

/// Whether frames have the offset in their function. Without it, the frames of one function are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offsets {
    Kept,
    Dropped,
}

/// Whose stacks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Those of all selected events, with the names of the events.
    Events,
    /// Those of the selected samples of the processor, without a name. If the whole trace has no stack of a sample, those of all
    /// selected events.
    Samples,
}

/// The stacks of a trace.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// Stacks and how often they occur, the most frequent first.
    pub(super) rows: Vec<(String, u64)>,
    pub(super) events: u64,
    pub(super) with_stack: u64,
    /// Whether any event has a stack, also if it is not selected.
    pub(super) has_stacks: bool,
}

impl Folded {
    /// Reads the stacks of the selected events.
    pub(super) fn read(traces: &mut Traces, selection: &mut Selection, offsets: Offsets, counted: Counted) -> Self {
        let mut folded: HashMap<String, u64> = HashMap::new();
        let mut more = 0_u64;
        let mut all = Self::default();
        let mut has_samples = false;
        while let Some((event, decoder)) = traces.next() {
            all.has_stacks = all.has_stacks || event.stack().is_some_and(|frames| !frames.is_empty());
            let is_sample = counted == Counted::Samples && is_sample(&event);
            // What is counted does not depend on what is selected: the first sample decides, also if it is not selected.
            if is_sample && !has_samples && event.stack().is_some_and(|frames| !frames.is_empty()) {
                has_samples = true;
                more = 0;
                folded.clear();
            }
            if !selection.may_take(&event) || !selection.takes_lazily(&event, decoder) {
                continue;
            }
            all.events += 1;
            let Some(addresses) = event.stack().filter(|frames| !frames.is_empty()) else { continue };
            all.with_stack += 1;
            if has_samples && !is_sample {
                continue;
            }
            let process = event.stack_process();
            let known = process.and_then(|process| decoder.process(process, event.header.stamp));
            let identity = decoder.identify(&event);
            let name = identity.event.as_deref().map_or_else(|| event.label(), str::to_owned);
            let mut frames = decoder.frames(&event);
            if frames.is_empty() {
                frames = addresses.iter().map(|address| format!("{address:#x}")).collect();
            }
            let mut key = owner(process, known.as_deref());
            for frame in frames.iter().rev() {
                key.push(';');
                key.push_str(&sanitized(if offsets == Offsets::Kept { frame } else { function(frame) }));
            }
            if !is_sample {
                key.push(';');
                key.push_str(&sanitized(&name));
            }
            if folded.len() < MAX_STACKS || folded.contains_key(&key) {
                *folded.entry(key).or_default() += 1;
            } else {
                more += 1;
            }
        }
        all.rows = folded.into_iter().collect();
        all.rows.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
        if more > 0 {
            all.rows.push((format!("(more than {MAX_STACKS} different stacks)"), more));
        }
        all
    }
}

/// A frame without the offset in its function and without its line. An offset in an image without symbols is kept.
pub(super) fn function(frame: &str) -> &str {
    let end = if frame.contains('!') { frame.rfind("+0x") } else { None };
    frame.get(..end.unwrap_or(frame.len())).unwrap_or(frame)
}

/// A name in which a semicolon or a line end would break the format.
fn sanitized(name: &str) -> String {
    escaped(name).replace(';', ":")
}

/// The first frame: the process.
fn owner(id: Option<u32>, known: Option<&Process>) -> String {
    match (id, known) {
        (Some(id), Some(process)) => format!("{} ({id})", sanitized(&process.name)),
        (Some(id), None) => format!("process {id}"),
        (None, _) => "process ?".to_owned(),
    }
}
