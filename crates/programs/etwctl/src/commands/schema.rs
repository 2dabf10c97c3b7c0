//! `schema`.

use etw_manifest::files;
use etw_manifest::manifest::{Data, DataKind, Event, Provider, Size};

use crate::cli::Schema;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Json, Table};

/// The maximum number of fields of an unknown type that get a note of their own.
pub(super) const MAX_NOTES: usize = 5;

/// Shows the events that a manifest or a binary describes.
pub(super) fn schema(context: &Context<'_>, line: &Schema) -> Result<(), Failure> {
    let manifest = files::read(&line.file).map_err(|error| Failure::Usage(error.to_string()))?;
    let wanted = &line.providers;
    let is_wanted =
        |provider: &&Provider| wanted.is_empty() || wanted.iter().any(|name| provider.name.eq_ignore_ascii_case(name));
    let mut table =
        Table::new(&["provider", "id", "version", "level", "event", "channel", "keywords", "fields", "message"]);
    for provider in manifest.providers.iter().filter(is_wanted) {
        for event in &provider.events {
            table.row(row(provider, event));
        }
    }
    for note in manifest.notes.iter().take(MAX_NOTES) {
        command_line::note(&format!("{}: {note}", line.file.display()));
    }
    if let Some(more @ 1..) = manifest.notes.len().checked_sub(MAX_NOTES) {
        command_line::note(&format!("{more} more fields of an unknown type"));
    }
    context.table(table)
}

fn row(provider: &Provider, event: &Event) -> Vec<Json> {
    let template = provider.templates.iter().find(|template| template.id == event.template);
    let fields = template.map(|template| fields(&template.fields)).unwrap_or_default();
    let channel = provider.channels.iter().find(|channel| channel.id == event.channel);
    let short = |text: &str| text.strip_prefix("win:").unwrap_or(text).to_owned();
    let name = match (event.task.as_str(), short(&event.opcode)) {
        ("", _) => event.symbol.clone(),
        (task, opcode) if opcode.is_empty() || opcode == "Info" => task.to_owned(),
        (task, opcode) => format!("{task}/{opcode}"),
    };
    vec![
        provider.name.as_str().into(),
        event.id.into(),
        event.version.into(),
        short(&event.level).into(),
        name.into(),
        channel.map(|channel| channel.name.clone()).into(),
        event.keywords.iter().map(|keyword| short(keyword)).collect::<Vec<_>>().into(),
        fields.into(),
        event.message.as_ref().map(|message| message.text.clone()).into(),
    ]
}

/// The fields as `type name`, with lengths, counts and the members of structs.
fn fields(data: &[Data]) -> Vec<String> {
    let size = |size: &Size, open: char, close: char| match size {
        Size::None => String::new(),
        Size::Fixed(number) => format!("{open}{number}{close}"),
        Size::Field(name) => format!("{open}{name}{close}"),
    };
    data.iter()
        .map(|field| {
            let kind = match &field.kind {
                DataKind::Value { encoding, .. } => {
                    encoding.name().unwrap_or("win:Binary").trim_start_matches("win:").to_owned()
                }
                DataKind::Struct(members) => format!("{{{}}}", fields(members).join(", ")),
                DataKind::Unknown(kind) => format!("unknown type {kind}"),
            };
            format!("{kind}{}{} {}", size(&field.length, '(', ')'), size(&field.count, '[', ']'), field.name)
        })
        .collect()
}
