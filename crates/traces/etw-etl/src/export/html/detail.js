// The field view: everything about one event; about the trace as a whole where none is chosen.

/** What the events are counted by: a heading, the name in a filter, and where an event has it. */
const TOPICS = [
  ["Event", "event", (event) => event.name],
  ["Process", "process", (event) => event.process],
  ["Thread", "tid", (event) => (event.tid === null ? null : String(event.tid))],
  ["File", "file", (event) => event.file],
  ["Provider", "provider", (event) => event.provider],
];

function createDetail(trace, choose, narrow) {
  const panel = document.getElementById("detail");

  function pairs(rows) {
    const list = element("dl");
    for (const [name, value] of rows) {
      if (value === null || value === undefined || value === "") continue;
      list.append(element("dt", "", name));
      const cell = element("dd");
      cell.append(value);
      list.append(cell);
    }
    return list;
  }

  function fieldList(fields) {
    const list = element("dl", "fields");
    for (const [name, value] of fields) {
      list.append(element("dt", "", name));
      if (value !== null && typeof value === "object" && value.fields) {
        list.append(element("dd"), fieldList(value.fields));
      } else {
        list.append(element("dd", /^(?:0x)?[0-9a-f-]{8,}$/i.test(plain(value)) ? "mono" : "", plain(value)));
      }
    }
    return list;
  }

  /** Durations by the names of activities, with a histogram; `here` is the span whose place is marked. */
  function durations(groups, here) {
    const table = element("table", "durations");
    const head = element("tr");
    for (const name of ["Activity", "Count", "Median", "Longest", "Spread"]) head.append(element("th", "", name));
    table.append(head);
    for (const group of groups) {
      const row = element("tr");
      const name = element("td");
      const link = element("button", "link", group.name);
      link.type = "button";
      link.title = "Show the longest";
      if (group.longest) link.addEventListener("click", () => choose(group.longest.start));
      name.append(link);
      const open = group.open ? ` + ${group.open} open` : "";
      row.append(name, element("td", "", `${group.spans.length}${open}`),
        element("td", "", group.median === null ? "" : duration(group.median)),
        element("td", "", group.longest === null ? "" : duration(group.longest.to - group.longest.from)));
      const cell = element("td");
      if (group.spans.length > 1) {
        const { shares, place } = histogram(group.spans);
        const bars = element("span", "bars");
        bars.setAttribute("role", "img");
        bars.setAttribute("aria-label", `Spread of ${group.spans.length} durations, from ${duration(group.spans[0].to - group.spans[0].from)}`);
        shares.forEach((share, column) => {
          const bar = element("i", here && place(here) === column ? "here" : "");
          bar.style.height = `${share === 0 ? 0 : Math.max(8, share * 100)}%`;
          bars.append(bar);
        });
        cell.append(bars);
      }
      row.append(cell);
      table.append(row);
    }
    return table;
  }

  /** An activity id that leads to its first event, where it has one. */
  function activityLink(id) {
    const first = trace.activities.get(id)?.[0];
    if (!first) return element("span", "mono", id);
    const link = element("button", "link mono", id);
    link.type = "button";
    link.addEventListener("click", () => choose(first));
    return link;
  }

  function activityList(event) {
    const kin = trace.activities.get(event.activity);
    const list = element("ol", "list");
    const place = kin.indexOf(event);
    const from = Math.max(0, Math.min(place - 15, kin.length - 31));
    for (const each of kin.slice(from, from + 31)) {
      const item = element("li", each === event ? "here" : "");
      const button = element("button", "", `${each.name} ${opcodeName(each.opcode).toLowerCase()}`);
      button.type = "button";
      button.addEventListener("click", () => choose(each));
      const level = element("span", `l${levelClass(each.level)}`);
      level.append(element("i", `sign s${levelClass(each.level)}`));
      level.title = levelName(each.level);
      item.append(element("span", "number sub", since(each.time)), button, level);
      list.append(item);
    }
    if (kin.length > 31) list.append(element("li", "sub", `${kin.length} events in all`));
    return list;
  }

  function showEvent(event) {
    const close = element("button", "quiet close", "Close");
    close.type = "button";
    close.addEventListener("click", () => choose(null));
    const title = element("h2", "", `${event.name} ${opcodeName(event.opcode).toLowerCase()}`.trim());
    panel.replaceChildren(close, title, element("p", "sub", event.provider));
    if (event.more.error) panel.append(element("p", "notice", `Not decoded whole: ${event.more.error}`));
    panel.append(element("h3", "", "Fields"));
    panel.append(event.fields.length ? fieldList(event.fields) : element("p", "sub", "none"));
    if (event.more.raw) {
      const shown = event.more.raw.length / 2;
      panel.append(element("h3", "", `Data, ${event.more.size} bytes`), element("p", "mono", event.more.raw.match(/.{1,8}/g).join(" ")));
      if (shown < event.more.size) panel.append(element("p", "sub", `the first ${shown}`));
    }
    if (event.activity !== null) {
      const span = event.span;
      const length = span?.ended ? `, ${duration(span.to - span.from)}` : span ? ", open end: its stop is not in the trace" : "";
      const heading = `Activity${length}`;
      panel.append(element("h3", "", heading), activityList(event));
    }
    if (event.span) {
      const base = baseOf(event.span.start.name) || event.span.start.name;
      const group = groups.find(({ name }) => name === base);
      if (group) panel.append(element("h3", "", "Duration among others of its name"), durations([group], event.span.ended && event.span));
    }
    if (event.more.stack) {
      const frames = element("ol", "frames");
      // Names have a frame for each inlined function; the addresses are in the title then.
      for (const frame of event.more.frames ?? event.more.stack) frames.append(element("li", "", frame));
      if (event.more.frames) frames.title = event.more.stack.join(" ");
      panel.append(element("h3", "", `Stack, ${event.more.stack.length} ${event.more.stack.length === 1 ? "frame" : "frames"}`), frames);
    }
    panel.append(element("h3", "", "Header"), pairs([
      ["Time, UTC", moment(trace.about.start, event.time)],
      ["Since the first shown", `${since(event.time)} ms`],
      ["Since previous", `${milliseconds(event.delta)} ms`],
      ["Level", levelLabel(event.level)],
      ["Keyword", element("span", "mono", event.keyword)],
      ["Opcode", event.opcode ? `${opcodeName(event.opcode)} (${event.opcode})` : "0"],
      ["Process, thread", event.tid === null ? null : `${event.pid ?? "?"}, ${event.tid}`],
      ["Process", event.process],
      ["Command line", event.commandLine],
      ["Thread", event.threadName],
      ["File", event.file],
      ["Registry key", event.key],
      ["Processor", String(event.cpu)],
      ["Activity", event.activity && activityLink(event.activity)],
      ["Related", event.related && activityLink(event.related)],
      ["Provider id", event.providerId && element("span", "mono", event.providerId)],
      ["Id, version", `${event.id}, ${event.version}`],
      ["Channel, task", `${event.channel}, ${event.task}`],
      ["Tag", event.more.tag ?? null],
      ["Kind", event.kind],
    ]));
    panel.scrollTop = 0;
  }

  const groups = durationGroups(trace.spans);
  let shown = trace.events;
  let chosen = null;

  /** What occurs most among the shown events. A click filters by it. */
  function top() {
    const section = element("section", "top-panel");
    for (const [what, key, nameOf] of TOPICS) {
      const rows = topOf(shown, nameOf);
      if (rows.length < (key === "event" ? 1 : 2)) continue;
      const table = element("table", "durations");
      const head = element("tr");
      for (const name of [what, "Events", "Share", "Time"]) head.append(element("th", "", name));
      table.append(head);
      for (const { name, count, time } of rows.slice(0, 12)) {
        const row = element("tr");
        const cell = element("td");
        const link = element("button", "link", name);
        link.type = "button";
        link.title = "Show these only";
        link.addEventListener("click", () => narrow(`${key}="${name}"`));
        cell.append(link);
        row.append(cell, element("td", "", count.toLocaleString("en")), element("td", "", `${((100 * count) / shown.length).toFixed(1)} %`),
          element("td", "", time ? duration(time) : ""));
        table.append(row);
      }
      section.append(table);
      if (rows.length > 12) section.append(element("p", "sub", `and ${(rows.length - 12).toLocaleString("en")} more`));
    }
    return section;
  }

  function showTrace() {
    panel.replaceChildren(element("p", "sub", "Choose an event in the timeline or the table to see its fields."),
      ...(groups.length ? [element("h3", "", "Durations"), durations(groups.slice(0, 24))] : []),
      element("h3", "", "Top"), top());
  }

  return {
    /** Shows what occurs most among these events. */
    show(events) {
      shown = events;
      if (chosen === null) showTrace();
    },
    choose(event) {
      chosen = event;
      panel.classList.toggle("empty", event === null);
      if (event) showEvent(event);
      else showTrace();
    },
  };
}
