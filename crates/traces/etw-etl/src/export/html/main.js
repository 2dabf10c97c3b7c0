// The page: joins the parts, and keeps what is shown in the address, so that a link leads to it.

const trace = loadTrace(document.getElementById("trace").textContent);
const names = fieldNames(trace.events);
const filterBox = document.getElementById("filter");
const state = { chosen: null, shown: trace.events, scheme: "auto" };

const timeline = createTimeline(trace, choose, remember);
const table = createTable(choose);
const detail = createDetail(trace, choose, narrow);

/** Shows an event everywhere; null shows none. */
function choose(event) {
  state.chosen = event;
  timeline.choose(event);
  table.choose(event);
  detail.choose(event);
  remember();
}

/** Adds a term to the filter. */
function narrow(term) {
  const text = filterBox.value.trim();
  if (text === "") filterBox.value = term;
  else if (!text.includes(term)) filterBox.value = /\bor\b/i.test(text) ? `(${text}) ${term}` : `${text} ${term}`;
  applyFilter();
}

function applyFilter() {
  state.shown = trace.events.filter(parseFilter(filterBox.value, names));
  clock.origin = state.shown[0]?.time ?? 0;
  const [few, many] = [state.shown.length, trace.events.length].map((count) => count.toLocaleString("en"));
  document.getElementById("count").textContent = few === many ? `${many} events` : `${few} of ${many} events`;
  timeline.show(state.shown);
  table.show(state.shown);
  detail.show(state.shown);
  remember();
}

/** Makes columns as wide as their longest names, so that none is cut. */
function fitNames() {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `500 13px ${getComputedStyle(document.body).fontFamily}`;
  const widest = (texts) => Math.ceil(Math.max(0, ...[...new Set(texts)].slice(0, 5000).map((text) => context.measureText(text).width)));
  const set = (name, width) => document.documentElement.style.setProperty(name, `${width}px`);
  set("--event", widest(trace.events.map((event) => `${event.name} ${opcodeName(event.opcode)}`)) + 24);
  set("--provider", widest(trace.events.map((event) => event.provider)) + 20);
  set("--lane", widest([...document.querySelectorAll("#lanes b, #lanes span:not(.wide)")].map((label) => label.textContent)) + 28);
}

function setScheme(scheme) {
  state.scheme = scheme;
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
  document.getElementById("scheme").textContent = `Scheme: ${scheme}`;
  timeline.recolour();
}

let isReading = false;
function remember() {
  if (isReading) return;
  const parts = new URLSearchParams();
  if (filterBox.value) parts.set("filter", filterBox.value);
  if (state.chosen) parts.set("event", String(state.chosen.index + 1));
  if (state.scheme !== "auto") parts.set("scheme", state.scheme);
  const { view, all } = timeline;
  if (view.from > all.from || view.to < all.to) parts.set("view", `${Math.round(view.from)},${Math.round(view.to)}`);
  // Some browsers refuse this for files; the page works without.
  try { history.replaceState(null, "", `#${parts}`); } catch { /* the address stays as it is */ }
}

/** Shows what the address says. */
function recall() {
  isReading = true;
  const parts = new URLSearchParams(location.hash.slice(1));
  filterBox.value = parts.get("filter") ?? "";
  const scheme = parts.get("scheme");
  setScheme(scheme === "light" || scheme === "dark" ? scheme : "auto");
  applyFilter();
  const view = /^(-?\d+),(-?\d+)$/.exec(parts.get("view") ?? "");
  if (view) timeline.setView(Number(view[1]), Number(view[2]));
  choose(trace.events[Number(parts.get("event")) - 1] ?? null);
  isReading = false;
}

function showSummary() {
  const about = trace.about;
  const title = about.title || "Trace";
  document.title = title;
  document.getElementById("title").textContent = title;
  const summary = document.getElementById("summary");
  const add = (value, what, isBad) => {
    const item = element("li", isBad ? "bad" : "");
    item.append(element("b", "", value), ` ${what}`);
    summary.append(item);
  };
  const plural = (count, word) => add(count.toLocaleString("en"), count === 1 ? word : word.replace(/y$/, "ie") + "s");
  const providers = new Set(trace.events.map((event) => event.provider));
  plural(about.events, "event");
  plural(providers.size, "provider");
  // One provider's name in every row says nothing; the field view has it.
  document.body.classList.toggle("one-provider", providers.size === 1);
  plural(trace.threads, "thread");
  plural(trace.activities.size, "activity");
  add(duration(about.duration), "");
  const lost = about.lost_events + about.lost_buffers + about.unreadable;
  const words = [[about.lost_events, "event"], [about.lost_buffers, "buffer"], [about.unreadable, "byte"]]
    .filter(([count]) => count > 0).map(([count, what]) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`);
  // A trace that was not closed does not tell what its session lost.
  const isTold = about.lost_events !== null && about.lost_buffers !== null;
  add(lost ? words.join(", ") : isTold ? "0" : "?", "lost", lost > 0);
  const start = moment(about.start, 0);
  if (start) add("", `from ${start.slice(0, 19)} UTC`);
  const notice = document.getElementById("notice");
  notice.hidden = about.events <= trace.events.length;
  notice.textContent = `This page holds ${trace.events.length.toLocaleString("en")} of ${about.events.toLocaleString("en")} events: the first `
    + `${about.leading.toLocaleString("en")}, those around warnings and errors, and the last ones. The timeline is grey where events are left out. The trace file has them all.`;
  const legend = document.getElementById("legend");
  for (const level of [...new Set(trace.events.map((event) => event.level))].sort((one, other) => one - other).slice(0, 8)) {
    const button = element("button");
    button.type = "button";
    button.title = `Show these only: level:${level}`;
    button.append(levelLabel(level));
    button.addEventListener("click", () => {
      const word = `level:${levelName(level).toLowerCase().replace("level ", "")}`;
      filterBox.value = filterBox.value === word ? "" : word;
      applyFilter();
    });
    const item = element("li");
    item.append(button);
    legend.append(item);
  }
}

/** The next event of the chosen one's activity, or the one before. */
function stepInActivity(by) {
  const kin = state.chosen?.activity ? trace.activities.get(state.chosen.activity) : [];
  const next = kin[kin.indexOf(state.chosen) + by];
  if (next) choose(next);
}

/** The next error or warning among the events that are shown, or the one before. */
function stepToProblem(by) {
  const list = by > 0 ? state.shown : state.shown.toReversed();
  const from = state.chosen === null ? -1 : list.indexOf(state.chosen);
  const next = list.slice(from + 1).find((event) => event.level >= 1 && event.level <= 3);
  if (next) choose(next);
}

/** The start with the longest duration that is shorter than the chosen one's. */
function stepToLongest() {
  const length = (event) => event.span.to - event.span.from;
  const starts = state.shown.filter((event) => event.opcode === 1 && event.span?.ended);
  starts.sort((one, other) => length(other) - length(one) || one.index - other.index);
  const next = starts[starts.indexOf(state.chosen) + 1];
  if (next) choose(next);
}

filterBox.addEventListener("input", applyFilter);
document.getElementById("scheme").addEventListener("click", () => {
  setScheme({ auto: "light", light: "dark", dark: "auto" }[state.scheme]);
  remember();
});
window.addEventListener("hashchange", recall);
document.addEventListener("keydown", (key) => {
  if (key.ctrlKey || key.metaKey || key.altKey) return;
  const isTyping = key.target === filterBox;
  if (key.key === "Escape") {
    const help = document.querySelector("details[open]");
    if (help) help.open = false;
    else if (isTyping || state.chosen === null) {
      filterBox.value = "";
      applyFilter();
    } else choose(null);
  } else if (key.key === "ArrowDown" || key.key === "ArrowUp") {
    key.preventDefault();
    table.step(key.key === "ArrowDown" ? 1 : -1);
  } else if (!isTyping && key.key === "/") {
    key.preventDefault();
    filterBox.focus();
  } else if (!isTyping && (key.key === "[" || key.key === "]")) {
    stepInActivity(key.key === "]" ? 1 : -1);
  } else if (!isTyping && (key.key === "e" || key.key === "E")) {
    stepToProblem(key.key === "e" ? 1 : -1);
  } else if (!isTyping && key.key === "d") {
    stepToLongest();
  }
});

showSummary();
fitNames();
recall();
