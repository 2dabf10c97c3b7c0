//! `nt-host matrix`: fails each fallible call in turn, then calls at random.

use std::cell::{Cell, RefCell};

use command_line::exit::{FAILED, FINDINGS, INCOMPLETE, SUCCESS, USAGE};
use command_line::{annotate, escaped, info, print, shown};

use super::args::MatrixOptions;
use super::json;
use super::outputs::{outputs, with_coverage};
use super::progress::{Progress, shows_progress};
use super::run::{builder, drive as drive_once, place};
use nt_host::{Attempt, Error, Finding, Matrix, NtHost, Rule, Survey};

/// The default number of runs with random failures.
const SEEDS: u64 = 20;

pub(super) fn matrix(options: &MatrixOptions) -> u8 {
    let builder = builder(&options.run, false);
    let builder = options.lifecycle.allow.iter().fold(builder, |builder, kind| builder.allow(*kind));
    let checked = outputs(&builder, &options.run, &[]);
    let covered = checked.and_then(|mut outputs| with_coverage(builder, &options.coverage, &mut outputs));
    let builder = match covered {
        Ok(builder) => builder,
        Err(reason) => {
            command_line::error(&reason.to_string());
            return USAGE;
        }
    };
    // Here `--seed` is the number of seeds: only these runs have random failures.
    let matrix = Matrix::new(builder).seeds(options.seed.unwrap_or(SEEDS));
    let runs = Cell::new(0);
    let unsent = RefCell::new(Vec::new());
    let drive = |host: &NtHost| {
        runs.set(runs.get() + 1);
        let mut progress = Progress::mute();
        let result = drive_once(host, &options.run, &options.lifecycle, &mut progress);
        // The first run has no failure, so its requests should reach the driver.
        if runs.get() == 1 {
            unsent.replace(progress.gaps);
        }
        result
    };
    let result = matrix.run_reporting(drive, |attempt| {
        let Attempt { number, count, failure } = attempt;
        let Some(count) = count else { return Progress::line().step("run 1") };
        // A log without a terminal gets one line.
        if number == 2 && !shows_progress() {
            info(&format!("{count} runs"));
        }
        Progress::line().step(&format!("run {number} of {count}, {failure}"));
    });
    Progress::line().end();
    match result {
        Ok(mut survey) => {
            survey
                .gaps
                .extend(unsent.into_inner().into_iter().filter(|gap| !options.lifecycle.allow.contains(&gap.kind)));
            for mistake in survey.mistakes() {
                annotate(mistake.finding.and_then(place), &format!("{}\n{}", mistake.text, mistake.origin()));
            }
            if options.run.json {
                print(&format!("{}\n", json::survey(&survey)));
            } else {
                print_survey(&survey, options);
            }
            let is_of_host = |finding: Option<&Finding>| finding.is_some_and(|finding| finding.rule == Rule::Host);
            match (survey.mistakes().iter().all(|mistake| is_of_host(mistake.finding)), survey.is_clean()) {
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
                Error::Stopped(report) if report.blames_driver() => FINDINGS,
                Error::Stopped(_) | Error::Process(_) | Error::Host(_) | Error::Status(_) => INCOMPLETE,
                _ => USAGE,
            }
        }
    }
}

/// Prints the result for people. Each part is one line, whatever the driver wrote into it.
fn print_survey(survey: &Survey, options: &MatrixOptions) {
    for mistake in survey.mistakes() {
        print(&format!("{}\n  {}\n", escaped(&mistake.text), escaped(&mistake.origin())));
    }
    for line in survey.losses().chain(survey.gaps.iter().map(ToString::to_string)) {
        print(&format!("{}\n", escaped(&line)));
    }
    print(&format!("{}\n{}\n", survey.summary(), shown(&options.run.path)));
}
