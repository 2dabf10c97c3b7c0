//! Exit codes. Each code means the same in all programs.

/// Success.
pub const SUCCESS: u8 = 0;
/// A step failed, a request was refused, or an input is not valid.
pub const FAILED: u8 = 1;
/// There is no result: wrong usage, a file that cannot be read or written, or something that is not installed.
pub const USAGE: u8 = 2;
/// A driver that was run did something wrong.
pub const FINDINGS: u8 = 3;
/// The result is incomplete: events or findings were lost, a trace is damaged, the driver's process ended, its device
/// did not start, or a request did not reach it.
pub const INCOMPLETE: u8 = 4;
/// This system or this build cannot do it.
pub const UNSUPPORTED: u8 = 5;
/// Ended by Ctrl-C: 128 plus the number of the signal, as in shells.
pub const INTERRUPTED: u8 = 130;

/// The codes in one sentence, for the help texts.
pub const HELP: &str = "Exit codes: 0 success; 1 something failed or was refused; 2 wrong usage, a file that cannot be read or \
                        written, or something that is not installed; 3 a driver that was run did something wrong; 4 the result \
                        is incomplete; 5 not supported here; 130 interrupted.";
