//! What can be said: commands, their arguments and their options.

use windows_releases::Release;

use crate::values::LEVELS;

/// What an argument or an option's value is, for the completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Anything.
    Any,
    /// A file.
    File,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An information class.
    Class,
}

impl Value {
    /// The words that it can be, where they are known.
    pub(crate) fn words(self) -> Vec<String> {
        match self {
            Self::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            Self::Class => etw_session::info::all().iter().map(etw_session::info::Facts::short_name).collect(),
            Self::Any | Self::File => Vec::new(),
        }
    }
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) is_required: bool,
    pub(crate) is_many: bool,
    pub(crate) value: Value,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opt {
    /// Without dashes.
    pub(crate) name: &'static str,
    /// The name of its value; `None` for a switch.
    pub(crate) takes: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) value: Value,
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// One or two words.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) arguments: &'static [Argument],
    pub(crate) options: &'static [Opt],
    pub(crate) details: &'static str,
}

const fn required(name: &'static str, help: &'static str) -> Argument {
    Argument { name, help, is_required: true, is_many: false, value: Value::Any }
}

const fn optional(name: &'static str, help: &'static str) -> Argument {
    Argument { name, help, is_required: false, is_many: false, value: Value::Any }
}

const fn many(name: &'static str, help: &'static str) -> Argument {
    Argument { name, help, is_required: false, is_many: true, value: Value::Any }
}

const fn file(name: &'static str, help: &'static str) -> Argument {
    Argument { name, help, is_required: true, is_many: false, value: Value::File }
}

const fn switch(name: &'static str, help: &'static str) -> Opt {
    Opt { name, takes: None, help, value: Value::Any }
}

const fn option(name: &'static str, takes: &'static str, help: &'static str) -> Opt {
    Opt { name, takes: Some(takes), help, value: Value::Any }
}

const fn choice(name: &'static str, words: &'static [&'static str], help: &'static str) -> Opt {
    Opt { name, takes: Some("WORD"), help, value: Value::Word(words) }
}

const fn path(name: &'static str, help: &'static str) -> Opt {
    Opt { name, takes: Some("FILE"), help, value: Value::File }
}

const CLASS: Argument = Argument { value: Value::Class, ..required("CLASS", "a number or a name of `info list`") };
const SESSION: Argument = required("SESSION", "the session's name");
const PROVIDER: Argument = required("PROVIDER", "a GUID, or a TraceLogging provider's name");
const LEVEL: Opt = choice("level", LEVELS, "the most verbose level, or a number (default: all)");
const ANY: Opt = option("any", "MASK", "keywords of which an event needs one (default: all events)");
const ALL: Opt = option("all", "MASK", "keywords of which an event needs all");
const GROUP: Opt = switch("group", "the GUID is a provider group's");
const STACKS: Opt = switch("stacks", "add a call stack to every event");

const PROVIDERS: Opt = option("provider", "PROVIDER", "only events of this provider; repeatable");
const WHERE: Opt =
    option("where", "CONDITION", "only events with NAME=VALUE, !=, <, <=, >, >= or ~ (contains); repeatable");
const MANIFEST: Opt = path(
    "manifest",
    "describe events by a manifest (.man), a binary with a WEVT_TEMPLATE resource (.sys, .dll, .exe), or a folder of them; repeatable",
);
const TMF: Opt =
    path("tmf", "describe WPP messages by a trace message format file (.tmf), or a folder of them; repeatable");

/// Options that every command has.
pub(crate) const GLOBAL: &[Opt] = &[
    switch("json", "write JSON instead of tables"),
    choice("color", &["auto", "always", "never"], "when to use colours (default: on a terminal)"),
    switch("help", "explain the command"),
];

/// Every command.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "sessions",
        summary: "list the running sessions, or show one",
        arguments: &[optional("SESSION", "the session to show")],
        options: &[],
        details: "",
    },
    Command {
        name: "providers",
        summary: "list the registered providers, or who enabled one",
        arguments: &[optional("PROVIDER", "a GUID, or a TraceLogging provider's name")],
        options: &[switch("groups", "provider groups instead"), switch("process", "those of this process only")],
        details: "",
    },
    Command {
        name: "start",
        summary: "start a session",
        arguments: &[SESSION],
        options: &[
            path("etl", "write a file"),
            switch("real-time", "deliver to consumers"),
            switch("buffering", "keep the newest events in memory"),
            option("sequential", "MIB", "end the file at this size"),
            option("circular", "MIB", "overwrite the oldest events at this size"),
            option("numbered", "MIB", "begin another file at this size; the name needs a %d"),
            option("buffer-kib", "N", "size of a buffer, 4 to 16384"),
            option("min-buffers", "N", "buffers at the start"),
            option("max-buffers", "N", "most buffers"),
            option("flush", "SECONDS", "flush this often; fractions are possible"),
            choice("clock", &["qpc", "system", "cycles"], "what time stamps count (default: qpc)"),
            option("system", "GROUPS", "take events of the system providers, as names or numbers with commas"),
            option("guid", "GUID", "the session's GUID"),
            option("mode", "MODE", "another logging mode by name or number; repeatable"),
            switch("dry-run", "check and show what would be asked for"),
        ],
        details: "",
    },
    Command {
        name: "update",
        summary: "change a running session",
        arguments: &[SESSION],
        options: &[
            path("etl", "go on with another file"),
            option("flush", "SECONDS", "flush this often"),
            option("max-buffers", "N", "most buffers"),
            option("flags", "MASK", "EVENT_TRACE_FLAG_* of the system providers; 0 disables them"),
            choice("real-time", &["on", "off"], "deliver to consumers"),
            switch("next-file", "go on with the next of numbered files"),
            switch("finish-file", "finish the file, and go on in real time only"),
        ],
        details: "",
    },
    Command {
        name: "enable",
        summary: "ask a provider for events",
        arguments: &[SESSION, PROVIDER],
        options: &[
            LEVEL,
            ANY,
            ALL,
            GROUP,
            STACKS,
            option("property", "NAME", "another property by name or number; repeatable"),
            option("pid", "N", "only this process; repeatable, at most 8"),
            option("exe", "NAME", "only processes of this executable; repeatable"),
            option("package", "ID", "only processes of this package; repeatable"),
            option("event-id", "N", "only events of this id; repeatable, at most 64"),
            option("not-event-id", "N", "all but events of this id; repeatable"),
            option("event-name", "NAME", "only TraceLogging events of this name; repeatable"),
            option("stack-id", "N", "stacks for events of this id only; repeatable"),
            option("stack-level", "LEVEL", "stacks for events up to this level only"),
            option("filter", "KIND:HEX", "any other filter; repeatable"),
            option("timeout", "SECONDS", "wait so long for the provider's callback (default: 5)"),
        ],
        details: "A second request replaces the first, filters included.",
    },
    Command {
        name: "disable",
        summary: "take a request back",
        arguments: &[SESSION, PROVIDER],
        options: &[GROUP],
        details: "",
    },
    Command {
        name: "capture",
        summary: "ask a provider to log its state",
        arguments: &[SESSION, PROVIDER],
        options: &[LEVEL, ANY, GROUP],
        details: "The session must have enabled the provider; the events reach every session.",
    },
    Command { name: "info list", summary: "list the information classes", arguments: &[], options: &[], details: "" },
    Command {
        name: "info get",
        summary: "query or enumerate an information class",
        arguments: &[CLASS],
        options: &[
            option("session", "SESSION", "the session, for classes of sessions"),
            option("of", "N", "profile source of class 5, processor of class 25"),
            option("guid", "PROVIDER", "provider of class 1, group of class 13"),
            switch("raw", "write the bytes in hexadecimal"),
        ],
        details: "",
    },
    Command {
        name: "info set",
        summary: "set an information class",
        arguments: &[CLASS, many("VALUE", "what to set; nothing clears a list")],
        options: &[
            option("session", "SESSION", "the session, for classes of sessions"),
            option("seconds", "N", "time between two requests, of class 16"),
            option("raw", "HEX", "set these bytes"),
        ],
        details: "Values: GUID/TYPE for system events (classes 3, 8, 28), names or numbers of groups (4), SOURCE=INTERVAL (5),\n\
                  numbers (6, 9, 21), providers (10, 16), on or off (18, 24, 26), names or numbers of bits (20).",
    },
    Command {
        name: "flush",
        summary: "write out what the buffers hold",
        arguments: &[SESSION],
        options: &[],
        details: "",
    },
    Command { name: "stop", summary: "stop a session", arguments: &[SESSION], options: &[], details: "" },
    Command {
        name: "record",
        summary: "record providers until told to stop",
        arguments: &[many("PROVIDER", "a GUID, or a TraceLogging provider's name")],
        options: &[
            switch("live", "print events as they come (default without --etl)"),
            path("etl", "write a file"),
            LEVEL,
            ANY,
            ALL,
            GROUP,
            STACKS,
            option("for", "SECONDS", "stop after this time"),
            option("count", "N", "stop after so many events were printed"),
            option("session", "NAME", "the session's name (default: etwctl and the process id)"),
            switch("csv", "print CSV"),
            switch("demo", "run a demonstration provider in this process, repeated until --for (not on Windows)"),
            path("driver", "load this driver, give it a device and the requests, and unload it (Linux only)"),
            option("ioctl", "CODE[:HEX]", "send the driver a control request; repeatable"),
            choice("os", &Release::NAMES, "the Windows release that the driver finds (default: win11-24h2)"),
            option("advance", "SECONDS", "time that passes for the driver before it is unloaded (default: 2.5)"),
        ],
        details: "Stops at --for, --count, Enter on a terminal, Ctrl-C, or when the demonstration or the driver is done; the file is\n\
                  closed in all these cases. A second Ctrl-C ends at once. With --json, events are JSON Lines.\n\n\
                  A driver is run as a program, with nt-host: on Linux for x86-64 and without Windows, with all rights of this\n\
                  process. What it did wrong is reported, and the exit code is then 5.",
    },
    Command {
        name: "decode",
        summary: "print the events of a trace file",
        arguments: &[file("FILE", "an .etl file")],
        options: &[
            switch("text", "a line for each event (default)"),
            switch("table", "relative times, activities with brackets, fields in columns"),
            switch("csv", "comma-separated values"),
            switch("chrome", "one document for Chrome's and Perfetto's viewers"),
            switch("html", "a page that shows the trace in a browser; the first 100,000 events"),
            PROVIDERS,
            choice("level", LEVELS, "only events up to this level"),
            WHERE,
            option("count", "N", "at most so many events"),
            MANIFEST,
            TMF,
            path("output", "write to a file"),
        ],
        details: "A NAME is event, provider, id, level, opcode, task, keyword, pid, tid, cpu, kind or a field, with dots into structs.\n\
                  Works on every system. With --json, events are JSON Lines.",
    },
    Command {
        name: "stats",
        summary: "summarise a trace file: events by provider and name, and how many of them have a schema",
        arguments: &[file("FILE", "an .etl file")],
        options: &[MANIFEST, TMF],
        details: "An event is named if a schema is found for it, and whole if the schema accounts for every byte of its data.\n\
                  Works on every system.",
    },
    Command {
        name: "activities",
        summary: "show how long activities of a trace file took, the slowest first",
        arguments: &[file("FILE", "an .etl file")],
        options: &[switch("tree", "each activity below the one that it came from"), PROVIDERS, MANIFEST, TMF],
        details: "A start and a stop are an activity if they have one activity id, or if they nest on one thread. A start whose stop\n\
                  is not in the trace is counted as open. Times are in microseconds; percentiles are durations that occurred.\n\
                  Works on every system.",
    },
    Command {
        name: "stacks",
        summary: "write the call stacks of a trace file in the folded form of flame graphs",
        arguments: &[file("FILE", "an .etl file")],
        options: &[PROVIDERS, WHERE, MANIFEST, TMF, path("output", "write to a file")],
        details: "A line is a process, its frames from the outermost to the innermost, the event, and how often. Frames are named by\n\
                  the image events of the trace. With --json, a line is a JSON object. Works on every system.",
    },
    Command {
        name: "schema",
        summary: "show the events that a file describes",
        arguments: &[file("FILE", "a manifest (.man) or a binary (.sys, .dll, .exe)")],
        options: &[option("provider", "NAME", "only this provider; repeatable")],
        details: "Works on every system.",
    },
    Command {
        name: "batch",
        summary: "run commands of a file, or of standard input, in one process",
        arguments: &[Argument { is_required: false, ..file("FILE", "one command in a line; # begins a comment") }],
        options: &[switch("keep-going", "go on after a command that failed")],
        details: "Without Windows this is how several commands act on the same sessions.",
    },
    Command {
        name: "completions",
        summary: "write completions for a shell",
        arguments: &[Argument {
            value: Value::Word(&["bash", "zsh", "fish", "powershell"]),
            ..required("SHELL", "bash, zsh, fish or powershell")
        }],
        options: &[],
        details: "",
    },
];
