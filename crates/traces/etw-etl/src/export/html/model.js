"use strict";
// The trace as objects: events, activities, threads, and the text of values. Touches no element of the page.

const LEVELS = ["Always", "Critical", "Error", "Warning", "Information", "Verbose"];
const OPCODES = new Map([[1, "Start"], [2, "Stop"], [3, "DC Start"], [4, "DC Stop"], [5, "Extension"], [6, "Reply"],
  [7, "Resume"], [8, "Suspend"], [9, "Send"], [240, "Receive"]]);
// Threads with lanes of their own; the events of all others share one.
const MAX_LANES = 40;

const levelName = (level) => LEVELS[level] ?? `Level ${level}`;
const levelClass = (level) => Math.min(level, 5);
const opcodeName = (opcode) => OPCODES.get(opcode) ?? (opcode === 0 ? "" : `opcode ${opcode}`);

/** Milliseconds of 100 ns units, with all four digits behind the point and a narrow space between thousands. */
function milliseconds(ticks, sign = "") {
  const value = Math.abs(ticks);
  const whole = Math.floor(value / 10000).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return `${ticks < 0 ? "\u2212" : sign}${whole}.${(value % 10000).toString().padStart(4, "0")}`;
}

// The moment from which times are counted: that of the first event that is shown.
const clock = { origin: 0 };

/** The time of an event in milliseconds since the first one that is shown. */
const since = (ticks) => milliseconds(ticks - clock.origin);

/** A length of time for a sentence. */
function duration(ticks) {
  if (ticks >= 1e7) return `${(ticks / 1e7).toPrecision(4)} s`;
  return ticks >= 1e4 ? `${(ticks / 1e4).toPrecision(4)} ms` : `${(ticks / 10).toFixed(1)} µs`;
}

/** A value in one line. Structs are {"fields": [[name, value], …]}, text that is not valid is {"text", "bytes"}. */
function plain(value) {
  if (Array.isArray(value)) return `[${value.map(plain).join(", ")}]`;
  if (value === null || typeof value !== "object") return String(value);
  if (value.fields) return `{${value.fields.map(([name, inner]) => `${name}=${plain(inner)}`).join(" ")}}`;
  return value.text === undefined ? value.bytes : `${value.text} (bytes ${value.bytes})`;
}

/** Names with dots and values of all fields, also those inside structs. */
function flatten(fields, prefix = "") {
  return fields.flatMap(([name, value]) => {
    const own = [prefix + name, plain(value)];
    const inner = value !== null && typeof value === "object" && value.fields;
    return inner ? [own, ...flatten(inner, `${prefix}${name}.`)] : [own];
  });
}

/** How durations spread: columns from the shortest to the longest in steps of a factor, each with its share of the fullest. */
function histogram(spans, columns = 16) {
  const log = (span) => Math.log(Math.max(span.to - span.from, 1));
  const logs = spans.map(log);
  const [low, high] = [Math.min(...logs.slice(0, 1e5)), Math.max(...logs.slice(0, 1e5))];
  const place = (span) => (high > low ? Math.min(columns - 1, Math.floor(((log(span) - low) / (high - low)) * columns)) : 0);
  const counts = new Array(columns).fill(0);
  for (const span of spans) counts[place(span)] += 1;
  const most = Math.max(...counts, 1);
  return { shares: counts.map((count) => count / most), place };
}

/** Spans with both ends by the names of their starts, those with the longest of all first. */
function durationGroups(spans) {
  const groups = new Map();
  for (const span of spans) {
    const name = baseOf(span.start.name) || span.start.name;
    if (!groups.has(name)) groups.set(name, { name, spans: [], open: 0 });
    if (span.ended) groups.get(name).spans.push(span);
    else groups.get(name).open += 1;
  }
  const length = (span) => span.to - span.from;
  for (const group of groups.values()) {
    group.spans.sort((one, other) => length(one) - length(other));
    const at = (share) => group.spans[Math.max(0, Math.ceil(group.spans.length * share) - 1)];
    group.median = group.spans.length ? length(at(0.5)) : null;
    group.longest = group.spans.length ? at(1) : null;
  }
  return [...groups.values()].sort((one, other) => (other.longest ? length(other.longest) : -1) - (one.longest ? length(one.longest) : -1));
}

/** What occurs most among events: name, number of events, time from starts to stops; the most time first, then the most events. */
function topOf(events, nameOf) {
  const rows = new Map();
  for (const event of events) {
    const name = nameOf(event);
    if (!name) continue;
    if (!rows.has(name)) rows.set(name, { name, count: 0, time: 0 });
    const row = rows.get(name);
    row.count += 1;
    if (event.span?.ended && event.opcode === 1) row.time += event.span.to - event.span.from;
  }
  return [...rows.values()].sort((one, other) => other.time - one.time || other.count - one.count);
}

function loadTrace(source) {
  const data = JSON.parse(source);
  const text = (index) => (index < 0 ? null : data.strings[index]);
  const events = data.events.map((row, index) => {
    const [time, provider, name, kind, level, opcode, task, keyword, id, version, channel, pid, tid, cpu, activity, related,
      providerId, fields, more, names] = row;
    const [process, commandLine, threadName, file, key] = (names ?? []).map(text);
    const event = { index, time, level, opcode, task, id, version, channel, pid, tid, cpu, fields, more: more || {} };
    event.kind = text(kind);
    event.keyword = text(keyword);
    event.providerId = text(providerId);
    event.provider = text(provider) ?? event.providerId ?? event.kind;
    event.name = text(name);
    event.activity = text(activity);
    event.related = text(related);
    Object.assign(event, { process, commandLine, threadName, file, key });
    event.thread = tid === null ? `cpu ${cpu}` : `${process ? `${process} ` : ""}${pid ?? "?"}:${tid}`;
    return event;
  });
  const spans = spansOf(data.spans, [...events]);
  events.sort((one, other) => one.time - other.time || one.index - other.index);
  events.forEach((event, index) => {
    event.index = index;
    event.delta = index === 0 ? 0 : event.time - events[index - 1].time;
  });
  const activities = new Map();
  for (const event of events) {
    if (event.activity === null) continue;
    if (!activities.has(event.activity)) activities.set(event.activity, []);
    activities.get(event.activity).push(event);
  }
  const last = events.reduce((latest, event) => Math.max(latest, event.time), data.about.duration);
  const end = spans.reduce((latest, span) => Math.max(latest, span.to), last);
  const threads = new Set(events.map((event) => event.thread)).size;
  return { about: data.about, events, activities, spans, threads, lanes: lanesOf(events, spans), end };
}

const ENDINGS = /(?:started|stopped|start|stop|begin|began|ended|end|entered|enter|entry|exited|exit|leave|completed|complete|finished|finish|done|return)$/i;

/** A name without the word that says whether something begins or ends. */
const baseOf = (name) => name.replace(ENDINGS, "").replace(/[/_\-.: ]+$/, "");

/**
 * Starts and stops that belong together, as the page was told: rows and the time of the end. A stop need not be in the page. A start
 * whose stop is missing in the trace has an open end; it is never stretched.
 */
function spansOf(list, rows) {
  return list.map(([first, last, end]) => {
    const start = rows[first];
    const stop = last === null ? null : rows[last];
    const ended = end !== null;
    const span = { start, stop, ended, from: start.time, to: ended ? end : start.time, activity: start.activity, level: start.level };
    start.span = span;
    if (stop) stop.span = span;
    return span;
  });
}

/** One lane for each thread in the order of first events; spans in rows so that none covers another. */
function lanesOf(events, spans) {
  const counts = new Map();
  for (const event of events) counts.set(event.thread, (counts.get(event.thread) ?? 0) + 1);
  const threads = [...counts.keys()];
  const busiest = new Set(threads.length <= MAX_LANES ? threads
    : [...threads].sort((one, other) => counts.get(other) - counts.get(one)).slice(0, MAX_LANES - 1));
  const lanes = new Map();
  for (const thread of threads) {
    const key = busiest.has(thread) ? thread : null;
    if (!lanes.has(key)) lanes.set(key, { thread: key, events: 0, ends: [], rows: 1 });
    lanes.get(key).events += counts.get(thread);
  }
  const laneOf = (event) => lanes.get(busiest.has(event.thread) ? event.thread : null);
  for (const event of events) event.lane = laneOf(event);
  for (const span of spans) {
    const { ends } = span.start.lane;
    let row = ends.findIndex((until) => until <= span.from);
    // Deeper ones share the last row: the page stays of a size that can be drawn.
    if (row < 0) row = Math.min(ends.length, 7);
    ends[row] = Math.max(span.to, span.from + 1);
    span.row = row;
  }
  // An event of an activity stands on the bar of that activity, if it has one in its lane at its time.
  const bars = new Map();
  for (const span of spans) if (span.activity !== null) bars.set(`${span.activity} ${span.start.thread}`, span);
  for (const event of events) {
    const bar = event.span ?? (event.activity === null ? undefined : bars.get(`${event.activity} ${event.thread}`));
    event.bar = bar && bar.start.lane === event.lane && bar.from <= event.time && event.time <= bar.to ? bar : null;
    // The first mark on a bar, before which its name has to end.
    if (event.bar && event.span !== event.bar) event.bar.mark = Math.min(event.bar.mark ?? Infinity, event.time);
  }
  for (const lane of lanes.values()) lane.rows = lane.ends.length;
  for (const event of events) if (!event.bar) event.lane.loose = true;
  const own = [...lanes.values()].filter((lane) => lane.thread !== null);
  return lanes.has(null) ? [...own, lanes.get(null)] : own;
}

/** The moment of an event in UTC with seven digits of a second; null where the trace does not start at a date. */
function moment(start, ticks) {
  const parts = /^(.*\.\d{3})(\d{4})Z$/.exec(start);
  if (!parts) return null;
  const low = Number(parts[2]) + ticks;
  const date = new Date(Date.parse(`${parts[1]}Z`) + Math.floor(low / 10000));
  if (Number.isNaN(date.getTime())) return null;
  const digits = (low - Math.floor(low / 10000) * 10000).toString().padStart(4, "0");
  return date.toISOString().replace("T", " ").replace("Z", digits);
}
