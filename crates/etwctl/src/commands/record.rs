//! `record`: a session, its providers, its events while it runs, and how much was lost.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use etw_session::platform::interrupted;
use etw_session::{Call, Consumer, Error, Properties, Received, Session, SessionStatus};

use super::decode::{Printer, format};
use super::requests::request;
use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::output::paint;
use crate::platform::Demo;
use crate::values;

/// How long one look for events waits.
const LOOK: Duration = Duration::from_millis(100);
/// How often the meter is redrawn.
const METER: Duration = Duration::from_millis(500);

/// When to stop.
struct End {
    at: Option<Instant>,
    most: u64,
    demo: Option<Demo>,
    pressed: Arc<AtomicBool>,
}

impl End {
    fn is_reached(&self, shown: u64) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
            || shown >= self.most
            || self.demo.as_ref().is_some_and(Demo::is_finished)
            || self.pressed.load(Ordering::Relaxed)
            || interrupted()
    }
}

/// Records.
pub(super) fn record(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let mut providers = line.arguments.iter().map(|name| values::provider(name)).collect::<Result<Vec<_>, _>>()?;
    let request = request(line)?;
    if line.has("demo") {
        if !Demo::IS_HERE {
            return Err(Failure::Usage("there is no demonstration provider here: name one of the system's".to_owned()));
        }
        providers.push(Demo::ID);
    }
    if providers.is_empty() {
        return Err(Failure::Usage("record needs a provider, or --demo".to_owned()));
    }
    let is_live = line.has("live") || line.value("etl").is_none();
    let time = line.value("for").map(values::seconds).transpose()?;
    let format = format(context, line)?;
    let name = line.value("session").map_or_else(|| format!("etwctl-{}", std::process::id()), Into::into);
    let mut properties = Properties::new(&name).flush_every(Duration::from_millis(250));
    if is_live {
        properties = properties.real_time();
    }
    if let Some(file) = line.value("etl") {
        properties = properties.file(file);
    }

    let session = context.machine.start(&properties)?;
    if !line.has("demo") {
        context.caveat();
    }
    let consumer = if is_live { Some(context.machine.consume(&session)?) } else { None };
    for guid in providers {
        let provider = if line.has("group") { session.group(guid) } else { session.provider(guid) };
        provider.enable(&request)?;
    }
    let end = End {
        at: time.and_then(|time| Instant::now().checked_add(time)),
        most: line.parsed("count")?.unwrap_or(u64::MAX),
        demo: if line.has("demo") { Some(Demo::start()?) } else { None },
        pressed: wait_for_enter(),
    };
    let printer = Printer::new(BufWriter::new(io::stdout()), format, context.has_colour)?;
    let (shown, status) = follow(session, consumer, printer, &end)?;
    let file = status.log_file.map_or_else(String::new, |file| format!(", {}", file.display()));
    let events = if is_live { format!("{shown} events printed, ") } else { String::new() };
    eprintln!(
        "{name}: {events}{} buffers written, {} events and {} buffers lost{file}",
        status.buffers_written,
        status.events_lost,
        status.log_buffers_lost.saturating_add(status.real_time_buffers_lost),
    );
    Ok(())
}

/// Prints events until the end, stops the session, and prints what was on its way.
fn follow<W: Write>(
    session: Session,
    mut consumer: Option<Consumer>,
    mut printer: Printer<W>,
    end: &End,
) -> Result<(u64, SessionStatus), Failure> {
    let mut shown = 0;
    let mut meter = Meter::new();
    while !end.is_reached(shown) {
        match consumer.as_mut().map(|consumer| consumer.receive(LOOK)) {
            Some(Received::Event(event)) => {
                meter.clear();
                printer.event(&event)?;
                shown += 1;
            }
            // Somebody else stopped the session.
            Some(Received::End) => break,
            Some(Received::Nothing) => {}
            Some(Received::Failed(code)) => return Err(Error::of(Call::Consume, code).into()),
            None => thread::sleep(LOOK),
        }
        meter.draw(&session, shown);
    }
    meter.clear();
    let status = session.stop()?;
    while shown < end.most
        && let Some(Received::Event(event)) = consumer.as_mut().map(|consumer| consumer.receive(LOOK))
    {
        printer.event(&event)?;
        shown += 1;
    }
    printer.finish()?;
    Ok((shown, status))
}

/// A line on the terminal that shows how much came and how much was lost. Only where standard error is a terminal.
struct Meter {
    is_terminal: bool,
    drawn: Option<Instant>,
    is_shown: bool,
}

impl Meter {
    fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal() && paint::may_colour(), drawn: None, is_shown: false }
    }

    fn draw(&mut self, session: &Session, shown: u64) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= METER);
        if !self.is_terminal || !is_due {
            return;
        }
        self.drawn = Some(Instant::now());
        if let Ok(status) = session.query() {
            let colour = if status.has_losses() { "\x1b[31m" } else { "\x1b[32m" };
            let lost = u64::from(status.log_buffers_lost) + u64::from(status.real_time_buffers_lost);
            eprint!(
                "\r\x1b[K{colour}{shown} events, {} lost, {lost} buffers lost, {}/{} buffers free\x1b[0m (Enter stops)",
                status.events_lost, status.free_buffers, status.number_of_buffers
            );
            self.is_shown = true;
        }
    }

    fn clear(&mut self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
            self.is_shown = false;
        }
    }
}

/// Becomes true when Enter is pressed on a terminal.
fn wait_for_enter() -> Arc<AtomicBool> {
    let pressed = Arc::new(AtomicBool::new(false));
    if io::stdin().is_terminal() {
        let pressed = Arc::clone(&pressed);
        thread::spawn(move || {
            let mut line = String::new();
            // The end of the input is nobody's wish.
            if io::stdin().read_line(&mut line).is_ok_and(|length| length > 0) {
                pressed.store(true, Ordering::Relaxed);
            }
        });
    }
    pressed
}
