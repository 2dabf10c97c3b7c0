//! Parses XML into the model.

use std::collections::HashMap;
use std::fmt;

use etw_types::Guid;
use roxmltree::{Document, Node, ParsingOptions};

use super::{Channel, Data, DataKind, Event, Filter, Keyword, Language, Level, Manifest, Map, MapItem, Message};
use super::{Opcode, Provider, Size, Task, Template};
use crate::types::{Encoding, out_from_name};

/// Maximum number of XML nodes. The largest manifest of Windows has fewer than 200,000.
const MAX_NODES: u32 = 2_000_000;
/// Maximum nesting depth of structs. The manifest schema allows one level.
const MAX_DEPTH: usize = 8;

/// Why a file is not a valid manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    reason: String,
    place: Option<(u32, u32)>,
}

impl ParseError {
    /// An error or a note about a file without lines.
    pub(crate) fn without_place(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), place: None }
    }

    /// Returns what is wrong, without the position.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns line and column, counted from 1.
    #[must_use]
    pub const fn place(&self) -> Option<(u32, u32)> {
        self.place
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{} (line {line}, column {column})", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for ParseError {}

/// Parses a manifest.
pub(super) fn parse(text: &str) -> Result<Manifest, ParseError> {
    let document = document(text)?;
    let root = document.root_element();
    let reader = Reader { strings: strings(root) };
    let providers = root.descendants().filter(|node| node.has_tag_name_local("provider") && is_declaration(*node));
    let providers = providers.map(|node| reader.provider(node)).collect::<Result<_, _>>()?;
    Ok(Manifest { providers, languages: languages(root), notes: notes(root) })
}

/// Returns a note for each field whose type is unknown.
fn notes(root: Node<'_, '_>) -> Vec<ParseError> {
    let fields = root.descendants().filter(|node| node.has_tag_name_local("data"));
    let in_template = |node: &Node<'_, '_>| node.ancestors().any(|node| node.has_tag_name_local("template"));
    let unknown = fields.filter(in_template).filter(|node| Encoding::from_name(in_type(*node)).is_none());
    unknown
        .map(|node| {
            let name = node.attribute("name").unwrap_or_default();
            let kind = in_type(node);
            at(node, format!("unknown inType '{kind}': from the field '{name}' on, the payload is shown as bytes"))
        })
        .collect()
}

fn in_type<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("inType").unwrap_or_default()
}

/// Parses the XML of a manifest and checks its root element. The manifest of an assembly can contain an instrumentation manifest.
pub(super) fn document(text: &str) -> Result<Document<'_>, ParseError> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        ParseError { reason: format!("not well-formed XML: {error}"), place: Some((place.row, place.col)) }
    })?;
    let root = document.root_element();
    match root.tag_name().name() {
        "instrumentationManifest" | "events" => {}
        "assembly" if root.descendants().any(|node| node.has_tag_name_local("instrumentation")) => {}
        "assembly" => return Err(at(root, "the manifest of the assembly has no <instrumentation>".to_owned())),
        other => return Err(at(root, format!("not an instrumentation manifest: the root element is <{other}>"))),
    }
    Ok(document)
}

/// Decodes the text of a file: UTF-8, or UTF-16 with a byte-order mark.
pub(super) fn decode(bytes: &[u8]) -> Result<String, ParseError> {
    text(bytes).ok_or_else(|| ParseError::without_place("the file is neither UTF-8 nor UTF-16 with a byte-order mark"))
}

fn text(bytes: &[u8]) -> Option<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|bytes| unit(*bytes)).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => str::from_utf8(rest).ok().map(str::to_owned),
        _ => str::from_utf8(bytes).ok().map(str::to_owned),
    }
}

/// Comparison by local name: manifests use several namespaces, and some use none.
pub(super) trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// Returns whether a `provider` element declares a provider rather than just referring to one.
pub(super) fn is_declaration(node: Node<'_, '_>) -> bool {
    node.attribute("guid").is_some() || node.attribute("name").is_some_and(|_| node.children().any(|c| c.is_element()))
}

/// Returns the first English string table, or the first one of any language if there is none in English.
fn strings<'a>(root: Node<'a, '_>) -> HashMap<&'a str, &'a str> {
    let resources: Vec<_> = root.descendants().filter(|node| node.has_tag_name_local("resources")).collect();
    let english = |node: &&Node<'_, '_>| node.attribute("culture").is_some_and(|culture| culture.starts_with("en"));
    let chosen = resources.iter().find(english).or(resources.first());
    let strings = chosen.into_iter().flat_map(Node::descendants).filter(|node| node.has_tag_name_local("string"));
    strings.filter_map(|node| Some((node.attribute("id")?, node.attribute("value")?))).collect()
}

/// Returns the string tables of all languages.
fn languages(root: Node<'_, '_>) -> Vec<Language> {
    let resources = root.descendants().filter(|node| node.has_tag_name_local("resources"));
    let language = |node: Node<'_, '_>| {
        let strings = node.descendants().filter(|node| node.has_tag_name_local("string"));
        let string = |node: Node<'_, '_>| Some((node.attribute("id")?.to_owned(), node.attribute("value")?.to_owned()));
        Language { culture: attribute(node, "culture"), strings: strings.filter_map(string).collect() }
    };
    resources.map(language).collect()
}

pub(super) fn at(node: Node<'_, '_>, reason: String) -> ParseError {
    let place = node.document().text_pos_at(node.range().start);
    ParseError { reason, place: Some((place.row, place.col)) }
}

struct Reader<'a> {
    strings: HashMap<&'a str, &'a str>,
}

fn attribute(node: Node<'_, '_>, name: &str) -> String {
    node.attribute(name).unwrap_or_default().to_owned()
}

/// Parses a decimal or hexadecimal number.
pub(super) fn number<T: TryFrom<u64>>(node: Node<'_, '_>, name: &str) -> Result<Option<T>, ParseError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match parsed.ok().and_then(|value| T::try_from(value).ok()) {
        Some(value) => Ok(Some(value)),
        None => Err(at(node, format!("invalid value '{text}' for {name} of <{}>", node.tag_name().name()))),
    }
}

fn required<T: TryFrom<u64>>(node: Node<'_, '_>, name: &str) -> Result<T, ParseError> {
    number(node, name)?.ok_or_else(|| at(node, format!("<{}> has no {name}", node.tag_name().name())))
}

fn guid(node: Node<'_, '_>, name: &str) -> Result<Option<Guid>, ParseError> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    Guid::parse(text.trim()).map(Some).map_err(|_| at(node, format!("invalid GUID '{text}' for {name}")))
}

/// Returns the child elements of the list with this name.
pub(super) fn list<'a, 'i>(node: Node<'a, 'i>, list: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    let lists = node.children().filter(move |node| node.has_tag_name_local(list));
    lists.flat_map(|node| node.children()).filter(Node::is_element)
}

impl Reader<'_> {
    fn message(&self, node: Node<'_, '_>) -> Option<Message> {
        let text = node.attribute("message")?;
        let id = text.strip_prefix("$(string.").and_then(|rest| rest.strip_suffix(')'));
        Some(match id {
            Some(id) => {
                let text = self.strings.get(id).copied().unwrap_or_default();
                Message { id: id.to_owned(), text: text.to_owned() }
            }
            None => Message { id: String::new(), text: text.to_owned() },
        })
    }

    fn provider(&self, node: Node<'_, '_>) -> Result<Provider, ParseError> {
        let guid = guid(node, "guid")?.ok_or_else(|| at(node, "<provider> has no guid".to_owned()))?;
        let mut provider = Provider {
            name: attribute(node, "name"),
            guid,
            symbol: attribute(node, "symbol"),
            resource_file: attribute(node, "resourceFileName"),
            message_file: attribute(node, "messageFileName"),
            message: self.message(node),
            ..Provider::default()
        };
        provider.channels = list(node, "channels").map(|node| self.channel(node)).collect::<Result<_, _>>()?;
        for node in list(node, "levels") {
            let value = required(node, "value")?;
            let (name, symbol, message) = self.named(node);
            provider.levels.push(Level { name, value, symbol, message });
        }
        for node in list(node, "keywords") {
            let value = required(node, "mask")?;
            let (name, symbol, message) = self.named(node);
            provider.keywords.push(Keyword { name, value, symbol, message });
        }
        for node in list(node, "opcodes") {
            provider.opcodes.push(self.opcode(node, None)?);
        }
        for node in list(node, "tasks") {
            let task = self.task(node)?;
            for opcode in list(node, "opcodes") {
                provider.opcodes.push(self.opcode(opcode, Some(task.name.clone()))?);
            }
            provider.tasks.push(task);
        }
        provider.maps = list(node, "maps").map(|node| self.map(node)).collect::<Result<_, _>>()?;
        provider.templates = list(node, "templates").map(template).collect::<Result<_, _>>()?;
        provider.filters = list(node, "filters").map(|node| self.filter(node)).collect::<Result<_, _>>()?;
        let events = list(node, "events").filter(|node| node.has_tag_name_local("event"));
        provider.events = events.map(|node| self.event(node)).collect::<Result<_, _>>()?;
        Ok(provider)
    }

    fn named(&self, node: Node<'_, '_>) -> (String, String, Option<Message>) {
        (attribute(node, "name"), attribute(node, "symbol"), self.message(node))
    }

    fn channel(&self, node: Node<'_, '_>) -> Result<Channel, ParseError> {
        let name = attribute(node, "name");
        let id = node.attribute("chid").map_or_else(|| name.clone(), str::to_owned);
        Ok(Channel {
            id,
            kind: attribute(node, "type"),
            value: number(node, "value")?,
            symbol: attribute(node, "symbol"),
            is_enabled: node.attribute("enabled") == Some("true"),
            isolation: attribute(node, "isolation"),
            message: self.message(node),
            name,
        })
    }

    fn task(&self, node: Node<'_, '_>) -> Result<Task, ParseError> {
        let (name, symbol, message) = self.named(node);
        Ok(Task { name, value: required(node, "value")?, symbol, message, guid: guid(node, "eventGUID")? })
    }

    fn opcode(&self, node: Node<'_, '_>, task: Option<String>) -> Result<Opcode, ParseError> {
        let (name, symbol, message) = self.named(node);
        Ok(Opcode { name, value: required(node, "value")?, symbol, message, task })
    }

    fn map(&self, node: Node<'_, '_>) -> Result<Map, ParseError> {
        let items = node.children().filter(|node| node.has_tag_name_local("map"));
        let item = |node| {
            let symbol = attribute(node, "symbol");
            // `EventSource` writes enumeration values that may be negative.
            let value = match node.attribute("value").and_then(|text| text.trim().parse::<i32>().ok()) {
                Some(value) => value.cast_unsigned(),
                None => required(node, "value")?,
            };
            Ok(MapItem { value, symbol, message: self.message(node) })
        };
        Ok(Map {
            name: attribute(node, "name"),
            is_bits: node.has_tag_name_local("bitMap"),
            symbol: attribute(node, "symbol"),
            items: items.map(item).collect::<Result<_, ParseError>>()?,
        })
    }

    fn filter(&self, node: Node<'_, '_>) -> Result<Filter, ParseError> {
        let (name, symbol, message) = self.named(node);
        let value = required(node, "value")?;
        let version = number(node, "version")?.unwrap_or(0);
        Ok(Filter { name, value, version, symbol, template: attribute(node, "tid"), message })
    }

    fn event(&self, node: Node<'_, '_>) -> Result<Event, ParseError> {
        Ok(Event {
            id: required(node, "value")?,
            version: number(node, "version")?.unwrap_or(0),
            symbol: attribute(node, "symbol"),
            level: attribute(node, "level"),
            channel: attribute(node, "channel"),
            task: attribute(node, "task"),
            opcode: attribute(node, "opcode"),
            keywords: attribute(node, "keywords").split_whitespace().map(str::to_owned).collect(),
            template: attribute(node, "template"),
            message: self.message(node),
        })
    }
}

fn template(node: Node<'_, '_>) -> Result<Template, ParseError> {
    let user_data = node.children().find(|node| node.has_tag_name_local("UserData"));
    let user_data = user_data.and_then(|node| node.document().input_text().get(node.range())).map(str::to_owned);
    Ok(Template { id: attribute(node, "tid"), fields: fields(node, 0)?, user_data })
}

fn fields(node: Node<'_, '_>, depth: usize) -> Result<Vec<Data>, ParseError> {
    if depth >= MAX_DEPTH {
        return Err(at(node, "structures are nested too deeply".to_owned()));
    }
    let mut fields = Vec::new();
    for node in node.children().filter(Node::is_element) {
        let kind = match node.tag_name().name() {
            "data" => value(node),
            "struct" => DataKind::Struct(self::fields(node, depth + 1)?),
            _ => continue,
        };
        fields.push(Data {
            name: attribute(node, "name"),
            kind,
            count: size(node, "count")?,
            length: size(node, "length")?,
        });
    }
    Ok(fields)
}

fn value(node: Node<'_, '_>) -> DataKind {
    let Some(encoding) = Encoding::from_name(in_type(node)) else {
        return DataKind::Unknown(in_type(node).to_owned());
    };
    let out = match node.attribute("outType") {
        // An out type that this crate does not know does not affect the encoding.
        Some(name) => out_from_name(name).unwrap_or_else(|| encoding.default_out()),
        None => encoding.default_out(),
    };
    DataKind::Value { encoding, out, map: node.attribute("map").map(str::to_owned) }
}

/// Parses a number or the name of a field.
fn size(node: Node<'_, '_>, name: &str) -> Result<Size, ParseError> {
    match node.attribute(name) {
        None => Ok(Size::None),
        Some(text) if text.trim().starts_with(|first: char| first.is_ascii_digit()) => {
            required(node, name).map(Size::Fixed)
        }
        Some(text) => Ok(Size::Field(text.trim().to_owned())),
    }
}
