//! Generates the module of a manifest: provider, events, constants.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::manifest::{Manifest, Map, Message, Provider};

use super::Error;
use super::common::{ATTRIBUTES, Mapped, one_line};
use super::event;
use super::names::{camel, screaming, snake};

/// Returns the source of the module. If there are several providers, each one has its own module in it.
/// `wdk_etw` is the path of that crate.
pub(super) fn module(manifest: &Manifest, wdk_etw: &str) -> Result<String, Error> {
    let mut code = String::from("// Generated from an instrumentation manifest by etw-manifest. Do not edit.\n\n");
    if let [provider] = manifest.providers.as_slice() {
        code.push_str(&items(provider, wdk_etw)?);
        return Ok(code);
    }
    let mut names = Names::default();
    for provider in &manifest.providers {
        let name = snake(&provider.name);
        names.add(&name, &format!("the provider {}", provider.name))?;
        let _ =
            write!(code, "/// Provider `{}`.\npub mod {name} {{\n{}}}\n\n", provider.name, items(provider, wdk_etw)?);
    }
    Ok(code)
}

/// The names in a scope, each with the part that has it.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn add(&mut self, name: &str, part: &str) -> Result<(), Error> {
        match self.0.insert(name.to_owned(), part.to_owned()) {
            Some(before) => Err(Error::SameName { name: name.to_owned(), parts: [before, part.to_owned()] }),
            None => Ok(()),
        }
    }
}

fn items(provider: &Provider, wdk_etw: &str) -> Result<String, Error> {
    let mut code = String::new();
    let mut names = Names::default();
    names.add("PROVIDER", "the provider")?;
    let name = &provider.name;
    let guid = provider.guid.to_u128();
    // A traits blob: its size, the name, a NUL. Only `Provider::name` reads it.
    let size = u16::try_from(name.len() + 3).unwrap_or(u16::MAX).to_le_bytes();
    let traits = [&size, name.as_bytes(), &[0]].concat();
    let traits = traits.escape_ascii();
    let _ = write!(
        code,
        "use {wdk_etw} as wdk_etw;\n\n/// The provider `{name}`. Register it before you write its events.\n{ATTRIBUTES}\
         pub static PROVIDER: wdk_etw::Provider = wdk_etw::Provider::for_manifest(\n    \
         wdk_etw::Guid::from_u128({guid:#034x}),\n    b\"{traits}\",\n);\n\n"
    );
    let pick = |symbol: &str, name: &str| screaming(if symbol.is_empty() { name } else { symbol });
    let channels = provider.channels.iter().zip(provider.channel_values());
    constants(
        &mut code,
        ("channel", "u8", "Channels"),
        channels.map(|(channel, value)| (pick(&channel.symbol, &channel.id), value.into(), channel.name.clone())),
    )?;
    let shown = |name: &str, message: &Option<Message>| match message {
        Some(message) => format!("{name}: {}", one_line(&message.text)),
        None => name.to_owned(),
    };
    constants(
        &mut code,
        ("level", "u8", "Levels that the manifest defines"),
        provider
            .levels
            .iter()
            .map(|part| (pick(&part.symbol, &part.name), part.value.into(), shown(&part.name, &part.message))),
    )?;
    constants(
        &mut code,
        ("task", "u16", "Tasks"),
        provider
            .tasks
            .iter()
            .map(|part| (pick(&part.symbol, &part.name), part.value.into(), shown(&part.name, &part.message))),
    )?;
    constants(
        &mut code,
        ("opcode", "u8", "Opcodes that the manifest defines"),
        provider
            .opcodes
            .iter()
            .map(|part| (pick(&part.symbol, &part.name), part.value.into(), shown(&part.name, &part.message))),
    )?;
    constants(
        &mut code,
        ("keyword", "u64", "Keywords that the manifest defines"),
        provider
            .keywords
            .iter()
            .map(|part| (pick(&part.symbol, &part.name), part.value, shown(&part.name, &part.message))),
    )?;
    constants(
        &mut code,
        ("filter", "u8", "Filters: the ids that a session passes to the enable callback"),
        provider
            .filters
            .iter()
            .map(|part| (pick(&part.symbol, &part.name), part.value.into(), shown(&part.name, &part.message))),
    )?;
    let mut mapped: Mapped = HashMap::new();
    for map in &provider.maps {
        let name = camel(if map.symbol.is_empty() { &map.name } else { &map.symbol });
        names.add(&name, &format!("the map {}", map.name))?;
        value_map(&mut code, map, &name)?;
        mapped.insert(map.name.clone(), name);
    }
    for event in &provider.events {
        let name = snake(&event::name(event));
        names.add(&name, &format!("event {} version {}", event.id, event.version))?;
        names.add(&name.to_ascii_uppercase(), &format!("the descriptor of event {}", event.id))?;
        for (kind, function) in event::structures(provider, event, &name, &mapped) {
            names.add(&kind, &format!("a structure of event {}", event.id))?;
            names.add(&function, &format!("a structure of event {}", event.id))?;
        }
        event::push(&mut code, provider, event, &name, &mapped);
    }
    Ok(code)
}

/// Generates a module of constants.
fn constants(
    code: &mut String,
    (module, kind, title): (&str, &str, &str),
    values: impl Iterator<Item = (String, u64, String)>,
) -> Result<(), Error> {
    let mut names = Names::default();
    let mut body = String::new();
    for (name, value, text) in values {
        names.add(&name, &text)?;
        let _ = writeln!(body, "    /// {}\n    pub const {name}: {kind} = {value:#x};", one_line(&text));
    }
    if !body.is_empty() {
        let _ = write!(code, "/// {title}.\n{ATTRIBUTES}pub mod {module} {{\n{body}}}\n\n");
    }
    Ok(())
}

/// Generates a type for the values of a map.
fn value_map(code: &mut String, map: &Map, name: &str) -> Result<(), Error> {
    let mut names = Names::default();
    let mut body = String::new();
    for item in &map.items {
        let text = item.message.as_ref().map_or("", |message| message.text.as_str());
        let id = item.message.as_ref().map_or("", |message| message.id.as_str());
        let own = [item.symbol.as_str(), text, id].into_iter().find(|name| !name.is_empty());
        let own = own.map_or_else(|| format!("VALUE_{:X}", item.value), screaming);
        names.add(&own, &format!("the value {:#x} of {}", item.value, map.name))?;
        let shown = Some(one_line(text)).filter(|text| !text.is_empty());
        let shown = shown.unwrap_or_else(|| format!("The value {:#x}.", item.value));
        let _ = writeln!(body, "    /// {shown}\n    pub const {own}: Self = Self({:#x});", item.value);
    }
    let kind = if map.is_bits { "bit map" } else { "value map" };
    let _ = write!(
        code,
        "/// The {kind} `{}`.\n{ATTRIBUTES}#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub struct {name}(\n    \
         /// The numeric value.\n    pub u32,\n);\n\n{ATTRIBUTES}impl {name} {{\n{body}}}\n\n",
        map.name
    );
    Ok(())
}
