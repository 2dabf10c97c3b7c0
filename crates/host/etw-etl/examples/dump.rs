//! Prints every event of a trace: `cargo run -p etw-etl --example dump -- FILE.etl [--json | --csv | --chrome]`.

use std::io::{self, BufWriter};
use std::process::ExitCode;

use etw_etl::{Exporter, Format, Reader};

fn main() -> ExitCode {
    let mut file = None;
    let mut format = Format::Text;
    for argument in std::env::args().skip(1) {
        match argument.strip_prefix("--").map(str::parse) {
            None => file = Some(argument),
            Some(Ok(chosen)) => format = chosen,
            Some(Err(reason)) => {
                eprintln!("{argument}: {reason}");
                return ExitCode::from(2);
            }
        }
    }
    let Some(file) = file else {
        eprintln!("usage: dump FILE.etl [--text | --json | --csv | --chrome]");
        return ExitCode::from(2);
    };
    match dump(&file, format) {
        Ok(whole) if whole => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        // Whoever read our output has seen enough.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the events to standard output and what was found to standard error. Answers whether nothing is lost.
fn dump(file: &str, format: Format) -> Result<bool, Box<dyn std::error::Error>> {
    let mut reader = Reader::open(file)?;
    let mut exporter = Exporter::new(BufWriter::new(io::stdout().lock()), format)?;
    while let Some(event) = reader.next_ref() {
        exporter.event_ref(&event)?;
    }
    exporter.finish()?;
    eprintln!("{}", reader.report());
    Ok(reader.report().is_whole())
}
