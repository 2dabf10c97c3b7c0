// The table of events. Only the rows in sight, and some around them, are elements of the page.

const AROUND = 12;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A level with its sign. */
function levelLabel(level) {
  const label = element("span", `l${levelClass(level)}`);
  label.append(element("i", `sign s${levelClass(level)}`), levelName(level));
  return label;
}

function createTable(choose) {
  const scroller = document.getElementById("scroller");
  const body = document.getElementById("rows");
  const table = document.getElementById("table");
  const nothing = document.getElementById("nothing");
  const [above, below] = [space(), space()];
  let events = [];
  let places = new Map();
  let chosen = null;
  let drawn = "";

  function space() {
    const row = element("tr", "space");
    row.setAttribute("aria-hidden", "true");
    row.append(element("td"));
    return row;
  }

  const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 27;

  function draw(force = false) {
    const height = rowHeight();
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - AROUND);
    const last = Math.min(events.length, first + Math.ceil(scroller.clientHeight / height) + 2 * AROUND);
    const state = `${first} ${last} ${height}`;
    if (!force && state === drawn) return;
    drawn = state;
    above.firstChild.style.height = `${first * height}px`;
    below.firstChild.style.height = `${(events.length - last) * height}px`;
    above.hidden = first === 0;
    below.hidden = last === events.length;
    body.replaceChildren(above, ...events.slice(first, last).map((event, index) => row(event, first + index)), below);
    mark();
  }

  function row(event, place) {
    const made = element("tr", "row");
    made.id = `e${event.index}`;
    made.dataset.index = event.index;
    made.setAttribute("aria-rowindex", place + 2);
    const level = element("td", "c-level");
    level.append(levelLabel(event.level));
    const name = element("td", "c-event");
    name.append(element("b", "", event.name));
    if (event.opcode !== 0) name.append(element("span", "phase", opcodeName(event.opcode).toLowerCase()));
    const span = event.span;
    const length = !span ? "" : span.ended ? duration(span.to - span.from) : "open";
    const took = element("td", `number c-duration${length === "open" ? " open" : ""}`, length);
    if (length === "open") took.title = "Its stop is not in the trace";
    const activity = element("td", "c-activity mono", event.activity?.slice(0, 8) ?? "");
    if (event.activity) activity.title = event.activity;
    const fields = element("td", "c-fields");
    let room = 240;
    for (const [name, value] of event.fields) {
      // A status by its name alone; the field view has the number, too.
      const text = plain(value).replace(/^0x[0-9a-f]{8} (?=[A-Z_0-9]+$)/i, "").slice(0, room);
      fields.append(`${name} `, element("i", "", text));
      room -= name.length + text.length;
      if (room <= 0) break;
    }
    if (event.fields.length === 0 && event.more.size) fields.textContent = `${event.more.size} bytes`;
    const provider = element("td", "c-provider", event.provider);
    provider.title = event.provider;
    made.append(element("td", "number c-time", since(event.time)),
      element("td", "number c-delta", milliseconds(event.delta, "+")),
      level, name, took, provider, element("td", "number c-thread", event.tid === null ? "" : String(event.tid)), activity, fields);
    return made;
  }

  /** Marks the chosen event and those of its activity among the rows that are there. */
  function mark() {
    for (const made of body.querySelectorAll("tr.row")) {
      const event = events[places.get(Number(made.dataset.index))];
      const is = event === chosen;
      made.setAttribute("aria-selected", String(is));
      made.classList.toggle("kin", !is && chosen !== null && chosen.activity !== null && event.activity === chosen.activity);
    }
    if (chosen && places.has(chosen.index)) table.setAttribute("aria-activedescendant", `e${chosen.index}`);
    else table.removeAttribute("aria-activedescendant");
  }

  function reveal() {
    const place = chosen === null ? undefined : places.get(chosen.index);
    if (place === undefined) return;
    const height = rowHeight();
    const [top, room] = [place * height, scroller.clientHeight - 2 * height];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = Math.ceil((top - room) / height) * height;
  }

  /** Chooses the event so many rows further on. */
  function step(rows) {
    if (events.length === 0) return;
    const now = chosen === null ? undefined : places.get(chosen.index);
    const next = now === undefined ? (rows > 0 ? 0 : events.length - 1) : now + rows;
    choose(events[Math.max(0, Math.min(events.length - 1, next))]);
  }

  scroller.addEventListener("scroll", () => draw());
  new ResizeObserver(() => draw()).observe(scroller);
  body.addEventListener("click", (click) => {
    const made = click.target.closest("tr.row");
    if (made) choose(events[places.get(Number(made.dataset.index))]);
  });
  scroller.addEventListener("keydown", (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey) return;
    const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight()) - 2);
    const rows = { PageDown: page, PageUp: -page, Home: -events.length, End: events.length }[key.key];
    if (rows === undefined) return;
    key.preventDefault();
    step(rows);
  });

  return {
    step,
    show(list) {
      events = list;
      places = new Map(list.map((event, place) => [event.index, place]));
      table.setAttribute("aria-rowcount", String(list.length + 1));
      nothing.hidden = list.length > 0;
      draw(true);
      reveal();
    },
    choose(event) {
      chosen = event;
      reveal();
      draw();
      mark();
    },
  };
}
