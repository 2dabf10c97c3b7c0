// Uses the page as a person would, and writes down what it shows. Runs behind the page's own script.
"use strict";
const found = {};
const rows = () => [...document.querySelectorAll("tr.row")];
const texts = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent);
const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const type = (text) => {
  document.getElementById("filter").value = text;
  document.getElementById("filter").dispatchEvent(new Event("input", { bubbles: true }));
};
const pointer = (kind, left, top) => {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent(kind, { clientX: box.left + left, clientY: box.top + top, pointerId: 1, bubbles: true }));
};
const canvas = document.getElementById("canvas");
const byName = (name, opcode = 0) => trace.events.find((event) => event.name === name && event.opcode === opcode);

// A filter for each kind of term.
found.filters = Object.fromEntries(["", "level:warning", "level<=warning", "provider:page", "event:copy", "Length>100", "\"two words\"",
  "-tid:7", "Status:not_supported", "Outer.Inner=7", "nothing like this", "event:copy or level:warning", "not (tid:7 or tid:9)",
  "level:error or (event:tick and not tid:7)"].map((text) => {
  type(text);
  return [text, document.getElementById("table").getAttribute("aria-rowcount") - 1];
}));
// Times are counted from the first event that is shown.
const timeOf = (name) => rows().find((row) => row.dataset.index === String(byName(name).index)).querySelector(".c-time").textContent;
type("");
found.times = [timeOf("Load"), timeOf("Warn")];
type("event:warn or event:halt");
found.times.push(timeOf("Warn"), timeOf("Halt"));
type("nothing like this");
found.nothing = !document.getElementById("nothing").hidden;
type("");

// What occurs most, and a filter by it. No name is cut.
found.cut = rows().flatMap((row) => [...row.querySelectorAll(".c-event, .c-provider")]).filter((cell) => cell.scrollWidth > cell.clientWidth).length;
found.top = texts(".top-panel table:first-of-type tr td").slice(0, 8);
document.querySelector(".top-panel button").click();
found.narrowed = [document.getElementById("filter").value, rows().length];
type("tid:9");
found.topShown = texts(".top-panel table:first-of-type td:first-child");
type("");

// A click on a row shows its fields and marks its activity.
rows().find((row) => row.dataset.index === String(byName("Copy", 1).index)).click();
found.title = document.querySelector("#detail h2").textContent;
found.fields = texts("#detail .fields dt").map((name, index) => [name, texts("#detail .fields dd")[index]]);
found.kin = rows().filter((row) => row.classList.contains("kin")).length;
found.selected = rows().filter((row) => row.getAttribute("aria-selected") === "true").map((row) => row.dataset.index);
found.related = texts("#detail .link.mono").length;

// A click on a mark of the timeline does the same.
const mark = timeline.place(byName("Warn"));
pointer("pointerdown", mark.left, mark.top);
pointer("pointerup", mark.left, mark.top);
found.clicked = document.querySelector("#detail h2").textContent;

// The wheel zooms about the pointer, a drag moves, keys do both, and the button shows everything again.
const span = () => timeline.view.to - timeline.view.from;
const whole = span();
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -240, clientX: 600, clientY: canvas.getBoundingClientRect().top + 40, cancelable: true }));
found.zoomed = span() < whole;
const before = timeline.view.from;
pointer("pointerdown", 300, 30);
pointer("pointermove", 200, 30);
pointer("pointerup", 200, 30);
found.dragged = timeline.view.from > before && state.chosen.name === "Warn";
const area = document.getElementById("timeline");
const moved = timeline.view.from;
press(area, "ArrowLeft");
found.keyMoved = timeline.view.from < moved;
const close = span();
press(area, "+");
found.keyZoomed = span() < close;
document.getElementById("zoom-all").click();
found.all = span() === whole;

// Keys choose events, step within an activity, and clear.
choose(null);
press(document.body, "ArrowDown");
found.first = state.chosen.index;
choose(byName("Request", 1));
press(document.body, "]");
found.next = state.chosen.name;
press(document.body, "Escape");
found.cleared = state.chosen;
press(document.body, "/");
found.focused = document.activeElement.id;

// Durations: in a column, by a filter, by a key, and as a histogram in the view of the trace.
choose(null);
const durationOf = (name, opcode) => rows().find((row) => row.dataset.index === String(byName(name, opcode).index)).querySelector(".c-duration").textContent;
found.durations = [durationOf("Request", 1), durationOf("Request", 2), durationOf("Open", 1), durationOf("Warn", 0)];
found.groups = texts("#detail > .durations td:first-child");
const spread = histogram([1, 1, 1, 10, 100000].map((to) => ({ from: 0, to })), 4);
found.histogram = spread.shares;
found.place = spread.place({ from: 0, to: 100000 });
type("duration>25000");
found.longer = document.getElementById("table").getAttribute("aria-rowcount") - 1;
type("");
press(document.body, "d");
found.longest = state.chosen.name;
choose(null);
press(document.body, "e");
found.problem = state.chosen.name;
press(document.body, "e");
press(document.body, "E");
found.back = state.chosen.name;
const stacked = trace.events.find((event) => event.more.stack);
if (stacked) {
  choose(stacked);
  found.stack = texts("#detail .frames li");
}
choose(null);

// The scheme's button goes round, and the page follows.
const ground = () => getComputedStyle(document.body).backgroundColor;
const scheme = document.getElementById("scheme");
scheme.click();
found.light = [scheme.textContent, ground()];
scheme.click();
found.dark = [scheme.textContent, ground()];
scheme.click();
found.auto = scheme.textContent;

found.lanes = texts("#lanes b");
found.count = document.getElementById("count").textContent;
found.summary = document.getElementById("summary").textContent;
const out = document.createElement("pre");
out.id = "found";
out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
document.body.append(out);
