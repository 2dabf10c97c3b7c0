//! Writes types of Rust in C.

use std::fmt::Write as _;

use super::Writer;
use super::parse::{Bits, Record, split};

/// Types of Rust and `core::ffi`, each with its type in C.
const PRIMITIVES: [(&str, &str); 24] = [
    ("::core::ffi::c_void", "void"),
    ("::core::ffi::c_char", "char"),
    ("::core::ffi::c_schar", "signed char"),
    ("::core::ffi::c_uchar", "unsigned char"),
    ("::core::ffi::c_short", "short"),
    ("::core::ffi::c_ushort", "unsigned short"),
    ("::core::ffi::c_int", "int"),
    ("::core::ffi::c_uint", "unsigned int"),
    ("::core::ffi::c_long", "long"),
    ("::core::ffi::c_ulong", "unsigned long"),
    ("::core::ffi::c_longlong", "long long"),
    ("::core::ffi::c_ulonglong", "unsigned long long"),
    ("()", "void"),
    ("u8", "unsigned char"),
    ("i8", "signed char"),
    ("u16", "unsigned short"),
    ("i16", "short"),
    ("u32", "unsigned int"),
    ("i32", "int"),
    ("u64", "unsigned long long"),
    ("i64", "long long"),
    ("usize", "size_t"),
    ("f32", "float"),
    ("f64", "double"),
];

impl Writer<'_> {
    /// Returns a C declaration of `name` with the type `kind`. Returns `None` if the type is not declared, or if a value of the type
    /// is needed and its record is not complete. `is_field` means that `name` is a field.
    pub(super) fn spell(&self, kind: &str, name: &str, is_field: bool) -> Option<String> {
        let kind = kind.trim();
        if let Some((inner, is_constant)) = kind
            .strip_prefix("*mut ")
            .map(|inner| (inner, false))
            .or(kind.strip_prefix("*const ").map(|inner| (inner, true)))
        {
            let is_pointer = inner.starts_with('*');
            return match is_constant {
                true if is_pointer => self.spell(inner, &format!("const *{name}"), false),
                true => Some(format!("const {}", self.spell(inner, &format!("*{name}"), false)?)),
                false => self.spell(inner, &format!("*{name}"), false),
            };
        }
        if let Some((inner, count)) =
            kind.strip_prefix('[').and_then(|rest| rest.strip_suffix("usize]")?.rsplit_once("; "))
        {
            let name = if name.starts_with('*') { format!("({name})") } else { name.to_owned() };
            return self.spell(inner, &format!("{name}[{count}]"), is_field);
        }
        if let Some(inner) = kind.strip_prefix("__IncompleteArrayField<").and_then(|rest| rest.strip_suffix('>')) {
            return self.spell(inner, &format!("{name}[]"), is_field);
        }
        if let Some(function) = kind.strip_prefix("::core::option::Option<").and_then(|rest| rest.strip_suffix('>')) {
            return self.function(function.trim(), name);
        }
        let base = match PRIMITIVES.iter().find(|(rust, _)| *rust == kind) {
            Some((_, c)) => (*c).to_owned(),
            None => self.named(kind, is_field || !(name.starts_with('*') || name.starts_with("(*")))?,
        };
        Some(format!("{base} {name}"))
    }

    fn function(&self, text: &str, name: &str) -> Option<String> {
        let rest = text.strip_prefix("unsafe extern \"C\" fn(")?;
        // The bracket that closes the list of parameters.
        let mut depth = 1_i32;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            (depth == 0).then_some(at)
        })?;
        let mut parameters = Vec::new();
        for parameter in split(&rest[..end]) {
            let parameter = parameter.trim();
            if parameter == "..." {
                parameters.push(String::from("..."));
                continue;
            }
            let kind = parameter.split_once(": ").map_or(parameter, |(_, kind)| kind);
            parameters.push(self.spell(kind, "", false)?);
        }
        let list = if parameters.is_empty() { String::from("void") } else { parameters.join(", ") };
        let result = rest[end + 1..].trim().strip_prefix("->").unwrap_or("()");
        self.spell(result, &format!("(*{name})({list})"), false)
    }

    /// Returns the name of a type in C, if it is declared. `is_whole` means that its record must be complete.
    fn named(&self, kind: &str, is_whole: bool) -> Option<String> {
        if let Some(tag) = kind.strip_suffix("::Type") {
            return self.declared.contains(tag).then(|| format!("enum {tag}"));
        }
        if kind.contains("__bindgen") || self.is_left_out(kind) {
            return None;
        }
        let keyword = self.published.tags.get(kind).copied();
        let is_tag = keyword.is_some() && kind.starts_with('_');
        if is_whole && !self.is_whole(kind) {
            return None;
        }
        match keyword {
            Some(keyword) if is_tag => Some(format!("{keyword} {kind}")),
            _ => self.declared.contains(kind).then(|| kind.to_owned()),
        }
    }

    /// Whether a value of the type can be a field: the record behind its name is complete.
    fn is_whole(&self, kind: &str) -> bool {
        let mut kind = kind;
        // An alias can refer to another alias. C does not allow cycles; the limit ends the loop if the bindings have one.
        for _ in 0..16 {
            if self.published.records.contains_key(kind) {
                return self.complete.contains(kind);
            }
            match self.published.aliases.get(kind) {
                Some(target) => kind = target.as_str(),
                None => return true,
            }
        }
        false
    }

    /// Returns the fields of a record. Records without a name are written inside of it.
    pub(super) fn body(&self, record: &Record) -> Option<String> {
        let mut text = String::from("{ ");
        for (name, kind) in &record.fields {
            if name.starts_with("_bitfield_align") {
                continue;
            }
            if name.starts_with("_bitfield_") {
                text.push_str(&self.bit_fields(record, name)?);
                continue;
            }
            if name == "_unused" || name.contains("__bindgen_padding") || name == "_address" {
                return None;
            }
            if kind.contains("__bindgen_ty_") {
                text.push_str(&self.nested(name, kind)?);
                continue;
            }
            let _ = write!(text, "{}; ", self.spell(kind, name, true)?);
        }
        text.push('}');
        Some(text)
    }

    /// Returns a field whose record has no name.
    fn nested(&self, name: &str, kind: &str) -> Option<String> {
        let array = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix("usize]")?.rsplit_once("; "));
        let (inner, dimensions) = array.map_or((kind, String::new()), |(inner, count)| (inner, format!("[{count}]")));
        let record = self.published.records.get(inner)?;
        if record.packing.is_some() {
            return None;
        }
        // The alignment of bit fields follows from the types of their units.
        let alignment = record.alignment.filter(|_| record.bits.is_empty());
        let align = alignment.map(|size| format!("DECLSPEC_ALIGN({size}) ")).unwrap_or_default();
        let keyword = if record.is_union { "union" } else { "struct" };
        let name = if name.starts_with("__bindgen_anon_") { "" } else { name };
        self.body(record).map(|body| format!("{keyword} {align}{body} {name}{dimensions}; "))
    }

    fn bit_fields(&self, record: &Record, unit: &str) -> Option<String> {
        let mut text = String::new();
        let mut end = 0;
        let fields: Vec<&Bits> = record.bits.iter().filter(|bits| bits.unit == unit).collect();
        for bits in fields {
            if bits.start > end {
                let _ = write!(text, "{}: {}; ", self.spell(&bits.kind, "", true)?, bits.start - end);
            }
            let _ = write!(text, "{}: {}; ", self.spell(&bits.kind, &bits.name, true)?, bits.width);
            end = bits.start + bits.width;
        }
        (!text.is_empty()).then_some(text)
    }
}
