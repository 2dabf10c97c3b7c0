// The filter: terms joined by and, or, not and parentheses. Touches no element of the page.

// A parenthesis or the minus before one; or a term: a minus, a name and a sign, a text.
const TOKEN = /(-(?=\()|[()])|(-?)(?:([^\s:=<>"()]+)(:|<=|>=|=|<|>))?(?:"([^"]*)"?|([^\s()]+))/g;
const OPERATORS = new Set(["and", "or", "not"]);

/** What a word before a sign stands for, besides fields. */
const KEYS = {
  level: (event) => event.level,
  provider: (event) => event.provider,
  event: (event) => event.name,
  activity: (event) => event.activity ?? "",
  related: (event) => event.related ?? "",
  opcode: (event) => opcodeName(event.opcode),
  keyword: (event) => event.keyword,
  kind: (event) => event.kind,
  thread: (event) => `${event.thread} ${event.threadName ?? ""}`,
  process: (event) => event.process ?? "",
  file: (event) => event.file ?? "",
  key: (event) => event.key ?? "",
  tid: (event) => event.tid,
  pid: (event) => event.pid,
  cpu: (event) => event.cpu,
  duration: (event) => (event.span?.ended ? (event.span.to - event.span.from) / 10 : ""),
  id: (event) => event.id,
  task: (event) => event.task,
};

/** Everything of an event in which a bare word is looked for. */
function haystack(event) {
  event.text ??= [event.provider, event.name, opcodeName(event.opcode), event.process, event.file, event.key,
    ...flatten(event.fields).map(([name, value]) => `${name}=${value}`)].join("\n").toLowerCase();
  return event.text;
}

/** The number at the front of a text, hexadecimal or not. */
function leadingNumber(value) {
  const found = /^-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?)/i.exec(String(value));
  return found ? Number(found[0]) : NaN;
}

function levelNumber(text) {
  if (/^\d+$/.test(text)) return Number(text);
  const wanted = { warn: "warning", err: "error", informational: "information", logalways: "always" }[text] ?? text;
  return LEVELS.findIndex((name) => name.toLowerCase().startsWith(wanted));
}

function compare(value, sign, wanted) {
  if (sign === ":") {
    return typeof value === "number" ? value === leadingNumber(wanted) : String(value ?? "").toLowerCase().includes(wanted);
  }
  const [left, right] = [leadingNumber(value), leadingNumber(wanted)];
  switch (sign) {
    case "=": return String(value ?? "").toLowerCase() === wanted || left === right;
    case "<": return left < right;
    case ">": return left > right;
    case "<=": return left <= right;
    default: return left >= right;
  }
}

/** A test of events for one term. */
function parseTerm([whole, , minus, key, sign, quoted, bare], names) {
  const wanted = (quoted ?? bare).toLowerCase();
  const lower = key?.toLowerCase();
  let test;
  if (lower === "level") {
    const level = levelNumber(wanted);
    test = (event) => compare(event.level, sign, String(level));
  } else if (lower !== undefined && Object.hasOwn(KEYS, lower)) {
    test = (event) => compare(KEYS[lower](event), sign, wanted);
  } else if (lower !== undefined && names.has(lower)) {
    test = (event) => flatten(event.fields)
      .some(([name, value]) => name.toLowerCase() === lower && compare(value, sign, wanted));
  } else {
    const word = (lower === undefined ? wanted : whole.slice(minus.length).replaceAll('"', "")).toLowerCase();
    test = (event) => haystack(event).includes(word);
  }
  return minus ? (event) => !test(event) : test;
}

/**
 * A test of events for a filter; `names` are the lower-case names of all fields. `and` binds tighter than `or`, and terms without
 * an operator between them are joined by `and`. What is not finished, as while it is typed, is left out.
 */
function parseFilter(text, names) {
  const tokens = [...text.matchAll(TOKEN)].map((found) => {
    const [, mark, minus, key, , , bare] = found;
    const word = key === undefined && minus === "" ? bare?.toLowerCase() : undefined;
    return { sign: mark ?? (OPERATORS.has(word) ? word : null), found };
  });
  let place = 0;
  const is = (sign) => tokens[place]?.sign === sign;
  const take = (sign) => is(sign) && (place += 1) > 0;
  const joined = (tests, every) => {
    const all = tests.filter((test) => test !== null);
    if (all.length < 2) return all[0] ?? null;
    return every ? (event) => all.every((test) => test(event)) : (event) => all.some((test) => test(event));
  };
  function either() {
    const tests = [];
    do tests.push(both()); while (take("or"));
    return joined(tests, false);
  }
  function both() {
    const tests = [];
    while (place < tokens.length && !is("or") && !is(")")) if (!take("and")) tests.push(one());
    return joined(tests, true);
  }
  function one() {
    if (take("not") || take("-")) {
      const test = one();
      return test && ((event) => !test(event));
    }
    if (take("(")) {
      const test = either();
      take(")");
      return test;
    }
    if (place === tokens.length || tokens[place].sign !== null) return null;
    place += 1;
    return parseTerm(tokens[place - 1].found, names);
  }
  const tests = [];
  while (place < tokens.length) {
    tests.push(either());
    take(")");
  }
  return joined(tests, true) ?? (() => true);
}

function fieldNames(events) {
  const names = new Set();
  for (const event of events) for (const [name] of flatten(event.fields)) names.add(name.toLowerCase());
  return names;
}
