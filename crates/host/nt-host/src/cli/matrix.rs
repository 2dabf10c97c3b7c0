//! `nt-host matrix`: makes each call that can fail do so, one at a time, and then makes calls fail at random.

use std::cell::Cell;

use command_line::exit::{FINDINGS, INCOMPLETE, SUCCESS, USAGE};
use command_line::{escaped, print, shown};

use super::args::Options;
use super::run::{Progress, builder, drive};
use crate::Matrix;

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
            let all = survey.to_string();
            let summary = all.lines().last().unwrap_or_default();
            let mut code = SUCCESS;
            for mut broken in survey.broken {
                let is_mistake = broken.error.is_some() || !broken.findings.is_empty();
                code = if is_mistake || code == FINDINGS { FINDINGS } else { INCOMPLETE };
                // Each finding is one line, whatever the driver wrote into it.
                let findings = std::mem::take(&mut broken.findings);
                print(&format!("{}\n", escaped(&broken.to_string())));
                for finding in findings {
                    print(&format!("  {}\n", escaped(&finding.to_string())));
                }
            }
            print(&format!("{summary}\n{}\n", shown(&options.path)));
            code
        }
        Err(error) => {
            command_line::error(&error.to_string());
            USAGE
        }
    }
}
