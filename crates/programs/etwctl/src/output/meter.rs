//! The meter: a line on a terminal that shows how many events were recorded and lost.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use command_line::{has_colours, is_quiet};
use etw_session::SessionStatus;
use etw_session::platform::shows_colours;

use crate::values::counted;

/// How often it is redrawn.
const EVERY: Duration = Duration::from_millis(500);
/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// A line that is redrawn. Nothing is written if standard error is not a terminal.
#[derive(Debug)]
pub(crate) struct Meter<W> {
    out: Option<W>,
    has_colour: bool,
    drawn: Option<Instant>,
    is_shown: bool,
}

impl Meter<io::Stderr> {
    /// A meter on standard error.
    pub(crate) fn new() -> Self {
        let out = (io::stderr().is_terminal() && shows_colours() && !is_quiet()).then(io::stderr);
        Self::with(out, has_colours(&io::stderr()))
    }
}

impl<W: Write> Meter<W> {
    fn with(out: Option<W>, has_colour: bool) -> Self {
        Self { out, has_colour, drawn: None, is_shown: false }
    }

    /// Whether it is time to draw. The caller must flush its other output to the terminal before it draws.
    pub(crate) fn is_due(&self) -> bool {
        self.out.is_some() && self.drawn.is_none_or(|drawn| drawn.elapsed() >= EVERY)
    }

    /// Draws the line.
    pub(crate) fn draw(&mut self, shown: Option<u64>, status: Option<SessionStatus>) {
        self.drawn = Some(Instant::now());
        if let (Some(out), Some(status)) = (&mut self.out, status) {
            // An error is ignored: the terminal may be closed.
            let _ = write!(out, "{CLEAR}{} (Enter stops)", line(shown, &status, self.has_colour));
            let _ = out.flush();
            self.is_shown = true;
        }
    }

    /// Clears the line, so that an event can be printed.
    pub(crate) fn clear(&mut self) {
        if let Some(out) = self.out.as_mut().filter(|_| self.is_shown) {
            let _ = write!(out, "{CLEAR}");
            let _ = out.flush();
            self.is_shown = false;
        }
    }
}

/// The text of the meter, with the number of printed events, or, if none are printed, of written buffers.
fn line(shown: Option<u64>, status: &SessionStatus, has_colour: bool) -> String {
    let lost = u64::from(status.log_buffers_lost) + u64::from(status.real_time_buffers_lost);
    let came = shown.map_or_else(
        || format!("{} written", counted(status.buffers_written.into(), "buffer")),
        |shown| format!("{} printed", counted(shown, "event")),
    );
    let text = format!(
        "{came}, {} and {} lost, {} of {} buffers free",
        counted(status.events_lost.into(), "event"),
        counted(lost, "buffer"),
        status.free_buffers,
        status.number_of_buffers
    );
    match (has_colour, status.has_losses()) {
        (false, _) => text,
        (true, false) => format!("\x1b[32m{text}\x1b[0m"),
        (true, true) => format!("\x1b[31m{text}\x1b[0m"),
    }
}

#[cfg(test)]
#[cfg(not(windows))]
mod tests {
    use etw_engine::{Block, EventWrite};
    use etw_session::platform::local_engine;
    use etw_session::{Enable, Machine, Properties, Session};
    use etw_types::{EventDescriptor, Guid, Keyword, Level};

    use super::{EVERY, Meter};

    fn drawn(session: &Session, shown: Option<u64>, has_colour: bool) -> String {
        let mut bytes = Vec::new();
        let mut meter = Meter::with(Some(&mut bytes), has_colour);
        assert!(meter.is_due());
        meter.draw(shown, session.query().ok());
        assert!(!meter.is_due(), "it has just been drawn");
        meter.clear();
        meter.clear();
        String::from_utf8(bytes).expect("text")
    }

    /// A session with two buffers and without a consumer gets more events than fit.
    #[test]
    fn losses_are_shown_as_they_are_counted() {
        let provider = Guid::from_name("etwctl.meter");
        let engine = local_engine();
        let handle = engine.register(provider, None, |_| {}).expect("a handle");
        let properties = Properties::new("meter").real_time().buffers(4, 2, 2);
        let session = Machine::local().start(&properties).expect("a session");
        session.provider(provider).enable(&Enable::new(Level::Verbose)).expect("enabled");
        let quiet = drawn(&session, Some(7), true);
        assert!(quiet.starts_with("\r\x1b[K\x1b[32m7 events printed, 0 events and 0 buffers lost, "), "{quiet:?}");
        assert!(quiet.ends_with("buffers free\x1b[0m (Enter stops)\r\x1b[K"), "{quiet:?}");

        let event = EventWrite::new(handle, EventDescriptor::new(Level::Error, Keyword::NONE));
        let lost = (0..1000).filter(|_| !engine.write(&event, [Block::data(&[0; 500])].as_slice()).is_success());
        let lost = lost.count();
        assert!(lost > 0, "it all fitted");
        let text = drawn(&session, Some(0), true);
        assert!(text.contains(&format!("\x1b[31m0 events printed, {lost} events and 0 buffers lost")), "{text:?}");
        let plain = drawn(&session, None, false);
        assert!(plain.starts_with("\r\x1b[K0 buffers written, "), "{plain:?}");
        assert!(plain.contains(&format!(", {lost} events and")), "{plain:?}");
        assert!(!plain.contains("\x1b[3"), "{plain:?}");
        engine.unregister(handle);
    }

    #[test]
    fn nothing_is_written_where_there_is_no_terminal() {
        let mut meter: Meter<Vec<u8>> = Meter::with(None, true);
        assert!(!meter.is_due());
        meter.clear();
    }

    #[test]
    fn it_is_redrawn_after_a_while() {
        let mut meter = Meter::with(Some(Vec::new()), false);
        meter.draw(Some(1), None);
        assert!(!meter.is_due());
        meter.drawn = meter.drawn.and_then(|drawn| drawn.checked_sub(EVERY));
        assert!(meter.is_due());
    }
}
