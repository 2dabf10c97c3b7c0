//! WPP messages, described by trace message format (TMF) files.
//!
//! A file belongs to one message GUID. It has a line with the GUID and a name. For each message, it has a line
//! `#typev NAME NUMBER "FORMAT"` with the level and the function in a comment, followed by the arguments in braces: one
//! `EXPRESSION, ItemTYPE -- NUMBER` per line, counted from 10. `tracepdb` extracts such files from a PDB, where the same lines
//! are annotations. The layout follows Microsoft's description of TMF files and public examples.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use etw_types::{Guid, InType, OutType};
use pe_image::pdb::{Msf, trace_formats};

use crate::error::Error;
use crate::schema::{EventKey, EventSchema, Field, MapEntry, Schema, Source, ValueMap, limited};
use crate::types::Encoding;

/// Maximum size of a TMF file in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Maximum size of a PDB in bytes.
const MAX_PDB: u64 = 2 << 30;
/// Maximum number of arguments of a message.
const MAX_ARGUMENTS: usize = 64;
/// The number of the first argument in a format.
const FIRST: usize = 10;

/// The messages of TMF files.
#[derive(Debug, Default)]
pub struct Messages {
    messages: HashMap<(Guid, u16), Arc<EventSchema>>,
    providers: HashMap<Guid, Arc<str>>,
}

impl Messages {
    /// Adds a TMF file, or all TMF files in a folder.
    ///
    /// # Errors
    ///
    /// Fails if the file or folder cannot be read, or if a file describes no message.
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        if !path.is_dir() {
            return self.add_file(path);
        }
        for entry in fs::read_dir(path).map_err(Error::io(path))? {
            let file = entry.map_err(Error::io(path))?.path();
            if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tmf")) {
                self.add_file(&file)?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        if fs::metadata(path).map_err(Error::io(path))?.len() > MAX_FILE {
            return Err(Error::io(path)(io::Error::other("the file has more than 64 MiB")));
        }
        let bytes = fs::read(path).map_err(Error::io(path))?;
        match self.parse(&String::from_utf8_lossy(&bytes)) {
            0 => Err(Error::content(path, "not a TMF file: it describes no message")),
            _ => Ok(()),
        }
    }

    /// Adds the messages of a PDB and returns how many it describes.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is not a PDB.
    pub fn add_pdb(&mut self, path: &Path) -> Result<usize, Error> {
        if fs::metadata(path).map_err(Error::io(path))?.len() > MAX_PDB {
            return Err(Error::io(path)(io::Error::other("the file has more than 2 GiB")));
        }
        let bytes = fs::read(path).map_err(Error::io(path))?;
        let formats = Msf::parse(&bytes).and_then(|msf| trace_formats(&msf));
        Ok(self.parse(&formats.map_err(|error| Error::content(path, error.to_string()))?))
    }

    /// Parses the text of TMF files and returns how many messages it describes.
    pub fn parse(&mut self, text: &str) -> usize {
        let mut guid: Option<Guid> = None;
        let mut open: Option<Message> = None;
        let mut found = 0;
        for line in text.lines().map(str::trim) {
            if let Some(declaration) = line.strip_prefix("#typev ") {
                open = Message::declared(declaration);
            } else if line.starts_with('}') {
                if let (Some(guid), Some(message)) = (guid, open.take()) {
                    let provider = self.providers.get(&guid).cloned().unwrap_or_else(|| guid.to_string().into());
                    let number = message.number;
                    self.messages.entry((guid, number)).or_insert_with(|| Arc::new(message.schema(provider)));
                    found += 1;
                }
            } else if let Some(message) = &mut open {
                message.argument(line);
            } else if let Some((first, rest)) = line.split_once(' ')
                && let Ok(parsed) = Guid::parse(first)
            {
                let name = rest.split("//").next().unwrap_or_default().trim();
                self.providers.entry(parsed).or_insert_with(|| limited(name).into());
                guid = Some(parsed);
            }
        }
        found
    }

    /// Returns the number of known messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether no message is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

impl Schema for Messages {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        self.messages.get(&(key.provider, key.id)).cloned()
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.providers.get(provider).cloned()
    }
}

/// A message that is being parsed.
struct Message {
    name: String,
    number: u16,
    format: String,
    level: Option<Box<str>>,
    function: Option<String>,
    arguments: Vec<Field>,
}

impl Message {
    /// Parses `NAME NUMBER "FORMAT" // LEVEL=… FLAGS=… FUNC=…`.
    fn declared(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(' ')?;
        let (number, rest) = rest.trim_start().split_once(' ')?;
        let (format, comment) = rest.trim_start().strip_prefix('"')?.rsplit_once('"')?;
        let word = |key: &str| {
            let words = comment.split_whitespace();
            words.into_iter().find_map(|word| word.strip_prefix(key)).filter(|word| !word.is_empty())
        };
        Some(Self {
            name: name.to_owned(),
            number: number.parse().ok()?,
            format: format.strip_prefix("%0").unwrap_or(format).to_owned(),
            level: word("LEVEL=").map(Into::into),
            function: word("FUNC=").map(str::to_owned),
            arguments: Vec::new(),
        })
    }

    /// Parses `EXPRESSION, ItemTYPE -- NUMBER`. All arguments after the first one that cannot be parsed are ignored, because
    /// their offsets are unknown.
    fn argument(&mut self, line: &str) -> Option<()> {
        let (declaration, number) = line.rsplit_once(" -- ")?;
        let place = number.trim().parse::<usize>().ok()?.checked_sub(FIRST)?;
        (place == self.arguments.len() && place < MAX_ARGUMENTS).then_some(())?;
        let (name, item) = declaration.rsplit_once(", Item")?;
        let mut field = item_field(&limited(name.trim()), item.trim())?;
        if self.is_hexadecimal(place) && field.out == OutType::Default {
            field.out = OutType::Hex;
        }
        self.arguments.push(field);
        Some(())
    }

    /// Returns whether the format specifies hexadecimal digits.
    fn is_hexadecimal(&self, place: usize) -> bool {
        let insert = format!("%{}!", place + FIRST);
        let behind = self.format.split_once(&insert).and_then(|(_, behind)| behind.split_once('!'));
        behind.is_some_and(|(format, _)| format.ends_with(['x', 'X', 'p']))
    }

    fn schema(self, provider: Arc<str>) -> EventSchema {
        let mut message = self.format;
        for (insert, value) in [("%!FUNC!", self.function.as_deref()), ("%!LEVEL!", self.level.as_deref())] {
            message = message.replace(insert, value.unwrap_or_default());
        }
        // From last to first: `%10` is the first argument and becomes `%1`, which must not be matched again.
        for place in (0..self.arguments.len()).rev() {
            message = message.replace(&format!("%{}!", place + FIRST), &format!("%\u{1}{}!", place + 1));
        }
        EventSchema {
            provider,
            name: self.function.as_deref().unwrap_or(&self.name).into(),
            level: self.level,
            channel: None,
            keywords: Vec::new(),
            message: Some(message.replace('\u{1}', "").into()),
            top_level: self.arguments.len(),
            fields: self.arguments.into(),
            source: Source::File,
        }
    }
}

/// Returns the field for an argument type.
fn item_field(name: &str, item: &str) -> Option<Field> {
    let (kind, list) = match item.split_once('(') {
        Some((kind, list)) => (kind, list.strip_suffix(')')),
        None => (item, None),
    };
    let value = Encoding::Value;
    let (encoding, out) = match kind {
        "Char" => (value(InType::I8), OutType::Default),
        "UChar" | "Boolean" | "ListByte" | "SetByte" => (value(InType::U8), OutType::Default),
        "Short" => (value(InType::I16), OutType::Default),
        "UShort" | "ListShort" | "SetShort" => (value(InType::U16), OutType::Default),
        "Long" | "Int" => (value(InType::I32), OutType::Default),
        "ULong" | "ListLong" | "SetLong" | "Enum" => (value(InType::U32), OutType::Default),
        "ULongX" | "LongX" => (value(InType::Hex32), OutType::Default),
        "LongLong" => (value(InType::I64), OutType::Default),
        "ULongLong" => (value(InType::U64), OutType::Default),
        "LongLongX" | "ULongLongX" | "LongLongXX" => (value(InType::Hex64), OutType::Default),
        "Ptr" => (Encoding::Pointer, OutType::Default),
        "Double" => (value(InType::F64), OutType::Default),
        "Float" => (value(InType::F32), OutType::Default),
        "String" => (value(InType::CStr8), OutType::Default),
        "WString" => (value(InType::CStr16), OutType::Default),
        "PString" => (value(InType::Str8), OutType::Default),
        "PWString" => (value(InType::Str16), OutType::Default),
        "Guid" | "CLSID" | "LIBID" | "IID" => (value(InType::Guid), OutType::Default),
        "NTSTATUS" => (value(InType::U32), OutType::NtStatus),
        "WINERROR" => (value(InType::U32), OutType::Win32Error),
        "HRESULT" => (value(InType::U32), OutType::HResult),
        "Timestamp" | "Time" => (value(InType::FileTime), OutType::Default),
        "IPAddr" => (value(InType::U32), OutType::IPv4),
        "Port" => (value(InType::U16), OutType::Port),
        "Sid" => (value(InType::Sid), OutType::Default),
        "HexDump" => (value(InType::BinaryC), OutType::Default),
        _ => return None,
    };
    let mut field = Field { out, ..Field::new(name, encoding) };
    if let Some(list) = list {
        let is_bits = kind.starts_with("Set");
        let entry = |(place, name): (u32, &str)| {
            let value = if is_bits { 1_u32.checked_shl(place).unwrap_or(0) } else { place };
            MapEntry { value, name: name.trim().into() }
        };
        field.map = Some(Arc::new(ValueMap::new(kind, is_bits, (0..).zip(list.split(',')).map(entry).collect())));
    }
    Some(field)
}

#[cfg(test)]
mod tests {
    use etw_types::{Guid, InType, OutType};

    use super::Messages;
    use crate::schema::{EventKey, PointerSize, Schema};
    use crate::types::Encoding;

    const TEXT: &str = "// PDB: c:\\build\\driver.pdb\n\
        0011aabb-2233-4455-6677-8899aabbccdd Driver // SRC=entry.c MJ= MN=\n\
        #typev entry_c123 10 \"%0%!FUNC! loaded %10!s! at %11!08x!, mode %12!s!, %13!d!\" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=DRV FUNC=DriverEntry\n\
        {\n\
        name, ItemWString -- 10\n\
        (ULONG)at, ItemULong -- 11\n\
        mode, ItemListLong(Off,On) -- 12\n\
        status, ItemNTSTATUS -- 13\n\
        }\n\
        #typev entry_c130 11 \"%0strange %10!what!\" //   LEVEL=X FLAGS=Y\n\
        {\n\
        what, ItemUnheardOf -- 10\n\
        }\n";

    #[test]
    fn messages_become_schemas() {
        let mut messages = Messages::default();
        assert_eq!(messages.parse(TEXT), 2);
        let provider = Guid::parse("0011aabb-2233-4455-6677-8899aabbccdd").unwrap();
        let key = |id| EventKey { provider, id, version: 0, opcode: 0, is_classic: false, pointer: PointerSize::Eight };
        let schema = messages.event(&key(10)).unwrap();
        assert_eq!(&*schema.provider, "Driver");
        assert_eq!(&*schema.name, "DriverEntry");
        assert_eq!(schema.message.as_deref(), Some("DriverEntry loaded %1!s! at %2!08x!, mode %3!s!, %4!d!"));
        assert_eq!(schema.level.as_deref(), Some("TRACE_LEVEL_ERROR"));
        let kinds: Vec<_> = schema.fields.iter().map(|field| (field.encoding, field.out)).collect();
        assert_eq!(kinds[0], (Encoding::Value(InType::CStr16), OutType::Default));
        assert_eq!(kinds[1], (Encoding::Value(InType::U32), OutType::Hex));
        assert_eq!(schema.fields[2].map.as_ref().unwrap().text(1).as_deref(), Some("On"));
        assert_eq!(kinds[3], (Encoding::Value(InType::U32), OutType::NtStatus));
        assert_eq!(messages.event(&key(11)).unwrap().fields.len(), 0, "an unknown type leaves the bytes");
        assert_eq!(messages.event(&key(12)), None);
        assert_eq!(messages.parse("nothing\n#typev\n}\n"), 0);
    }
}
