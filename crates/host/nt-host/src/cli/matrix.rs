//! `nt-host matrix`: makes each call that can fail do so, one at a time, and then makes calls fail at random.

use std::cell::Cell;

use command_line::exit::{FINDINGS, SUCCESS, USAGE};
use command_line::{escaped, print, shown};

use super::args::Options;
use super::run::{Progress, builder, drive};
use crate::{Broken, Matrix};

/// The default number of runs with random failures.
const SEEDS: u64 = 20;

pub(super) fn matrix(options: &Options) -> u8 {
    let matrix = Matrix::new(builder(options, false)).seeds(options.seed.unwrap_or(SEEDS));
    let runs = Cell::new(0);
    let result = matrix.run(|host| {
        runs.set(runs.get() + 1);
        Progress::line().step(&format!("run {}", runs.get()));
        drive(host, options, &mut Progress::mute())
    });
    Progress::line().end();
    match result {
        Ok(survey) => {
            for Broken { failure, findings, error } in &survey.broken {
                let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
                print(&format!("{}\n", escaped(&format!("{failure}{error}"))));
                for finding in findings {
                    print(&format!("  {}\n", escaped(&finding.to_string())));
                }
            }
            let all = survey.to_string();
            print(&format!("{}\n{}\n", all.lines().last().unwrap_or_default(), shown(&options.path)));
            if survey.broken.is_empty() { SUCCESS } else { FINDINGS }
        }
        Err(error) => {
            command_line::error(&error.to_string());
            USAGE
        }
    }
}
