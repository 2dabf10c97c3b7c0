//! The options that are steps of clients. `nt-host` declares them; here they become arguments of the command line.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use nt_host::text::traffic::directed;
use nt_host::{FileStep, Form, Packet, Step};

use super::network;

/// The option whose value can also be a file with many packets.
const PACKET: &str = "packet";

/// The steps of clients, in the order of the command line, and the files that they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps(pub(super) Vec<Step>, Vec<PathBuf>);

impl Steps {
    /// Returns the capture files that packets come from.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.1
    }
}

/// The packets of an option.
#[derive(Clone, Debug)]
struct Packets(Vec<Packet>);

/// Returns the argument for a form of a step.
fn argument(form: &'static Form<Step>) -> Arg {
    let help = match form.name {
        "file" => format!("{}: {}", form.help, FileStep::words()),
        _ => form.help.to_owned(),
    };
    let argument = Arg::new(form.name).long(form.name).help(help).action(ArgAction::Append);
    let argument = argument.help_heading("What clients do, in the order of the command line");
    match (form.name, form.value) {
        (PACKET, value) => argument.value_name(value).value_parser(|text: &str| network::packets(text).map(Packets)),
        (_, "") => argument.num_args(0).default_missing_value("").value_parser(|text: &str| form.read(text)),
        (_, value) => argument.value_name(value).value_parser(|text: &str| form.read(text)),
    }
}

impl Args for Steps {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(Step::forms().iter().map(argument))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let packets =
            |Packets(packets): &Packets| packets.iter().cloned().map(|packet| Step::Packet { packet }).collect();
        let steps = Step::forms().iter().filter_map(|form| {
            let values: Vec<Vec<Step>> = match form.name {
                PACKET => matches.get_many(PACKET)?.map(packets).collect(),
                name => matches.get_many(name)?.cloned().map(|step| vec![step]).collect(),
            };
            Some(matches.indices_of(form.name)?.zip(values))
        });
        let mut steps: Vec<(usize, Vec<Step>)> = steps.flatten().collect();
        steps.sort_by_key(|(index, _)| *index);
        let captures = matches.get_raw(PACKET).into_iter().flatten();
        let files = captures.filter(|value| value.to_str().is_none_or(|text| directed(text).is_none()));
        let files = files.map(PathBuf::from).collect();
        Ok(Self(steps.into_iter().flat_map(|(_, steps)| steps).collect(), files))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
