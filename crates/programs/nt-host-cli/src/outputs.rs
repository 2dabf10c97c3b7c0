//! The files that a command writes: checked against everything that it reads, before the driver runs.

use std::io;
use std::path::PathBuf;

use command_line::{Inputs, Output, Outputs};
use etw_etl::NewFile;

use super::args::{Coverage, Options};
use nt_host::Builder;

/// Finds what a run with these options reads, besides `others`. The outputs of its command must be none of that.
pub(super) fn outputs(builder: &Builder, options: &Options, others: &[PathBuf]) -> Result<Outputs, String> {
    let files = builder.files().map_err(|error| error.to_string())?;
    let inputs = Inputs::new().files(files).files(options.hardware.files()).files(options.steps.files()).files(others);
    let outputs = Outputs::new(inputs);
    outputs.stdout().map_err(|error| error.to_string())?;
    Ok(outputs)
}

/// Adds `--coverage` to a run: with a file, or without.
pub(super) fn with_coverage(builder: Builder, coverage: &Coverage, outputs: &mut Outputs) -> Result<Builder, String> {
    Ok(match &coverage.file {
        Some(Some(path)) => builder.coverage(outputs.file("--coverage", path).map_err(|error| error.to_string())?),
        Some(None) => builder.measure_coverage(),
        None => builder,
    })
}

/// Creates a file. It gets its name when it is complete.
#[expect(clippy::disallowed_methods, reason = "the output was checked")]
pub(super) fn create(output: &Output) -> io::Result<NewFile> {
    NewFile::create(output)
}
