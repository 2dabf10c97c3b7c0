//! `autologger`: sessions that Windows starts at every boot.

use std::io::Write as _;

use command_line::{Content, OutputPath, escaped, note};
use etw_session::{BootSession, Error};

use super::requests::request;
use super::start::{check_folder, new_trace, properties};
use crate::cli::{AddAutologger, RemoveAutologger};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Destination;
use crate::values::Provider;

/// Adds a session.
pub(super) fn add(context: &Context<'_>, line: &AddAutologger) -> Result<(), Failure> {
    let mut enable = request(&line.requested);
    if line.requested.group {
        enable = enable.group();
    } else {
        line.providers.iter().filter_map(Provider::note).for_each(|text| note(&text));
    }
    let file = line.options.etl.as_ref().map(|file| new_trace(&context.inputs, file)).transpose()?;
    let mut session = BootSession::new(properties(&line.options, file.as_ref())?).keep(line.keep);
    for provider in &line.providers {
        session = session.provider(provider.guid, enable.clone());
    }
    let name = escaped(&line.options.session);
    if let Some(file) = &line.registry.reg {
        return write(context, file, &session.reg_file()?);
    }
    session.check()?;
    file.as_ref().map_or(Ok(()), check_folder)?;
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
fn write(context: &Context<'_>, file: &OutputPath, text: &str) -> Result<(), Failure> {
    let mut out = Destination::check("--reg", Some(file), context.inputs.clone())?.create(Content::Plain)?;
    let units = [0xFEFF].into_iter().chain(text.encode_utf16());
    out.write_all(&units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;
    out.finish()?;
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
