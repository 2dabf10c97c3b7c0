//! `nt-host matrix`: fails each fallible call in turn, then calls at random.

use std::cell::{Cell, RefCell};

use command_line::exit::{FAILED, FINDINGS, INCOMPLETE, SUCCESS, USAGE};
use command_line::{annotate, escaped, print, shown};

use super::args::Options;
use super::json;
use super::progress::Progress;
use super::run::{builder, drive, place};
use crate::{Error, Matrix, Survey};

/// The default number of runs with random failures.
const SEEDS: u64 = 20;

pub(super) fn matrix(options: &Options) -> u8 {
    // Here `--seed` is the number of seeds: only these runs have random failures.
    let matrix = Matrix::new(builder(options, false)).seeds(options.seed.unwrap_or(SEEDS));
    let (runs, unsent) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = matrix.run(|host| {
        runs.set(runs.get() + 1);
        Progress::line().step(&format!("run {}", runs.get()));
        let mut progress = Progress::mute();
        let result = drive(host, options, &mut progress);
        // The first run has no failure, so its requests should reach the driver.
        if runs.get() == 1 {
            unsent.replace(progress.gaps);
        }
        result
    });
    Progress::line().end();
    match result {
        Ok(mut survey) => {
            survey.gaps.extend(unsent.into_inner().into_iter().filter(|gap| !options.allow.contains(&gap.kind)));
            for mistake in survey.mistakes() {
                annotate(mistake.finding.and_then(place), &format!("{}\n{}", mistake.text, mistake.origin()));
            }
            if options.json {
                print(&format!("{}\n", json::survey(&survey)));
            } else {
                print_survey(&survey, options);
            }
            match (survey.mistakes().is_empty(), survey.is_clean()) {
                (false, _) => FINDINGS,
                (true, false) => INCOMPLETE,
                (true, true) => SUCCESS,
            }
        }
        Err(error) => {
            command_line::error(&error.to_string());
            // The run without a failure did not reach its end.
            match error {
                Error::NotLoaded(..) | Error::DriverEntry(..) => FAILED,
                Error::Stopped(_) => FINDINGS,
                Error::Process(_) | Error::Host(_) | Error::Status(_) => INCOMPLETE,
                _ => USAGE,
            }
        }
    }
}

/// Prints the result for people. Each part is one line, whatever the driver wrote into it.
fn print_survey(survey: &Survey, options: &Options) {
    for mistake in survey.mistakes() {
        print(&format!("{}\n  {}\n", escaped(&mistake.text), escaped(&mistake.origin())));
    }
    for line in survey.losses().chain(survey.gaps.iter().map(ToString::to_string)) {
        print(&format!("{}\n", escaped(&line)));
    }
    print(&format!("{}\n{}\n", survey.summary(), shown(&options.path)));
}
