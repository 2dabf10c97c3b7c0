//! Writes the header for clang and bindgen.
//!
//! Declarations that need no others come first and records last, so that the files in `kit/wdf` can be grouped by topic. A
//! `#line` before each declaration makes clang's messages name the file in `kit/wdf`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::functions::Function;
use super::notation::{Content, Declaration, Field, What};
use super::reader::{Place, Signature};

/// Left out for the entry stub: only the driver knows the oldest framework that it runs on.
const MINIMUM_VERSION: &str = "
#ifndef WDF_STUB
#ifdef KMDF_MINIMUM_VERSION_REQUIRED
DECLSPEC_SELECTANY ULONG WdfMinimumVersionRequired = KMDF_MINIMUM_VERSION_REQUIRED;
#else
DECLSPEC_SELECTANY ULONG WdfMinimumVersionRequired = KMDF_VERSION_MINOR;
#endif
#endif

";

/// As in the WDK, where the descriptors of control devices come with the framework.
const SECURITY: &str = "#ifndef WDF_DEVICE_NO_WDMSEC_H
#include \"wdmsec.h\"
#endif
";

/// Returns the text of `wdf.h`. Fails if a name is declared twice.
pub(crate) fn render(declarations: &[Declaration], functions: &[Function]) -> Result<String, String> {
    refuse_doubles(declarations, functions)?;
    let mut text = positions(functions);
    text.push_str(MINIMUM_VERSION);
    text.push_str(SECURITY);
    Ok(head(&text) + &body(declarations, functions) + &calls(declarations, functions) + "#include \"nt/framework.h\"\n")
}

/// Returns the text of a header that only some drivers include. The positions of its functions are in `wdf.h`.
///
/// `base` has the declarations of `wdf.h`.
pub(crate) fn render_part(
    declarations: &[Declaration],
    functions: &[Function],
    base: &[Declaration],
) -> Result<String, String> {
    refuse_doubles(declarations, functions)?;
    Ok(head("") + &body(declarations, functions) + &calls(base, functions) + "#include \"nt/framework_usb.h\"\n")
}

fn head(text: &str) -> String {
    format!("/* Generated from the facts in kit/wdf. */\n#pragma once\n\n{text}")
}

fn body(declarations: &[Declaration], functions: &[Function]) -> String {
    let mut text = String::new();
    for declaration in declarations {
        write(&mut text, &declaration.place, &early(declaration));
    }
    for declaration in declarations {
        write(&mut text, &declaration.place, &pointer_type(declaration));
    }
    text.push_str("#ifndef WDK_KIT_NO_TYPES\n");
    for declaration in declarations {
        write(&mut text, &declaration.place, &callback(declaration));
    }
    for function in functions {
        write(&mut text, &function.place, &pointer(function));
    }
    text.push_str("#endif\n");
    text.push_str("#ifndef WDK_KIT_NO_RECORDS\n");
    for declaration in declarations {
        write(&mut text, &declaration.place, &record(declaration));
    }
    text.push_str("#endif\n");
    for declaration in declarations {
        write(&mut text, &declaration.place, &variable(declaration));
    }
    text
}

fn write(text: &mut String, place: &Place, code: &str) {
    if !code.is_empty() {
        let _ = writeln!(text, "#line {} \"kit/wdf/{}\"\n{code}", place.line, place.file);
    }
}

/// Declarations that need only the types of the kernel, and the names of records.
fn early(declaration: &Declaration) -> String {
    let name = &declaration.name;
    match &declaration.what {
        What::Handle => format!("DECLARE_HANDLE({name});"),
        What::Opaque(tag) => format!("typedef struct {tag} *{name};"),
        What::Alias(kind) => typedef(declaration, kind),
        What::Constant(value) => format!("#define {name} {value}"),
        What::Enumeration(members) => {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            typedef(declaration, &format!("enum _{name} {{ {} }}", members.join(", ")))
        }
        What::Record(_) => typedef(declaration, &format!("struct _{name}")),
        What::Union(_) => typedef(declaration, &format!("union _{name}")),
        What::Callback(_) | What::Pointer(_) | What::Variable(_) => String::new(),
    }
}

/// Types of functions. Records contain pointers to them.
fn callback(declaration: &Declaration) -> String {
    let name = &declaration.name;
    match &declaration.what {
        What::Callback(signature) => {
            let Signature { parameters, result } = signature;
            format!("typedef {result} NTAPI EVT_{name}({});\ntypedef EVT_{name} *PFN_{name};", list(parameters))
        }
        _ => String::new(),
    }
}

/// Pointers to functions. Variables have these types.
fn pointer_type(declaration: &Declaration) -> String {
    match &declaration.what {
        What::Pointer(Signature { parameters, result }) => {
            format!("typedef {result} (NTAPI *{})({});", declaration.name, list(parameters))
        }
        _ => String::new(),
    }
}

fn record(declaration: &Declaration) -> String {
    match &declaration.what {
        What::Record(members) => format!("struct _{} {{ {}}};", declaration.name, fields(members)),
        What::Union(members) => format!("union _{} {{ {}}};", declaration.name, fields(members)),
        _ => String::new(),
    }
}

fn variable(declaration: &Declaration) -> String {
    match &declaration.what {
        What::Variable(kind) => format!("extern {kind} {};", declaration.name),
        _ => String::new(),
    }
}

/// Declares the name of a type, and the names of pointers to it.
fn typedef(declaration: &Declaration, kind: &str) -> String {
    let Declaration { name, pointers, .. } = declaration;
    let has = |prefix: &str| pointers.iter().any(|pointer| pointer == prefix);
    let pointer = if has("P") { format!(", *P{name}") } else { String::new() };
    let constant = if has("PC") { format!(" typedef const {name} *PC{name};") } else { String::new() };
    format!("typedef {kind} {name}{pointer};{constant}")
}

fn fields(members: &[Field]) -> String {
    let mut text = String::new();
    for Field { name, content } in members {
        let _ = match content {
            Content::Structure(inner) => write!(text, "struct {{ {}}} {name}; ", fields(inner)),
            Content::Union(inner) => write!(text, "union {{ {}}} {name}; ", fields(inner)),
            Content::Value { kind, count, align, bits } => {
                let bits = bits.as_ref().map_or(String::new(), |bits| format!(" : {bits}"));
                let align = align.as_ref().map_or(String::new(), |align| format!("DECLSPEC_ALIGN({align}) "));
                let count = count.as_ref().map_or(String::new(), |count| format!("[{count}]"));
                write!(text, "{align}{kind} {name}{count}{bits}; ")
            }
        };
    }
    text
}

fn list(parameters: &[String]) -> String {
    if parameters.is_empty() { String::from("VOID") } else { parameters.join(", ") }
}

/// `_WDFFUNCENUM`: the position of every function, and the number of functions.
pub(crate) fn positions(functions: &[Function]) -> String {
    let mut text = String::from("typedef enum _WDFFUNCENUM {\n");
    for (position, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "{}TableIndex = {position},", function.name);
    }
    let _ = writeln!(text, "WdfFunctionTableNumEntries = {}\n}} WDFFUNCENUM;", functions.len());
    text
}

/// The type of a function in the table, which wdk-macros looks for.
fn pointer(function: &Function) -> String {
    let Some(Signature { parameters, result }) = &function.signature else { return String::new() };
    let mut all = vec!["PWDF_DRIVER_GLOBALS"];
    all.extend(parameters.iter().map(String::as_str));
    format!("typedef {result} (NTAPI *PFN_{})({});", function.name.to_ascii_uppercase(), all.join(", "))
}

/// Inline functions with the names that C code calls. Rust code calls through the table itself.
fn calls(declarations: &[Declaration], functions: &[Function]) -> String {
    let mut names = declarations.iter().map(|declaration| declaration.name.as_str());
    let Some(table) = names.find(|name| name.starts_with("WdfFunctions_")) else { return String::new() };
    let mut text =
        String::from("#if !defined(WDK_KIT_NO_TYPES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDF_STUB)\n");
    for function in functions {
        let Some(Signature { parameters, result }) = &function.signature else { continue };
        let name = &function.name;
        let typed: Vec<String> =
            parameters.iter().enumerate().map(|(index, kind)| format!("{kind} P{index}")).collect();
        let mut values = vec![String::from("WdfDriverGlobals")];
        values.extend((0..parameters.len()).map(|index| format!("P{index}")));
        let _ = writeln!(
            text,
            "FORCEINLINE {result} {name}({}) {{ return ((PFN_{}){table}[{name}TableIndex])({}); }}",
            list(&typed),
            name.to_ascii_uppercase(),
            values.join(", ")
        );
    }
    text.push_str("#endif\n");
    text
}

/// Rejects names that are declared twice. C would accept some of them silently.
fn refuse_doubles(declarations: &[Declaration], functions: &[Function]) -> Result<(), String> {
    let callbacks = |declaration: &Declaration| match declaration.what {
        What::Callback(_) => format!("EVT_{}", declaration.name),
        _ => declaration.name.clone(),
    };
    let types = declarations.iter().map(|declaration| (callbacks(declaration), &declaration.place));
    let table = functions.iter().map(|function| (function.name.clone(), &function.place));
    let mut seen = BTreeMap::new();
    for (name, place) in types.chain(table) {
        if let Some(first) = seen.insert(name.clone(), place) {
            return Err(place.error(&format!("`{name}` is already declared at {}:{}", first.file, first.line)));
        }
    }
    Ok(())
}
