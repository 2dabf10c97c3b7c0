//! Exit codes. Each has one meaning in all programs.

/// Done, and all is well.
pub const SUCCESS: u8 = 0;
/// The answer is no: a step failed, a request was refused, an input is not right.
pub const FAILED: u8 = 1;
/// Nothing can be said: wrong usage, a file that cannot be read or written, something that is not installed.
pub const USAGE: u8 = 2;
/// A driver that was run did something wrong.
pub const FINDINGS: u8 = 3;
/// The result is not complete: events or findings were lost, a trace is damaged, the driver's process ended.
pub const INCOMPLETE: u8 = 4;
/// This system or this build cannot do it.
pub const UNSUPPORTED: u8 = 5;
/// Ended by Ctrl-C: 128 and the signal's number, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// The codes in one sentence, for the help.
pub const HELP: &str = "Exit codes: 0 all is well; 1 something failed or was refused; 2 wrong usage, a file that cannot be read or \
                        written, or something that is not installed; 3 a driver that was run did something wrong; 4 the result \
                        is incomplete; 5 not supported here; 130 interrupted.";
