//! Checks of a manifest that code and resources are generated from. They are stricter than what a decoder needs.
//!
//! The rules are those of Microsoft's documentation of the manifest elements and of the message compiler. All mistakes are found
//! in one run, each with its position.

use std::collections::HashMap;
use std::hash::Hash;

use roxmltree::{Document, Node};

use super::numbers::{KEYWORDS, LEVELS, OPCODES, Standard, standard};
use super::xml::{LocalName, ParseError, at, document, is_declaration, list, number};
use crate::types::{Encoding, out_from_name};

/// Keywords from this bit on are reserved for Windows and for channels.
const KEYWORD_LIMIT: u64 = 1 << 48;
/// `MAX_EVENT_DATA_DESCRIPTORS`.
const MAX_FIELDS: usize = 128;

/// The elements of a provider that code and resources are generated from.
const LISTS: [&str; 9] =
    ["channels", "levels", "tasks", "opcodes", "keywords", "maps", "templates", "filters", "events"];

/// Returns the mistakes of a manifest.
pub(super) fn check(text: &str) -> Result<(), Vec<ParseError>> {
    let document: Document<'_> = document(text).map_err(|error| vec![error])?;
    let root = document.root_element();
    let mut check = Check { strings: strings(root), mistakes: Vec::new() };
    let providers = root.descendants().filter(|node| node.has_tag_name_local("provider") && is_declaration(*node));
    let providers: Vec<Node<'_, '_>> = providers.collect();
    if providers.is_empty() {
        check.report(root, "the manifest declares no provider");
    }
    for provider in providers {
        check.provider(provider);
    }
    if check.mistakes.is_empty() { Ok(()) } else { Err(check.mistakes) }
}

fn strings<'a>(root: Node<'a, '_>) -> Vec<&'a str> {
    let strings = root.descendants().filter(|node| node.has_tag_name_local("string"));
    strings.filter_map(|node| node.attribute("id")).collect()
}

/// The declared names of one kind.
type Names<'a> = Vec<&'a str>;

struct Check<'a> {
    strings: Vec<&'a str>,
    mistakes: Vec<ParseError>,
}

impl Check<'_> {
    fn report(&mut self, node: Node<'_, '_>, reason: impl Into<String>) {
        self.mistakes.push(at(node, reason.into()));
    }

    fn provider(&mut self, provider: Node<'_, '_>) {
        for name in ["name", "resourceFileName", "messageFileName"] {
            if provider.attribute(name).is_none_or(str::is_empty) {
                self.report(provider, format!("<provider> has no {name}"));
            }
        }
        self.unsupported(provider);
        let channels = self.channels(provider);
        let levels = self.named(provider, "levels", "value", 16..=255);
        let mut opcodes = self.named(provider, "opcodes", "value", 10..=239);
        let tasks = self.named(provider, "tasks", "value", 1..=u16::MAX.into());
        for task in list(provider, "tasks") {
            opcodes.extend(self.named(task, "opcodes", "value", 10..=239));
        }
        let keywords = self.named(provider, "keywords", "mask", 1..=KEYWORD_LIMIT - 1);
        for keyword in list(provider, "keywords") {
            if let Ok(Some(mask)) = number::<u64>(keyword, "mask")
                && !mask.is_power_of_two()
            {
                self.report(keyword, format!("the mask of a keyword is one bit, not {mask:#x}"));
            }
        }
        let maps = self.unique(list(provider, "maps"), "name");
        for item in list(provider, "maps").flat_map(|map| map.children()).filter(|node| node.has_tag_name_local("map"))
        {
            self.message(item);
        }
        let templates = self.unique(list(provider, "templates"), "tid");
        for template in list(provider, "templates") {
            self.template(template, &maps);
        }
        self.filters(provider, &templates);
        self.message(provider);
        let mut seen = HashMap::new();
        let mut symbols = HashMap::new();
        for event in list(provider, "events").filter(|node| node.has_tag_name_local("event")) {
            let key = (event.attribute("value"), event.attribute("version").unwrap_or("0"));
            self.once(&mut seen, key, event, "an event with this value and version");
            if let Some(symbol) = event.attribute("symbol") {
                self.once(&mut symbols, symbol, event, "an event with this symbol");
            }
            self.reference(event, "template", &templates, &[] as &[Standard<u8>]);
            self.reference(event, "channel", &channels, &[] as &[Standard<u8>]);
            self.reference(event, "level", &levels, &LEVELS);
            self.reference(event, "task", &tasks, &[("win:None", 0_u8, "")]);
            self.reference(event, "opcode", &opcodes, &OPCODES);
            for keyword in event.attribute("keywords").unwrap_or_default().split_whitespace() {
                self.check_declared(event, "keyword", keyword, &keywords, &KEYWORDS);
            }
            self.message(event);
            self.attributes(event, &["attributes", "notLogged"]);
            self.admin(provider, event);
        }
    }

    /// Reports what neither the code nor the resource would have.
    fn unsupported(&mut self, provider: Node<'_, '_>) {
        self.attributes(provider, &["controlGuid"]);
        for node in provider.children().filter(|node| node.is_element() && !LISTS.contains(&node.tag_name().name())) {
            self.report(
                node,
                format!("<{}> of a provider is not supported: remove the element", node.tag_name().name()),
            );
        }
    }

    fn attributes(&mut self, node: Node<'_, '_>, unsupported: &[&str]) {
        for name in unsupported.iter().filter(|name| node.has_attribute(**name)) {
            self.report(node, format!("the attribute {name} is not supported: remove it"));
        }
    }

    /// Reports a duplicate, with the line of the first occurrence.
    fn once<K: Eq + Hash>(&mut self, seen: &mut HashMap<K, u32>, key: K, node: Node<'_, '_>, what: &str) {
        let line = node.document().text_pos_at(node.range().start).row;
        if let Some(before) = seen.insert(key, line) {
            self.report(node, format!("{what} is in line {before}"));
        }
    }

    /// Returns the names of a list, and reports missing names and duplicates.
    fn unique<'a>(&mut self, nodes: impl Iterator<Item = Node<'a, 'a>>, name: &str) -> Names<'a> {
        let mut seen = HashMap::new();
        let mut names = Vec::new();
        for node in nodes {
            let Some(value) = node.attribute(name).filter(|value| !value.is_empty()) else {
                self.report(node, format!("<{}> has no {name}", node.tag_name().name()));
                continue;
            };
            self.once(&mut seen, value, node, &format!("<{}> {value}", node.tag_name().name()));
            names.push(value);
        }
        names
    }

    /// Returns the names of the elements of a list, and reports numbers that are missing, out of range or duplicates.
    fn named<'a>(
        &mut self,
        parent: Node<'a, 'a>,
        parts: &'static str,
        value: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Names<'a> {
        let mut seen = HashMap::new();
        for node in list(parent, parts) {
            self.message(node);
            match number::<u64>(node, value) {
                Ok(Some(number)) => {
                    if !range.contains(&number) {
                        let (low, high) = range.clone().into_inner();
                        self.report(
                            node,
                            format!("the {value} of <{}> is from {low} to {high}", node.tag_name().name()),
                        );
                    }
                    let what = format!("<{}> with this {value}", node.tag_name().name());
                    self.once(&mut seen, number, node, &what);
                }
                Ok(None) => self.report(node, format!("<{}> has no {value}", node.tag_name().name())),
                Err(error) => self.mistakes.push(error),
            }
        }
        self.unique(list(parent, parts), "name")
    }

    fn channels<'a>(&mut self, provider: Node<'a, 'a>) -> Names<'a> {
        let mut names = self.unique(list(provider, "channels"), "name");
        for channel in list(provider, "channels") {
            self.message(channel);
            let kind = channel.attribute("type").unwrap_or_default();
            if channel.has_tag_name_local("channel") && !["Admin", "Operational", "Analytic", "Debug"].contains(&kind) {
                let reason = format!("the type of a channel is Admin, Operational, Analytic or Debug, not '{kind}'");
                self.report(channel, reason);
            }
        }
        // Events refer to a channel by its id, or by its name if it has no id.
        for (name, channel) in
            names.iter_mut().zip(list(provider, "channels").filter(|node| node.attribute("name").is_some()))
        {
            *name = channel.attribute("chid").unwrap_or(name);
        }
        names
    }

    fn filters(&mut self, provider: Node<'_, '_>, templates: &[&str]) {
        self.unique(list(provider, "filters"), "name");
        let mut seen = HashMap::new();
        for filter in list(provider, "filters") {
            self.message(filter);
            if let Some(template) = filter.attribute("tid").filter(|template| !template.is_empty()) {
                self.check_declared(filter, "template", template, templates, &[] as &[Standard<u8>]);
            }
            match (number::<u8>(filter, "value"), number::<u8>(filter, "version")) {
                (Ok(Some(value)), Ok(version)) => {
                    let key = (value, version.unwrap_or(0));
                    self.once(&mut seen, key, filter, "a filter with this value and version");
                }
                (Ok(None), _) => self.report(filter, "<filter> has no value"),
                (Err(error), _) | (_, Err(error)) => self.mistakes.push(error),
            }
        }
    }

    fn reference<T: Copy>(&mut self, event: Node<'_, '_>, what: &str, own: &[&str], standard_names: &[Standard<T>]) {
        if let Some(name) = event.attribute(what).filter(|name| !name.is_empty()) {
            self.check_declared(event, what, name, own, standard_names);
        }
    }

    fn check_declared<T: Copy>(
        &mut self,
        node: Node<'_, '_>,
        what: &str,
        name: &str,
        own: &[&str],
        standard_names: &[Standard<T>],
    ) {
        if !own.contains(&name) && standard(standard_names, name).is_none() {
            self.report(node, format!("the {what} '{name}' is not declared"));
        }
    }

    /// Reports a message whose id is not in a string table.
    fn message(&mut self, node: Node<'_, '_>) {
        let id = node.attribute("message").and_then(|text| text.strip_prefix("$(string.")?.strip_suffix(')'));
        if let Some(id) = id
            && !self.strings.contains(&id)
        {
            self.report(node, format!("the string '{id}' is in no string table"));
        }
    }

    /// Events of an admin channel are read by people: they need a message, and a level that warrants attention.
    fn admin(&mut self, provider: Node<'_, '_>, event: Node<'_, '_>) {
        let id = |channel: &Node<'_, '_>| {
            channel.attribute("chid").or(channel.attribute("name")) == event.attribute("channel")
        };
        let is_admin = |channel: &Node<'_, '_>| channel.attribute("type") == Some("Admin");
        if event.attribute("channel").is_none() || !list(provider, "channels").any(|node| id(&node) && is_admin(&node))
        {
            return;
        }
        if event.attribute("message").is_none() {
            self.report(event, "an event of an admin channel has a message");
        }
        if !["win:Critical", "win:Error", "win:Warning", "win:Informational"]
            .contains(&event.attribute("level").unwrap_or_default())
        {
            self.report(event, "the level of an event of an admin channel is win:Critical, win:Error, win:Warning or win:Informational");
        }
    }

    fn template(&mut self, template: Node<'_, '_>, maps: &[&str]) {
        if let Some(node) = template.children().find(|node| node.has_tag_name_local("UserData")) {
            self.report(node, "<UserData> is not supported; its fields become <EventData>: remove the element");
        }
        if template.children().filter(Node::is_element).count() > MAX_FIELDS {
            self.report(template, format!("an event has at most {MAX_FIELDS} fields"));
        }
        self.fields(template, maps, 0);
    }

    fn fields(&mut self, parent: Node<'_, '_>, maps: &[&str], depth: usize) {
        self.unique(parent.children().filter(|node| is_field(*node)), "name");
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "data" => self.value(node, maps),
                "struct" if depth == 0 => self.fields(node, maps, 1),
                "struct" => self.report(node, "a <struct> has no <struct> in it"),
                "UserData" => {}
                other => self.report(node, format!("a template has no <{other}>")),
            }
            for size in ["count", "length"] {
                self.size(node, size);
            }
        }
    }

    fn value(&mut self, node: Node<'_, '_>, maps: &[&str]) {
        let name = node.attribute("inType").unwrap_or_default();
        match Encoding::from_name(name) {
            None => self.report(node, format!("unknown inType '{name}'")),
            Some(encoding) if encoding.to_tdh() > 255 => {
                self.report(node, format!("the inType '{name}' has no number in a resource"));
            }
            Some(encoding) if encoding.name() == Some("win:Binary") && node.attribute("length").is_none() => {
                self.report(node, "a win:Binary has a length");
            }
            Some(_) => {}
        }
        if let Some(out) = node.attribute("outType").filter(|out| out_from_name(out).is_none()) {
            self.report(node, format!("unknown outType '{out}'"));
        }
        if let Some(map) = node.attribute("map").filter(|map| !maps.contains(map)) {
            self.report(node, format!("the map '{map}' is not declared"));
        }
    }

    /// Checks that a count or length is a number, or an integer field that precedes this one.
    fn size(&mut self, node: Node<'_, '_>, name: &str) {
        let Some(text) = node.attribute(name).map(str::trim) else { return };
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            match number::<u16>(node, name) {
                Ok(Some(0)) => self.report(node, format!("a {name} of 0")),
                Ok(_) => {}
                Err(error) => self.mistakes.push(error),
            }
            return;
        }
        let before = node.prev_siblings().skip(1).find(|other| other.attribute("name") == Some(text));
        match before.map(|field| field.attribute("inType").unwrap_or_default()) {
            None => self.report(node, format!("the {name} of a field is a field before it; '{text}' is not")),
            Some("win:UInt8" | "win:UInt16" | "win:UInt32") => {}
            Some(kind) => {
                let reason =
                    format!("the {name} of a field is a win:UInt8, win:UInt16 or win:UInt32; '{text}' is a '{kind}'");
                self.report(node, reason);
            }
        }
    }
}

fn is_field(node: Node<'_, '_>) -> bool {
    node.has_tag_name_local("data") || node.has_tag_name_local("struct")
}
