//! `nt-host compare`: runs the driver on the imitated framework and on another one, and prints where they differ.

use std::path::Path;

use command_line::exit::{FINDINGS, SUCCESS, USAGE};
use command_line::{error, escaped, print, shown};
use serde_json::{Value, json};

use super::args::{CompareOptions, Options};
use super::json::SCHEMA;
use super::progress::{Progress, Sent};
use super::run::{builder, drive};
use nt_host::Difference;

pub(super) fn compare(CompareOptions { run: options, lifecycle }: &CompareOptions) -> u8 {
    let Some(framework) = &options.framework else {
        error(
            "compare needs a framework: add --framework with Wdf01000.sys of a Windows machine, or the folder with it",
        );
        return USAGE;
    };
    // In virtual time, so that the runs do not differ in their times.
    let mut model = options.clone();
    model.framework = None;
    let builder = builder(&model, false);
    let builder = lifecycle.allow.iter().fold(builder, |builder, kind| builder.allow(*kind));
    let differences = builder.compare(framework, |host| {
        let mut progress = Progress::mute();
        let result = drive(host, options, lifecycle, &mut progress);
        let sent = |sent: &Sent| format!("{} {:#X}: {} {}", sent.what, sent.code, sent.status, sent.output);
        let mut results: Vec<String> = progress.requests.iter().map(sent).collect();
        results.push(match (result, progress.unloaded) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Some(true)) => "unloaded".to_owned(),
            (Ok(()), _) => "not unloaded".to_owned(),
        });
        Ok(results)
    });
    match differences {
        Ok(differences) => {
            if options.json {
                print(&format!("{}\n", json(options, framework, &differences)));
            } else {
                print_text(options, framework, &differences);
            }
            if differences.is_empty() { SUCCESS } else { FINDINGS }
        }
        Err(reason) => {
            error(&reason.to_string());
            USAGE
        }
    }
}

fn print_text(options: &Options, framework: &Path, differences: &[Difference]) {
    for difference in differences {
        print(&format!("{}\n", escaped(&difference.to_string())));
    }
    let path = shown(&options.path);
    let count = differences.len();
    let plural = if count == 1 { "" } else { "s" };
    print(&format!("{path}: {count} difference{plural} between the imitation and {}\n", shown(framework)));
}

/// Returns the differences for programs. `run` is the run that has the line, and `after` the line before it.
fn json(options: &Options, framework: &Path, differences: &[Difference]) -> Value {
    let difference = |difference: &Difference| {
        let run = if difference.is_original { "framework" } else { "imitation" };
        let Difference { aspect, line, after, .. } = difference;
        json!({ "aspect": aspect, "run": run, "line": line, "after": after })
    };
    json!({
        "schema_version": SCHEMA,
        "driver": options.path.display().to_string(),
        "framework": framework.display().to_string(),
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
    })
}
