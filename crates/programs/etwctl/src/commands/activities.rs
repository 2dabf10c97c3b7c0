//! `activities`.

use std::collections::HashMap;

use command_line::note;
use etw_etl::pair::{Pairs, Role, base};
use etw_etl::{Decoded, EventRef};
use etw_types::Guid;

use super::schemas;
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::{Json, Table, milliseconds};
use crate::select::Selection;

/// The approximate memory for starts that wait for their stop, in bytes.
const MAX_OPEN: usize = 256 * 1024 * 1024;
/// The maximum number of durations that are kept for percentiles. Later ones are counted but not part of percentiles.
const MAX_SPANS: usize = 16_000_000;
/// The maximum number of nodes of a tree.
const MAX_NODES: usize = 10_000;
/// The characters of a histogram, from low to high.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What an activity is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Name {
    /// The provider: its name or its id, if the trace tells one.
    provider: Option<String>,
    activity: String,
}

/// A start event that waits for its stop.
struct Start {
    name: Name,
    time: i64,
    node: Option<usize>,
    /// The activity is selected by its start.
    is_selected: bool,
}

/// Activities of one name.
#[derive(Default)]
struct Group {
    durations: Vec<i64>,
    count: u64,
    open: u64,
    total: i128,
}

/// An activity in the tree.
struct Node {
    name: String,
    activity: Guid,
    parent: Option<Guid>,
    time: i64,
    duration: Option<i64>,
}

#[derive(Default)]
struct Activities {
    groups: HashMap<Name, Group>,
    nodes: Vec<Node>,
    kept: usize,
    unmatched: u64,
    no_room: u64,
    first: Option<i64>,
}

impl Activities {
    /// Reads a start or a stop. `is_selected` tells whether that event is selected.
    fn read(
        &mut self,
        event: &EventRef<'_>,
        role: Role,
        decoded: &Decoded,
        is_selected: bool,
        pairs: &mut Pairs<Start>,
    ) {
        let time = event.header.time.0;
        self.first.get_or_insert(time);
        match role {
            Role::Start if pairs.repeats(event) => {}
            Role::Start => {
                let provider = decoded.provider.clone().or_else(|| event.class().map(|class| class.to_string()));
                let id = event.header.descriptor.id;
                let full = decoded.event.clone().unwrap_or_else(|| format!("event {id}"));
                let short = base(&full);
                let name = Name { provider, activity: if short.is_empty() { full } else { short } };
                let node =
                    event.header.activity.filter(|_| is_selected && self.nodes.len() < MAX_NODES).map(|activity| {
                        let parent = event.related().filter(|related| *related != activity && !related.is_zero());
                        self.nodes.push(Node { name: name.activity.clone(), activity, parent, time, duration: None });
                        self.nodes.len() - 1
                    });
                let cost = 160 + name.provider.as_ref().map_or(0, String::len) + name.activity.len();
                let start = Start { name, time, node, is_selected };
                if let Some(start) = pairs.start(event, decoded, start, cost) {
                    self.no_room += u64::from(start.is_selected);
                    self.open(start);
                }
            }
            Role::Stop => {
                let stopped = pairs.stop(event, decoded);
                stopped.open.into_iter().for_each(|start| self.open(start));
                match stopped.start {
                    Some(start) => self.close(start, time),
                    None => self.unmatched += u64::from(is_selected),
                }
            }
        }
    }

    fn open(&mut self, start: Start) {
        if !start.is_selected {
            return;
        }
        self.groups.entry(start.name).or_default().open += 1;
    }

    fn close(&mut self, start: Start, time: i64) {
        if !start.is_selected {
            return;
        }
        let duration = time.saturating_sub(start.time).max(0);
        if let Some(node) = start.node.and_then(|node| self.nodes.get_mut(node)) {
            node.duration = Some(duration);
        }
        let group = self.groups.entry(start.name).or_default();
        group.count += 1;
        group.total += i128::from(duration);
        if self.kept < MAX_SPANS {
            self.kept += 1;
            group.durations.push(duration);
        }
    }
}

/// The smallest duration that at least `percent` of all durations do not exceed.
fn percentile(sorted: &[i64], percent: usize) -> i64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

/// A histogram of durations from the shortest to the longest, with columns of equal width on a logarithmic scale.
fn histogram(sorted: &[i64]) -> String {
    const COLUMNS: usize = 12;
    const LAST: f64 = 11.0;
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return String::new() };
    let log = |ticks: i64| (f64::from(u32::try_from(ticks.clamp(1, i64::from(u32::MAX))).unwrap_or(u32::MAX))).ln();
    let (low, span) = (log(*low), (log(*high) - log(*low)).max(f64::EPSILON));
    let mut counts = [0_usize; COLUMNS];
    for ticks in sorted {
        let place = (log(*ticks) - low) / span * LAST;
        // The nearest column.
        let columns = (0_u8..).map(|column| f64::from(column) + 0.5);
        let column = columns.zip(&mut counts).find(|(end, _)| place <= *end);
        if let Some((_, count)) = column {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let block = |count: &usize| match *count {
        0 => ' ',
        count => BLOCKS.get((count * BLOCKS.len()).div_ceil(most) - 1).copied().unwrap_or('█'),
    };
    counts.iter().map(block).collect()
}

/// Shows how long activities took, the slowest first, or shows their tree.
pub(super) fn activities(context: &Context<'_>, line: &cli::Activities) -> Result<(), Failure> {
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(false), false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let mut all = Activities::default();
    let mut pairs = Pairs::new(MAX_OPEN);
    let mut has_any = false;
    while let Some((event, decoder)) = traces.next() {
        let Some(role) = Role::from_event(&event) else { continue };
        let decoded = decoder.decode(&event);
        has_any = true;
        let is_selected = selection.takes(&event, &decoded) && selection.has_time(event.header.time);
        all.read(&event, role, &decoded, is_selected, &mut pairs);
    }
    traces.done();
    pairs.finish().into_iter().for_each(|start| all.open(start));
    if all.unmatched > 0 {
        note(&format!("{} stop events have no matching start event in the trace", all.unmatched));
    }
    if all.no_room > 0 {
        note(&format!("{} start events did not fit into memory and count as open", all.no_room));
    }
    if line.tree {
        context.table(tree(&all))?;
    } else {
        context.table(summary(all.groups))?;
    }
    if has_any {
        selection.check()?;
    }
    traces.check()
}

fn summary(groups: HashMap<Name, Group>) -> Table {
    let columns = [
        "provider",
        "activity",
        "count",
        "open",
        "min_ms",
        "p50_ms",
        "p90_ms",
        "p99_ms",
        "max_ms",
        "total_ms",
        "histogram",
    ];
    let mut table = Table::new(&columns);
    let mut groups: Vec<_> = groups.into_iter().collect();
    for (_, group) in &mut groups {
        group.durations.sort_unstable();
    }
    groups.sort_by(|(one, a), (other, b)| b.durations.last().cmp(&a.durations.last()).then_with(|| one.cmp(other)));
    for (name, group) in groups {
        let sorted = &group.durations;
        let mut row = vec![name.provider.into(), name.activity.into(), group.count.into(), group.open.into()];
        if sorted.is_empty() {
            row.extend(std::iter::repeat_n(Json::Null, 7));
        } else {
            row.extend([0, 50, 90, 99, 100].map(|percent| milliseconds(percentile(sorted, percent))));
            row.push(milliseconds(i64::try_from(group.total).unwrap_or(i64::MAX)));
            row.push(histogram(sorted).into());
        }
        table.row(row);
    }
    table
}

/// The tree of activities: each below its related activity, in the order of their starts.
fn tree(all: &Activities) -> Table {
    let mut table = Table::new(&["start_ms", "duration_ms", "activity", "id"]);
    let mut children: HashMap<Guid, Vec<usize>> = HashMap::new();
    let known: HashMap<Guid, usize> =
        all.nodes.iter().enumerate().map(|(place, node)| (node.activity, place)).collect();
    let mut stack = Vec::new();
    for (place, node) in all.nodes.iter().enumerate().rev() {
        match node.parent.filter(|parent| known.contains_key(parent)) {
            Some(parent) => children.entry(parent).or_default().push(place),
            None => stack.push((place, 0)),
        }
    }
    let mut shown = vec![false; all.nodes.len()];
    // Activities that are related in a ring have no root. So every node is also a root, after the real ones, and each is shown
    // only once.
    let rest = (0..all.nodes.len()).rev().map(|place| (place, 0));
    let mut stack: Vec<(usize, usize)> = rest.chain(stack).collect();
    while let Some((place, depth)) = stack.pop() {
        let (Some(node), Some(is_shown)) = (all.nodes.get(place), shown.get_mut(place)) else { continue };
        if std::mem::replace(is_shown, true) {
            continue;
        }
        let start = node.time.saturating_sub(all.first.unwrap_or_default());
        let duration = node.duration.map_or(Json::Null, milliseconds);
        let name = format!("{}{}", "  ".repeat(depth.min(40)), node.name);
        table.row(vec![milliseconds(start), duration, name.into(), node.activity.to_string().into()]);
        if let Some(below) = children.get(&node.activity) {
            stack.extend(below.iter().map(|place| (*place, depth + 1)));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{histogram, percentile};

    #[test]
    fn percentiles_are_durations_that_occurred() {
        let sorted: Vec<i64> = (1..=200).collect();
        assert_eq!([0, 50, 90, 99, 100].map(|percent| percentile(&sorted, percent)), [1, 100, 180, 198, 200]);
        assert_eq!(percentile(&[7], 50), 7);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn a_histogram_has_its_ends_where_durations_are() {
        let text = histogram(&[10, 10, 10, 1_000_000]);
        assert_eq!(text.chars().count(), 12);
        assert!(text.starts_with('█'), "{text}");
        assert!(text.ends_with('▃'), "{text}");
        assert_eq!(histogram(&[5]).trim(), "█");
    }
}
