//! `autologger`: sessions that Windows starts at every boot.

use std::io::Write as _;
use std::path::Path;

use command_line::{Content, escaped, note};
use etw_session::{BootSession, Error};

use super::requests::request;
use super::start::{check_file, properties};
use crate::cli::{AddAutologger, RemoveAutologger};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::values::Provider;

/// Adds a session.
pub(super) fn add(context: &Context<'_>, line: &AddAutologger) -> Result<(), Failure> {
    let mut enable = request(&line.requested);
    if line.requested.group {
        enable = enable.group();
    } else {
        line.providers.iter().filter_map(Provider::note).for_each(|text| note(&text));
    }
    let mut session = BootSession::new(properties(&line.options)?).keep(line.keep);
    for provider in &line.providers {
        session = session.provider(provider.guid, enable.clone());
    }
    let name = escaped(&line.options.session);
    if let Some(file) = &line.registry.reg {
        return write(context, file, &session.reg_file()?);
    }
    session.check()?;
    if let Some(file) = &line.options.etl {
        check_file(context, "--etl", file)?;
    }
    session.install().map_err(refusal)?;
    context.done(&format!("added {name}: Windows starts it at the next boot"))
}

/// Removes a session.
pub(super) fn remove(context: &Context<'_>, line: &RemoveAutologger) -> Result<(), Failure> {
    if let Some(file) = &line.registry.reg {
        return write(context, file, &BootSession::removal_reg_file(&line.session)?);
    }
    BootSession::uninstall(&line.session).map_err(refusal)?;
    context.done(&format!("removed {}: if it runs, `etwctl stop` stops it", escaped(&line.session)))
}

/// Writes a file as the registry editor writes it: UTF-16 with a byte order mark.
fn write(context: &Context<'_>, file: &Path, text: &str) -> Result<(), Failure> {
    context.inputs.check("--reg", file)?;
    let mut out = Output::create(Some(file), Content::Plain)?;
    let units = [0xFEFF].into_iter().chain(text.encode_utf16());
    out.write_all(&units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;
    out.finish()?;
    let file = file.display();
    context.done(&format!("wrote {file}: on the Windows machine, run `reg import {file}` as administrator"))
}

/// The failure of a change to the registry. Systems other than Windows have none.
fn refusal(error: Error) -> Failure {
    if error.is_unsupported() {
        let reason = "this system has no registry: --reg FILE writes a file for `reg import` on the Windows machine";
        return Failure::Unsupported(reason.to_owned());
    }
    error.into()
}
