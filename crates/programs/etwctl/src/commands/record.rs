//! `record`: starts a session, enables providers, prints events while it runs, and reports losses.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use command_line::{Inputs, Output, Screen, exit, info, message, note};
use etw_etl::{Exporter, Format};
use etw_session::{Call, Consumer, Error, Machine, Properties, Received, Session, SessionStatus};
use etw_types::Guid;

use super::decode::{content, format};
use super::losses;
use super::requests::request;
use super::sessions::counts;
use super::start::{check_folder, new_trace, stored};
use crate::cli::{Formats, Record, Switch};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Aside, Meter, Unread};
use crate::platform::{Demo, Driver, Plan, interrupted};
use crate::values::{self, Provider};

/// How long one call waits for events.
const LOOK: Duration = Duration::from_millis(100);
/// The time that passes for a driver before it is unloaded.
const DRIVER_TIME: Duration = Duration::from_millis(2500);

/// The conditions that end a recording.
struct End<'a> {
    at: Option<Instant>,
    most: u64,
    demo: Option<Demo>,
    driver: Option<&'a Driver>,
    pressed: Arc<AtomicBool>,
}

impl End<'_> {
    fn is_reached(&self, shown: u64) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
            || shown >= self.most
            || self.demo.as_ref().is_some_and(Demo::is_finished)
            || self.driver.is_some_and(Driver::is_finished)
            || self.pressed.load(Ordering::Relaxed)
            || interrupted()
    }
}

/// Records providers, of the system or of a driver that is run.
pub(super) fn record(context: &Context<'_>, line: &Record) -> Result<(), Failure> {
    // From here on, the first interrupt stops the recording instead of the process.
    interrupted();
    let providers = providers(line)?;
    let file = line.etl.as_ref().map(|file| new_trace(&context.inputs, file)).transpose()?;
    file.as_ref().map_or(Ok(()), check_folder)?;
    // A driver that is run says itself which providers it has.
    if !line.requested.group && line.driver.is_none() {
        line.providers.iter().filter_map(Provider::note).for_each(|text| note(&text));
    }
    let Some(path) = &line.driver else {
        let is_bounded = line.demo || line.time.is_some();
        if context.machine.caveat().is_some() && !is_bounded {
            return Err(Failure::Unsupported(
                "no event can come: on this system, a session sees only providers of its own process; run a driver with --driver \
                 DRIVER.sys, or use --demo"
                    .to_owned(),
            ));
        }
        return run(context, line, file.as_ref(), context.machine, &providers, None);
    };
    let mut driver = Driver::prepare(path, line.os)?;
    let inputs = Inputs::new().files(driver.files()).and(&context.inputs);
    let file = line.etl.as_ref().map(|file| new_trace(&inputs, file)).transpose()?;
    let machine = driver.machine().clone();
    let result = run(context, line, file.as_ref(), &machine, &providers, Some(&mut driver));
    Context::report_unstopped(&machine);
    let outcome = driver.finish();
    for reply in outcome.replies {
        info(&reply);
    }
    if !line.requested.group {
        for text in missed(&line.providers, &outcome.providers) {
            note(&text);
        }
    }
    for finding in &outcome.findings {
        message(&format!("finding: {finding}"));
    }
    for gap in &outcome.gaps {
        message(&format!("gap: {gap}"));
    }
    let counted = |count: usize, what| values::counted(u64::try_from(count).unwrap_or(u64::MAX), what);
    match (outcome.error, outcome.findings.len()) {
        // With findings, the result of the recording is not reported: it may only say that the machine stopped.
        (error, count @ 1..) => {
            Err(Failure::Driver(exit::FINDINGS, error.unwrap_or_else(|| counted(count, "finding"))))
        }
        (Some(error), 0) if outcome.is_refused => Err(Failure::Driver(exit::FAILED, error)),
        (Some(error), 0) => Err(Failure::Driver(exit::INCOMPLETE, format!("the run is incomplete: {error}"))),
        (None, 0) => result.and_then(|()| match outcome.gaps.len() {
            0 => Ok(()),
            gaps => Err(Failure::Driver(exit::INCOMPLETE, format!("the run is incomplete: {}", counted(gaps, "gap")))),
        }),
    }
}

/// Notes about requested providers that the driver did not register. A mistyped name also has an id, so it is not an error.
fn missed(asked: &[Provider], registered: &[Guid]) -> Vec<String> {
    let there = match registered {
        [] => "it registered no provider".to_owned(),
        some => format!("it registered {}", some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    let missing = asked.iter().filter(|provider| !registered.contains(&provider.guid));
    missing
        .map(|Provider { name, guid, .. }| format!("the driver did not register provider '{name}' ({guid}); {there}"))
        .collect()
}

fn providers(line: &Record) -> Result<Vec<Guid>, Failure> {
    let mut providers: Vec<Guid> = line.providers.iter().map(|provider| provider.guid).collect();
    if line.demo {
        if !Demo::IS_HERE {
            return Err(Failure::Unsupported(
                "there is no demonstration provider on Windows: name a provider".to_owned(),
            ));
        }
        providers.push(Demo::ID);
    }
    if providers.is_empty() && line.storage.system.is_none() {
        return Err(Failure::Usage("record needs a provider, --system or --demo".to_owned()));
    }
    Ok(providers)
}

/// Runs a recording on a machine to its end.
fn run(
    context: &Context<'_>,
    line: &Record,
    file: Option<&Output>,
    machine: &Machine,
    providers: &[Guid],
    mut driver: Option<&mut Driver>,
) -> Result<(), Failure> {
    let request = request(&line.requested);
    let is_live = line.live || file.is_none();
    let format = format(context, &Formats { switch: Switch(line.csv.then_some(Format::Csv)), ..Formats::default() })?
        .unwrap_or(Format::Text);
    let name = line.session.clone().unwrap_or_else(|| format!("etwctl-{}", std::process::id()));
    let mut properties = Properties::new(&name).flush_every(Duration::from_millis(250));
    if is_live {
        properties = properties.real_time();
    }
    if let Some(file) = file {
        properties = properties.file(file.as_ref());
    }
    properties = stored(properties, &line.storage)?;
    properties.check()?;

    let old = file.map(Aside::new).transpose()?;
    let session = machine.start(&properties)?;
    if !line.demo && driver.is_none() {
        context.caveat();
    }
    let consumer = if is_live { Some(machine.consume(&session)?) } else { None };
    for guid in providers {
        let provider = if line.requested.group { session.group(*guid) } else { session.provider(*guid) };
        provider.enable(&request)?;
    }
    old.map_or(Ok(()), Aside::drop_old)?;
    if let Some(driver) = &mut driver {
        driver.start(Plan { requests: line.ioctl.clone(), time: line.advance.unwrap_or(DRIVER_TIME) });
    }
    let end = End {
        at: line.time.and_then(|time| Instant::now().checked_add(time)),
        most: line.count.unwrap_or(u64::MAX),
        demo: if line.demo { Some(Demo::start(line.time.is_some())?) } else { None },
        driver: driver.as_deref(),
        pressed: wait_for_enter(),
    };
    // With a file, the recording goes on after standard output is closed. Without one, there is nothing left to do.
    let screen = Screen::new(io::stdout(), content(format, context.has_colour));
    let out = Unread::new(screen, file.is_some());
    let mut printer = Exporter::new(BufWriter::new(out), format)?;
    if context.has_colour {
        printer = printer.with_colours();
    }
    let (shown, status) = follow(session, consumer, printer, &end, Meter::new())?;
    let file = status.properties.log_file.as_ref().map_or_else(String::new, |file| format!(", {}", file.display()));
    let shown = if is_live { format!("{} printed, ", values::counted(shown, "event")) } else { String::new() };
    let summary = format!("{name}: {shown}{}{file}", counts(&status));
    // Losses are reported with `--quiet`, too.
    if status.has_losses() {
        message(&summary);
    } else {
        info(&summary);
    }
    // A driver's findings would hide this error, so it is printed at once.
    losses::check(machine, &status).map_err(|failure| {
        failure.report();
        Failure::Reported(failure.exit_code())
    })
}

/// Prints events until the end, stops the session, and prints the events that were still in its buffers.
fn follow<W: Write, M: Write>(
    session: Session,
    mut consumer: Option<Consumer>,
    mut printer: Exporter<W>,
    end: &End<'_>,
    mut meter: Meter<M>,
) -> Result<(u64, SessionStatus), Failure> {
    let is_live = consumer.is_some();
    let mut shown = 0;
    while !end.is_reached(shown) {
        match consumer.as_mut().map(|consumer| consumer.receive(LOOK)) {
            // Records of the session itself, such as the path of a provider's binary, are not printed. `decode` shows them.
            Some(Received::Event(event)) if event.header.provider.is_none() => {}
            Some(Received::Event(event)) => {
                meter.clear();
                printer.event(&event)?;
                shown += 1;
            }
            // Another program stopped the session.
            Some(Received::End) => break,
            // While there are no new events, the printer's buffer is shown.
            Some(Received::Nothing) => printer.flush()?,
            Some(Received::Failed(code)) => return Err(Error::from_code(Call::Consume, code).into()),
            None => thread::sleep(LOOK),
        }
        if meter.is_due() {
            printer.flush()?;
            meter.draw(is_live.then_some(shown), session.query().ok());
        }
    }
    meter.clear();
    let stopped = session.stop();
    while shown < end.most
        && let Some(Received::Event(event)) = consumer.as_mut().map(|consumer| consumer.receive(LOOK))
    {
        if event.header.provider.is_some() {
            printer.event(&event)?;
            shown += 1;
        }
    }
    printer.finish()?;
    Ok((shown, stopped?))
}

/// A flag that becomes true when Enter is pressed on a terminal.
fn wait_for_enter() -> Arc<AtomicBool> {
    let pressed = Arc::new(AtomicBool::new(false));
    if io::stdin().is_terminal() {
        let pressed = Arc::clone(&pressed);
        thread::spawn(move || {
            let mut line = String::new();
            // The end of the input is not Enter.
            if io::stdin().read_line(&mut line).is_ok_and(|length| length > 0) {
                pressed.store(true, Ordering::Relaxed);
            }
        });
    }
    pressed
}
