// The timeline: lanes of threads, activities as bars, events as marks; zooming and moving. Draws on one canvas.

const AXIS = 24;
const ROW = 20;
const LOOSE = 18;
const PADDING = 7;
// The closest look: a microsecond.
const SHORTEST = 10;

function createTimeline(trace, choose, changed) {
  const area = document.getElementById("timeline");
  const canvas = document.getElementById("canvas");
  const tip = document.getElementById("tip");
  const list = document.getElementById("lanes");
  const context = canvas.getContext("2d");
  const pad = Math.max(trace.end * 0.025, SHORTEST / 2);
  const all = { from: -pad, to: trace.end + pad };
  const view = { ...all };
  let shown = new Set(trace.events);
  let chosen = null;
  let colours = null;
  let width = 0;

  let top = AXIS;
  for (const lane of trace.lanes) {
    lane.top = top;
    lane.height = Math.max(lane.rows * ROW + (lane.loose ? LOOSE : 0) + 2 * PADDING, 46);
    top += lane.height;
    const item = document.createElement("li");
    const name = document.createElement("b");
    name.textContent = lane.thread === null ? "other threads" : lane.thread.replace(/^.*:4294967295$/, "no thread").replace(/^.*:/, "thread ");
    const about = document.createElement("span");
    if (lane.thread?.includes(":")) about.textContent = `pid ${lane.thread.replace(/:.*$/, "").replace("4294967295", "–")}`;
    const count = document.createElement("span");
    count.className = "wide";
    count.textContent = `${about.textContent ? ", " : ""}${lane.events} ${lane.events === 1 ? "event" : "events"}`;
    item.append(name, about, count);
    item.style.height = `${lane.height}px`;
    list.append(item);
  }
  const height = top + 1;
  canvas.style.height = `${height}px`;

  const x = (time) => ((time - view.from) / (view.to - view.from)) * width;
  const timeAt = (pixel) => view.from + (pixel / width) * (view.to - view.from);
  const barTop = (span) => span.start.lane.top + PADDING + (span.start.lane.loose ? LOOSE : 0) + span.row * ROW;
  const markY = (event) => (event.bar ? barTop(event.bar) + ROW / 2 - 1 : event.lane.top + PADDING + LOOSE / 2);
  const isKin = (activity) => chosen !== null && chosen.activity !== null && activity === chosen.activity;

  /** Colours of the scheme as the page resolves them. */
  function readColours() {
    const probe = document.createElement("span");
    document.body.append(probe);
    const resolve = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    colours = Object.fromEntries(["ground", "panel", "ink", "muted", "line", "grid", "accent"].map((name) => [name, resolve(name)]));
    colours.levels = LEVELS.map((_, level) => resolve(`level-${level}`));
    probe.remove();
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    if (width === 0) return;
    if (colours === null) readColours();
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.textBaseline = "middle";
    drawAxis();
    for (const lane of trace.lanes) rule(lane.top, colours.line);
    for (const [from, to, count] of trace.about.gaps) drawGap(x(from), x(to), count);
    for (const span of trace.spans) drawBar(span);
    drawMarks();
    if (chosen !== null) {
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.55;
      context.fillRect(Math.round(x(chosen.time)), AXIS, 1, height - AXIS);
      context.globalAlpha = 1;
      ring(chosen);
    }
  }

  /** Marks a time whose events are not in the page: its lanes are not silent. */
  function drawGap(start, end, count) {
    const left = Math.max(start, 0);
    const wide = Math.max(Math.min(end, width) - left, 1);
    if (start > width || end < 0) return;
    context.fillStyle = colours.muted;
    context.globalAlpha = 0.2;
    context.fillRect(left, AXIS, wide, height - AXIS);
    context.globalAlpha = 1;
    const text = `${count.toLocaleString("en")} events are not in this page`;
    context.font = "11.5px Inter, system-ui, sans-serif";
    context.textAlign = "center";
    if (context.measureText(text).width + 12 < wide) context.fillText(text, left + wide / 2, AXIS + 10);
    context.textAlign = "left";
  }

  function rule(y, colour) {
    context.fillStyle = colour;
    context.fillRect(0, y, width, 1);
  }

  function drawAxis() {
    const rough = ((view.to - view.from) / width) * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
    const { origin } = clock;
    const far = Math.max(Math.abs(view.from - origin), Math.abs(view.to - origin));
    const [unit, size] = far >= 2e7 ? ["s", 1e7] : far >= 1e4 ? ["ms", 1e4] : ["µs", 10];
    const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
    context.font = "11.5px Inter, system-ui, sans-serif";
    context.textAlign = "left";
    for (let index = Math.ceil((view.from - origin) / step); origin + index * step <= view.to; index += 1) {
      const left = Math.round(x(origin + index * step));
      context.fillStyle = colours.grid;
      context.fillRect(left, AXIS, 1, height - AXIS);
      context.fillStyle = colours.line;
      context.fillRect(left, AXIS - 6, 1, 6);
      context.fillStyle = colours.muted;
      const text = `${((index * step) / size).toFixed(digits)} ${unit}`;
      if (left + context.measureText(text).width + 6 < width) context.fillText(text, left + 4, AXIS / 2 + 1);
    }
  }

  function drawBar(span) {
    const [left, right] = [x(span.from), x(span.to)];
    if (right < -4 || left > width + 4) return;
    const from = Math.max(left, -4);
    const wide = Math.max(Math.min(right, width + 4) - from, 2);
    const y = barTop(span);
    const faded = !shown.has(span.start) && !(span.stop && shown.has(span.stop));
    const kin = isKin(span.activity);
    const colour = kin ? colours.accent : colours.levels[levelClass(span.level)];
    const strength = faded ? 0.25 : chosen?.activity && !kin ? 0.45 : 1;
    context.beginPath();
    context.roundRect(from, y, wide, ROW - 3, Math.min(3, wide / 2));
    context.fillStyle = colour;
    context.globalAlpha = strength * (kin ? 0.34 : 0.2);
    context.fill();
    context.globalAlpha = strength;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.setLineDash(span.ended ? [] : [3, 3]);
    context.stroke();
    context.setLineDash([]);
    const room = Math.min(wide - 26, x(span.mark ?? Infinity) - from - 21);
    if (room > 14) {
      context.fillStyle = colours.ink;
      context.font = "12px Inter, system-ui, sans-serif";
      context.textAlign = "left";
      // The name, and how long it took where there is room for both.
      const both = span.ended ? `${span.start.name}  ${duration(span.to - span.from)}` : `${span.start.name} …`;
      const label = context.measureText(both).width <= room ? both : fit(span.start.name, room);
      if (label) context.fillText(label, from + 13, y + (ROW - 3) / 2 + 0.5);
    }
    context.globalAlpha = 1;
  }

  /** The front of a text that fits, with an ellipsis where it does not fit whole. */
  function fit(text, room) {
    let label = text;
    if (context.measureText(label).width <= room) return label;
    while (label.length > 1 && context.measureText(`${label}…`).width > room) label = label.slice(0, -1);
    return label.length > 1 ? `${label}…` : "";
  }

  function drawMarks() {
    /** The pixel of the last mark in a row, and of the last one of each level. */
    const drawn = new Map();
    for (const event of trace.events) {
      const left = x(event.time);
      if (left < -8 || left > width + 8 || !shown.has(event)) continue;
      const y = markY(event);
      // The ends of a short bar are seen as they are.
      if (event.span?.ended && event.bar && x(event.span.to) - x(event.span.from) < 36) continue;
      // What would cover the same pixels again is left out: a large trace is drawn as fast as a small one.
      const [row, kind] = [`${y}`, `${y} ${event.level}`];
      if (drawn.get(kind) === Math.round(left) && event !== chosen) continue;
      // An outline would cover the neighbours of a mark in a crowded row.
      const crowded = left - (drawn.get(row) ?? -Infinity) < 6;
      drawn.set(row, left).set(kind, Math.round(left));
      const kin = isKin(event.activity);
      context.globalAlpha = chosen?.activity && !kin && event !== chosen ? 0.4 : 1;
      mark(left, y, event.level, colours.levels[levelClass(event.level)], crowded);
      context.globalAlpha = 1;
    }
  }

  /** The sign of a level: as in the legend. */
  function mark(left, y, level, colour, crowded) {
    context.fillStyle = colour;
    context.strokeStyle = colours.panel;
    context.lineWidth = 1.5;
    context.beginPath();
    if (level === 1) {
      context.rect(left - 4.5, y - 4.5, 9, 9);
    } else if (level === 2) {
      context.moveTo(left, y - 5.5); context.lineTo(left + 5.5, y); context.lineTo(left, y + 5.5); context.lineTo(left - 5.5, y);
    } else if (level === 3) {
      context.moveTo(left, y - 5.5); context.lineTo(left + 5.5, y + 4.5); context.lineTo(left - 5.5, y + 4.5);
    } else if (level >= 5) {
      context.rect(left - 1.5, y - 5, 3, 10);
    } else {
      context.arc(left, y, 4.2, 0, 2 * Math.PI);
    }
    context.closePath();
    if (!crowded) context.stroke();
    context.fill();
  }

  function ring(event) {
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x(event.time), markY(event), 8, 0, 2 * Math.PI);
    context.stroke();
  }

  /** The event at a place: the nearest mark, else the start of the bar. */
  function eventAt(left, y) {
    let best = null;
    let distance = 81;
    for (const event of trace.events) {
      if (!shown.has(event)) continue;
      const away = (x(event.time) - left) ** 2 + ((markY(event) - y) * 0.8) ** 2;
      if (away < distance) [best, distance] = [event, away];
    }
    if (best) return best;
    const covers = (span) => x(span.from) <= left && left <= Math.max(x(span.to), x(span.from) + 3)
      && barTop(span) <= y && y <= barTop(span) + ROW - 3 && shown.has(span.start);
    return trace.spans.find(covers)?.start ?? null;
  }

  function setView(from, to) {
    const span = Math.min(Math.max(to - from, SHORTEST), all.to - all.from);
    const start = Math.min(Math.max(from, all.from), all.to - span);
    Object.assign(view, { from: start, to: start + span });
    draw();
    changed();
  }
  const zoom = (factor, centre = (view.from + view.to) / 2) =>
    setView(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
  const move = (share) => setView(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

  canvas.addEventListener("wheel", (wheel) => {
    wheel.preventDefault();
    if (wheel.shiftKey || Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) {
      move((wheel.deltaX || wheel.deltaY) / width);
    } else {
      zoom(Math.exp(Math.max(-240, Math.min(240, wheel.deltaY)) / 320), timeAt(wheel.offsetX));
    }
  }, { passive: false });

  let drag = null;
  canvas.addEventListener("pointerdown", (pointer) => {
    if (pointer.button !== 0) return;
    drag = { at: pointer.offsetX, from: view.from, to: view.to, moved: false };
    try { canvas.setPointerCapture(pointer.pointerId); } catch { /* a pointer that is gone already */ }
  });
  canvas.addEventListener("pointermove", (pointer) => {
    if (drag) {
      const pixels = pointer.offsetX - drag.at;
      if (Math.abs(pixels) > 3) drag.moved = true;
      if (drag.moved) {
        canvas.classList.add("drag");
        const shift = (pixels / width) * (drag.to - drag.from);
        setView(drag.from - shift, drag.to - shift);
      }
      return;
    }
    hover(eventAt(pointer.offsetX, pointer.offsetY), pointer);
  });
  const release = (pointer) => {
    if (drag && !drag.moved && pointer.type === "pointerup") {
      const event = eventAt(pointer.offsetX, pointer.offsetY);
      if (event) choose(event);
    }
    drag = null;
    canvas.classList.remove("drag");
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("dblclick", (pointer) => {
    const span = eventAt(pointer.offsetX, pointer.offsetY)?.bar;
    if (span) setView(span.from - (span.to - span.from) * 0.15 - 5, span.to + (span.to - span.from) * 0.15 + 5);
  });

  function hover(event, pointer) {
    canvas.classList.toggle("over", event !== null);
    tip.hidden = event === null;
    if (event === null) return;
    const length = event.span ? `, ${duration(event.span.to - event.span.from)}` : "";
    tip.textContent = `${event.name} ${opcodeName(event.opcode)} · ${since(event.time)} ms${length}`;
    tip.style.left = `${Math.max(0, Math.min(pointer.offsetX + 12, width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(pointer.offsetY + 14, height - tip.offsetHeight - 2)}px`;
  }

  area.addEventListener("keydown", (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey) return;
    const actions = {
      "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: () => setView(all.from, all.to),
      ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Home: () => setView(all.from, all.from + view.to - view.from),
      End: () => setView(all.to - (view.to - view.from), all.to),
    };
    if (!Object.hasOwn(actions, key.key)) return;
    key.preventDefault();
    actions[key.key]();
  });
  document.getElementById("zoom-in").addEventListener("click", () => zoom(0.6));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  document.getElementById("zoom-all").addEventListener("click", () => setView(all.from, all.to));
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recolour());

  function recolour() {
    colours = null;
    draw();
  }

  return {
    draw, recolour, setView, view, all,
    /** Where an event is drawn, in the canvas. */
    place: (event) => ({ left: x(event.time), top: markY(event) }),
    show(events) { shown = new Set(events); draw(); },
    choose(event) {
      chosen = event;
      // The lane into sight, where there are more than fit.
      const { top: above = 0, height: tall = 0 } = event?.lane ?? {};
      if (event && (above < area.scrollTop || above + tall > area.scrollTop + area.clientHeight)) area.scrollTop = above - AXIS;
      if (event && (event.time < view.from || event.time > view.to)) {
        const half = (view.to - view.from) / 2;
        setView(event.time - half, event.time + half);
      } else draw();
    },
  };
}
