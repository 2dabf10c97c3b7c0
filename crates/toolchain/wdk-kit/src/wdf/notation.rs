//! Parses the declarations of types.

use super::reader::{Place, Reader, Signature, entries};

/// A declaration, and its place in the files.
#[derive(Clone)]
pub(crate) struct Declaration {
    pub(crate) place: Place,
    pub(crate) name: String,
    /// Prefixes of the names of pointers to it: `P`, `PC`.
    pub(crate) pointers: Vec<String>,
    pub(crate) what: What,
}

#[derive(Clone)]
pub(crate) enum What {
    /// A pointer with a distinct type, which only the framework dereferences.
    Handle,
    /// A pointer to a structure with this tag, whose fields are not declared.
    Opaque(String),
    /// Another name of a type.
    Alias(String),
    /// A number.
    Constant(String),
    /// Names and their numbers.
    Enumeration(Vec<(String, String)>),
    /// A structure.
    Record(Vec<Field>),
    /// A union.
    Union(Vec<Field>),
    /// `EVT_<name>`, a function of the driver, and `PFN_<name>`, the pointer to it.
    Callback(Signature),
    /// A pointer to a function, with this name.
    Pointer(Signature),
    /// A variable of the entry stub.
    Variable(String),
}

/// A field, and its content.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) content: Content,
}

#[derive(Clone)]
pub(crate) enum Content {
    /// A value. `count` is the length of an array, `align` an alignment other than that of the type, `bits` the width of a bit field.
    Value { kind: String, count: Option<String>, align: Option<String>, bits: Option<String> },
    /// A nested structure.
    Structure(Vec<Field>),
    /// A nested union.
    Union(Vec<Field>),
}

/// Reads one file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Declaration>, String> {
    let mut declarations = Vec::new();
    for (place, entry) in entries(file, text)? {
        let mut reader = Reader::new(&place, &entry);
        let keyword = reader.name()?;
        if keyword == "handle" {
            for name in list(&mut reader, |reader| Ok(reader.name()?.to_owned()))? {
                let what = What::Handle;
                declarations.push(Declaration { place: place.clone(), name, pointers: Vec::new(), what });
            }
        } else {
            let name = reader.name()?.to_owned();
            let pointers = if reader.take("(") { pointers(&mut reader)? } else { Vec::new() };
            reader.expect(":")?;
            let what = body(keyword, &mut reader, &place)?;
            if !pointers.is_empty()
                && !matches!(what, What::Alias(_) | What::Enumeration(_) | What::Record(_) | What::Union(_))
            {
                return Err(place.error(&format!("`{keyword}` cannot declare names of pointers")));
            }
            declarations.push(Declaration { place: place.clone(), name, pointers, what });
        }
        reader.end()?;
    }
    Ok(declarations)
}

/// Reads the part after the colon.
fn body(keyword: &str, reader: &mut Reader<'_>, place: &Place) -> Result<What, String> {
    Ok(match keyword {
        "opaque" => What::Opaque(reader.name()?.to_owned()),
        "alias" => What::Alias(reader.kind()?),
        "constant" => What::Constant(reader.number()?.to_owned()),
        "enum" => What::Enumeration(list(reader, |reader| {
            let name = reader.name()?.to_owned();
            reader.expect("=")?;
            Ok((name, reader.number()?.to_owned()))
        })?),
        "record" => What::Record(list(reader, field)?),
        "union" => What::Union(list(reader, field)?),
        "callback" => What::Callback(reader.signature()?),
        "pointer" => What::Pointer(reader.signature()?),
        "variable" => What::Variable(reader.kind()?),
        _ => return Err(place.error(&format!("`{keyword}` is not a kind of declaration"))),
    })
}

/// Reads one or more items that are separated by commas.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut items = vec![item(reader)?];
    while reader.take(",") {
        items.push(item(reader)?);
    }
    Ok(items)
}

/// Reads `P`, `PC` or both, up to the closing parenthesis.
fn pointers(reader: &mut Reader<'_>) -> Result<Vec<String>, String> {
    let mut prefixes = Vec::new();
    while !reader.take(")") {
        let found = ["P", "PC"].into_iter().find(|prefix| reader.take(prefix));
        prefixes.push(found.ok_or_else(|| reader.wrong("`P`, `PC` or `)`"))?.to_owned());
    }
    Ok(prefixes)
}

/// Reads `Name TYPE`, `Name TYPE[4]`, `Name TYPE align 8`, `Name TYPE bits 2`, `Name { … }` or `Name union { … }`.
fn field(reader: &mut Reader<'_>) -> Result<Field, String> {
    let name = reader.name()?.to_owned();
    let union = reader.take("union");
    let content = if reader.take("{") {
        let fields = list(reader, field)?;
        reader.expect("}")?;
        if union { Content::Union(fields) } else { Content::Structure(fields) }
    } else if union {
        return Err(reader.wrong("`{`"));
    } else {
        let kind = reader.kind()?;
        let count = if reader.take("[") { Some(reader.number()?.to_owned()) } else { None };
        if count.is_some() {
            reader.expect("]")?;
        }
        let align = if reader.take("align") { Some(reader.number()?.to_owned()) } else { None };
        let bits = if reader.take("bits") { Some(reader.number()?.to_owned()) } else { None };
        Content::Value { kind, count, align, bits }
    };
    Ok(Field { name, content })
}
