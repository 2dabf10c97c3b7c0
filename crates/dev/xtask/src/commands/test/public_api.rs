//! Reads rustdoc's JSON, and finds public items that mention raw pointers or types of a crate with raw bindings.
//!
//! Only what the compiler knows is used: a type's crate is that of its definition, whatever it is called here. rustdoc leaves out what is not
//! public.

use serde_json::{Map, Value};

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Review {
    /// The number of public functions.
    pub(super) functions: usize,
    /// The place and name of each item that mentions raw types although it must not.
    pub(super) leaks: Vec<String>,
}

/// The safe function that may return a raw handle.
const ESCAPE: &str = "raw";

/// Reviews the public items of a crate. `raw` is the name of the crate whose types count as raw. Returns `None` if the format is not
/// the known one.
pub(super) fn review(json: &Value, raw: &str) -> Option<Review> {
    let paths = json.get("paths")?.as_object()?;
    let crates = json.get("external_crates")?.as_object()?;
    let (number, _) = crates.iter().find(|(_, one)| one["name"] == raw)?;
    let types = Types { paths, raw: number.parse().ok()? };
    let mut found = Review::default();
    for item in json.get("index")?.as_object()?.values().filter(|item| item["crate_id"] == 0) {
        let (kind, inner) = item.get("inner")?.as_object()?.iter().next()?;
        let is_raw = match kind.as_str() {
            "function" => {
                found.functions += 1;
                let is_unsafe = inner.get("header")?.get("is_unsafe")?.as_bool()?;
                !is_unsafe && item["name"] != ESCAPE && types.has_raw(inner)
            }
            "use" => types.is_raw(inner.get("id")?),
            // Those that the compiler adds, and those of other crates for every type.
            "impl" if inner["is_synthetic"] == true || !inner["blanket_impl"].is_null() => false,
            _ => types.has_raw(inner),
        };
        if is_raw {
            let file = item.pointer("/span/filename").and_then(Value::as_str).unwrap_or("unknown file");
            let line = item.pointer("/span/begin/0").and_then(Value::as_u64).unwrap_or_default();
            found.leaks.push(format!("{file}:{line}: {kind} {}", item["name"].as_str().unwrap_or_default()));
        }
    }
    found.leaks.sort();
    Some(found)
}

/// The types that the API mentions.
struct Types<'a> {
    paths: &'a Map<String, Value>,
    /// The number of the crate with raw types.
    raw: u64,
}

impl Types<'_> {
    /// Whether a part of the file mentions a raw pointer or a raw type.
    fn has_raw(&self, part: &Value) -> bool {
        match part {
            Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
                "raw_pointer" => true,
                "resolved_path" => self.is_raw(&value["id"]) || self.has_raw(value),
                _ => self.has_raw(value),
            }),
            Value::Array(parts) => parts.iter().any(|part| self.has_raw(part)),
            _ => false,
        }
    }

    fn is_raw(&self, id: &Value) -> bool {
        self.paths.get(&id.to_string()).is_some_and(|path| path["crate_id"] == self.raw)
    }
}

#[cfg(test)]
mod tests {
    use super::{Review, review};
    use serde_json::{Value, json};

    /// A crate with one item.
    fn with(name: &str, inner: &Value) -> Value {
        json!({
            "index": { "0": {
                "crate_id": 0, "name": name, "inner": inner,
                "span": { "filename": "src/lib.rs", "begin": [7, 1] },
            } },
            "paths": { "1": { "crate_id": 20, "path": ["raw_sys", "HANDLE"] }, "2": { "crate_id": 0, "path": ["a", "Safe"] } },
            "external_crates": { "3": { "name": "core" }, "20": { "name": "raw_sys" } },
        })
    }

    fn function(is_unsafe: bool, output: &Value) -> Value {
        json!({ "function": { "header": { "is_unsafe": is_unsafe }, "sig": { "inputs": [], "output": output } } })
    }

    #[test]
    fn raw_types_are_found_and_only_where_they_must_not_be() {
        let pointer = json!({ "raw_pointer": { "is_mutable": true, "type": { "primitive": "u8" } } });
        let handle = json!({ "resolved_path": { "path": "HANDLE", "id": 1, "args": null } });
        let safe = json!({ "resolved_path": { "path": "Safe", "id": 2, "args": null } });
        let inside = json!({ "resolved_path": { "path": "Safe", "id": 2, "args": { "angle_bracketed": { "args": [{ "type": handle }] } } } });
        let leaks = |name: &str, inner: &Value| review(&with(name, inner), "raw_sys").unwrap().leaks;
        for output in [&pointer, &handle, &inside] {
            assert_eq!(leaks("get", &function(false, output)), ["src/lib.rs:7: function get"]);
            assert!(leaks("raw", &function(false, output)).is_empty(), "it is what the name says");
            assert!(leaks("get", &function(true, output)).is_empty(), "it is unsafe");
        }
        assert!(leaks("get", &function(false, &safe)).is_empty());
        assert_eq!(leaks("field", &json!({ "struct_field": handle })), ["src/lib.rs:7: struct_field field"]);
        assert_eq!(leaks("HANDLE", &json!({ "use": { "source": "raw_sys::HANDLE", "id": 1 } })).len(), 1);
        let conversion = |blanket: Value| json!({ "impl": { "is_synthetic": false, "blanket_impl": blanket, "trait": { "args": [handle] } } });
        assert_eq!(leaks("", &conversion(Value::Null)).len(), 1);
        assert!(leaks("", &conversion(json!({ "generic": "T" }))).is_empty());
    }

    #[test]
    fn another_format_is_not_taken_for_a_clean_crate() {
        let text = json!({ "primitive": "str" });
        let Review { functions, leaks } = review(&with("name", &function(false, &text)), "raw_sys").unwrap();
        assert_eq!(functions, 1);
        assert_eq!(leaks.len(), 0);
        assert_eq!(review(&with("name", &json!({ "function": { "header": {} } })), "raw_sys"), None);
        assert_eq!(review(&with("name", &function(false, &text)), "other_sys"), None);
        assert_eq!(review(&json!({}), "raw_sys"), None);
    }
}
