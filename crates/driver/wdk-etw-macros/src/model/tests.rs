//! Tests of the checked model: accepted input, rejected input, and messages.

use std::fmt::Write as _;

use super::table::{Arity, FieldType};
use super::{Code, Event, EventKind, Mode, Provider, SetInformation, Shape, Tag};
use crate::errors::Errors;
use crate::parse::{EventSyntax, ProviderSyntax};

fn check(kind: EventKind, source: &str) -> (Option<Event>, Vec<String>) {
    let mut errors = Errors::default();
    let tokens = source.parse().unwrap();
    let parse = if kind == EventKind::Stop { EventSyntax::parse_stop } else { EventSyntax::parse };
    let event = parse(tokens, &mut errors).map(|syntax| Event::check(syntax, kind, &mut errors));
    (event, errors.messages())
}

fn accepted(source: &str) -> Event {
    let (event, messages) = check(EventKind::Single, source);
    assert_eq!(messages, Vec::<String>::new());
    event.unwrap()
}

fn refused(source: &str) -> Vec<String> {
    let (_, messages) = check(EventKind::Single, source);
    assert!(!messages.is_empty(), "accepted: {source}");
    messages
}

fn provider(source: &str) -> (Option<Provider>, Vec<String>) {
    let mut errors = Errors::default();
    let tokens = source.parse().unwrap();
    let provider = ProviderSyntax::parse(tokens, &mut errors).map(|syntax| Provider::check(syntax, &mut errors));
    (provider, errors.messages())
}

/// An event with `field` repeated `count` times.
fn repeated(count: usize, field: &str) -> String {
    let mut source = String::from("P, \"E\"");
    for _ in 0..count {
        write!(source, ", {field}").unwrap();
    }
    source
}

#[test]
fn every_option_is_read() {
    let event = accepted(
        "crate::P, \"E\", level(Warning), keyword(1), keyword(2), opcode(Start), task(3), channel(11), \
         id_version(4, 5), tag(6), activity_id(&a), related_id(&b), debug()",
    );
    assert!(matches!(event.level, Some((_, Code::Known(3)))));
    assert!(matches!(event.opcode, Some((_, Code::Known(1)))));
    assert!(matches!(event.channel, Some((_, Code::Known(11)))));
    assert!(matches!(event.tag, Some(Tag::Known(6))));
    assert_eq!(event.keywords.len(), 2);
    assert!(event.task.is_some());
    assert!(event.id_version.is_some());
    assert!(event.activity_id.is_some());
    assert!(event.related_id.is_some());
    assert!(event.debug);
}

#[test]
fn values_may_be_names_numbers_or_expressions() {
    assert!(matches!(accepted("P, \"E\", level(Level::Warning)").level, Some((_, Code::Value(_)))));
    assert!(matches!(accepted("P, \"E\", level(MY_LEVEL)").level, Some((_, Code::Value(_)))));
    assert!(matches!(accepted("P, \"E\", level(1 + 2)").level, Some((_, Code::Number(_)))));
    assert!(matches!(accepted("P, \"E\", level(0x03)").level, Some((_, Code::Known(3)))));
    assert_eq!(refused("P, \"E\", level(256)"), ["Level has 8 bits: 0 to 255"]);
    // Four or more capital letters are a constant. Fewer are a misspelled name.
    accepted("P, \"E\", u8(\"a\", &a, format(HEXX))");
    assert!(refused("P, \"E\", u8(\"a\", &a, format(HEX))")[0].contains("did you mean `Hex`?"));
}

#[test]
fn structs_are_flattened_with_their_field_count() {
    let event = accepted(
        "P, \"E\", struct(\"S\", tag(1), { u8(\"a\", &a), struct(\"T\", { u8(\"b\", &b) }), raw_data(c) }), u8(\"d\", &d)",
    );
    let counts: Vec<Option<u8>> = event
        .fields
        .iter()
        .map(|field| match field.meta.as_ref().and_then(|meta| meta.out_type.as_ref()) {
            Some(Code::Known(count)) => Some(*count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [Some(2), None, Some(1), None, None, None]);
    let empty = accepted("P, \"E\", struct(\"S\", { raw_data(a) })");
    assert!(empty.fields[0].meta.as_ref().is_some_and(|meta| meta.out_type.is_none()), "there is nothing to count");
    assert_eq!(refused("P, \"E\", struct(\"S\", {}, {})"), ["a struct has one list of fields"]);
}

#[test]
fn slices_exist_for_scalars_only() {
    assert!(matches!(FieldType::find("u32_slice").map(|kind| kind.shape), Some(Shape::Slice(_))));
    assert!(matches!(FieldType::find("raw_meta_slice").map(|kind| kind.shape), Some(Shape::RawMeta(Arity::Many))));
    for name in ["str8_slice", "time32_slice", "irql_slice", "kernel_ptr_slice", "struct_slice", "u32_slice_slice"] {
        assert!(FieldType::find(name).is_none(), "{name}");
    }
}

#[test]
fn every_field_type_is_documented() {
    let words: Vec<&str> = include_str!("../../../wdk-etw/src/macros/write_event.md").split('`').collect();
    let is_documented = |name: &str| words.iter().any(|word| word.split('(').next() == Some(name));
    for name in FieldType::all_names() {
        // The page says once that every scalar has a slice.
        let scalar = name.strip_suffix("_slice").unwrap_or(&name);
        assert!(is_documented(&name) || is_documented(scalar), "{name}");
    }
}

#[test]
fn a_misspelled_name_gets_a_suggestion() {
    assert_eq!(refused("P, \"E\", u23(\"a\", &a)"), ["unknown field type `u23`; did you mean `u32`?"]);
    assert_eq!(refused("P, \"E\", keywrod(1)"), ["unknown option `keywrod`; did you mean `keyword`?"]);
    let messages = refused("P, \"E\", level(Waring)");
    assert!(messages[0].starts_with("unknown Level `Waring`; did you mean `Warning`? The names are `LogAlways`, "));
    let messages = refused("P, \"E\", frobnicated(1)");
    assert!(messages[0].contains("options are `level`, `keyword`"), "{messages:?}");
    assert!(messages[0].contains("field types are `bool8`"), "{messages:?}");
}

#[test]
fn all_errors_of_a_call_are_reported() {
    let messages = refused(
        "P, \"E\", u23(\"a\", &a), level(), tag(0x10000000), u32(\"b\"), u32(c, &c), u32 = 5, u8(\"d\", &d, blue(1))",
    );
    assert_eq!(messages.len(), 7, "{messages:#?}");
    assert_eq!(refused("P, \"E\", u32(c, &c, blue(1))").len(), 2, "the name and the option");
}

#[test]
fn options_are_allowed_once_and_only_outside_structs() {
    let options = ["level(1)", "opcode(1)", "channel(1)", "task(1)", "id_version(1, 2)", "tag(1)", "related_id(&a)"];
    for option in options.into_iter().chain(["activity_id(&a)", "result(u32(\"a\"))"]) {
        let (name, _) = option.split_once('(').unwrap();
        let kind = if name == "result" { EventKind::Activity } else { EventKind::Single };
        let (_, messages) = check(kind, &format!("P, \"E\", {option}, {option}"));
        assert_eq!(messages, [format!("`{name}` is given twice")]);
    }
    accepted("P, \"E\", keyword(1), keyword(1), debug(), debug()");
    assert_eq!(refused("P, \"E\", u8(\"a\", &a, format(Hex), format(Hex))"), ["`format` is given twice"]);
    assert_eq!(refused("P, \"E\", u8(\"a\", &a, tag(1), tag(2))"), ["`tag` is given twice"]);
    assert_eq!(
        refused("P, \"E\", struct(\"S\", { level(1) })"),
        ["`level` is an option of the event and not allowed inside `struct`"]
    );
    assert_eq!(
        refused("P, \"E\", struct(\"S\", { u23(\"a\", &a) })"),
        ["unknown field type `u23`; did you mean `u32`?"]
    );
    let unknown = refused("P, \"E\", struct(\"S\", { keywrod(1) })");
    assert!(unknown[0].starts_with("unknown field type `keywrod`; field types are `bool8`"), "{unknown:?}");
    assert_eq!(
        refused("P, \"E\", struct(\"S\", { raw_struct(\"R\", 1) })"),
        ["`raw_struct` is not allowed inside `struct`; use `struct` here as well"]
    );
}

#[test]
fn names_have_no_nul() {
    assert_eq!(refused("P, \"E\\0\"").len(), 1);
    assert_eq!(refused("P, \"E\", u8(\"a\\0\", &a)").len(), 1);
    assert_eq!(provider("P, \"N\\0\"").1.len(), 1);
}

#[test]
fn an_event_has_at_most_128_fields() {
    accepted(&repeated(128, "u8(\"a\", &a)"));
    assert_eq!(refused(&repeated(130, "u8(\"a\", &a)")), ["an event has at most 128 fields"]);
}

#[test]
fn a_struct_has_at_most_127_fields() {
    let fields = |count: usize| format!("P, \"E\", struct(\"S\", {{ {} }})", "u8(\"a\", &a), ".repeat(count));
    accepted(&fields(127));
    assert_eq!(refused(&fields(128))[0], "a struct has at most 127 fields");
    assert_eq!(refused("P, \"E\", raw_struct(\"R\", 128)"), ["a struct has at most 127 fields"]);
}

#[test]
fn descriptors_are_counted_as_they_are_written() {
    // Each string needs two descriptors, one for its bytes and one for its count. With the two for metadata, that makes
    // 128.
    accepted(&repeated(63, "str8(\"a\", a)"));
    assert!(refused(&repeated(64, "str8(\"a\", a)"))[0].starts_with("the event needs more than 128 data descriptors"));
    // The count of a string shares a descriptor with the scalars before it.
    accepted(&repeated(42, "u8(\"a\", &a), u8(\"b\", &b), str8(\"c\", c)"));
    accepted(&repeated(126, "raw_field(\"a\", U8, a)"));
    assert_eq!(refused(&repeated(127, "raw_field(\"a\", U8, a)")).len(), 1);
}

#[test]
fn metadata_has_at_most_65535_bytes() {
    // Size (2), tag (1) and the NUL of the name (1): 4 bytes in addition to the name.
    let named = |length: usize| format!("P, \"{}\"", "x".repeat(length - 4));
    accepted(&named(65_535));
    assert_eq!(refused(&named(65_536)).len(), 1);
    for (item, size) in [
        // Name, NUL and type.
        ("u8(\"ab\", &a)", 4),
        ("bool8(\"ab\", &a)", 5),
        // A tag has one to four bytes, and needs the format.
        ("u8(\"ab\", &a, tag(0x0FE00000))", 6),
        ("u8(\"ab\", &a, tag(1))", 9),
        ("bool8(\"ab\", &a, tag(1))", 9),
        ("u8(\"ab\", &a, tag(TAG))", 6),
        // The number of its fields is the format of a struct.
        ("struct(\"ab\", { u8(\"ab\", &a) })", 5 + 4),
        ("struct(\"ab\", tag(1), { u8(\"ab\", &a) })", 9 + 4),
        // The tag of an event without a tag has one byte, too.
        ("tag(1)", 3),
        ("tag(TAG)", 0),
    ] {
        accepted(&format!("{}, {item}", named(65_535 - size)));
        assert_eq!(refused(&format!("{}, {item}", named(65_536 - size))).len(), 1, "{item}");
    }
}

#[test]
fn an_activity_sets_opcode_and_id_itself() {
    let (_, messages) = check(EventKind::Activity, "P, \"E\", opcode(Start), activity_id(&a), related_id(&b)");
    assert_eq!(messages.len(), 2);
    assert!(messages[0].starts_with("`start_activity!` sets `opcode` itself"));
}

#[test]
fn provider_options_are_read() {
    let (checked, messages) = provider(
        "/// Text.\npub(crate) P, \"MyProvider\", id(\"20cf46dd-3b90-476c-94e9-4e74bbc30e31\"), \
         groupid(\"{faaf2f619b2645919bb1b9b8bae2d34c}\"), group_name(\"abc1\"), mode(User), set_information(Direct), \
         target_version(0x0A00), decode_id(\"20cf46dd-3b90-476c-94e9-4e74bbc30e31\"), custom_trait(128, b\"x\"), \
         custom_trait(255, \"yz\"), debug()",
    );
    assert_eq!(messages, Vec::<String>::new());
    let checked = checked.unwrap();
    assert!(checked.debug);
    assert_eq!(checked.id.to_string(), "20cf46dd-3b90-476c-94e9-4e74bbc30e31");
    assert_eq!(checked.mode, Mode::User);
    assert!(matches!(checked.set_information, SetInformation::Chosen("Direct")));
    let traits = etw_types::traits::validate(&checked.traits).unwrap();
    assert_eq!(traits.name(), b"MyProvider");
    assert_eq!(traits.group().unwrap().to_string(), "faaf2f61-9b26-4591-9bb1-b9b8bae2d34c");
    assert!(checked.traits.ends_with(&[4, 0, 128, b'x', 5, 0, 255, b'y', b'z']));
}

#[test]
fn provider_defaults_are_kernel_mode_the_settings_of_the_build_and_the_id_of_the_name() {
    let checked = provider("P, \"MyProvider\",").0.unwrap();
    assert_eq!(checked.id.to_string(), "b3864c38-4273-58c5-545b-8b3608343471");
    assert_eq!(checked.traits, b"\x0d\0MyProvider\0");
    assert_eq!(checked.mode, Mode::Kernel);
    assert!(matches!(checked.set_information, SetInformation::ByBuild));
    let by_version = provider("P, \"N\", target_version(VERSION)").0.unwrap();
    assert!(matches!(by_version.set_information, SetInformation::ByVersion(..)));
}

#[test]
fn provider_options_are_allowed_once() {
    const ID: &str = "20cf46dd-3b90-476c-94e9-4e74bbc30e31";
    let ids = ["id", "group_id", "decode_id"].map(|name| format!("{name}(\"{ID}\")"));
    let others = ["group_name(\"abc\")", "mode(User)", "set_information(Off)", "target_version(1)"].map(String::from);
    for option in ids.iter().chain(&others) {
        let (name, _) = option.split_once('(').unwrap();
        let (_, messages) = provider(&format!("P, \"N\", {option}, {option}"));
        assert_eq!(messages, [format!("`{name}` is given twice")]);
    }
    let (_, messages) = provider("P, \"N\", debug(), debug(), custom_trait(128, b\"\"), custom_trait(128, b\"\")");
    assert_eq!(messages, Vec::<String>::new());
}

#[test]
fn provider_errors_name_what_is_allowed() {
    let message = |source: &str| provider(source).1.join("; ");
    assert_eq!(message("P, \"N\", mode(Boot)"), "expected one of `Kernel`, `User`");
    assert_eq!(message("P, \"N\", guid(\"\")"), "unknown option `guid`; did you mean `id`?");
    assert_eq!(message("P, \"N\", custom_trait(5, b\"\")"), "a custom trait's type is a number from 128 to 255");
    assert_eq!(message("P, \"N\", group_name(\"Upper\")"), "a group name has only the letters a to z and digits");
    assert!(message("P, \"N\", id(\"12\")").contains("not a GUID"));
    assert!(message(&format!("P, \"N\", id(\"{}\")", "g".repeat(32))).contains("not a GUID"));
    assert!(message("P, \"N\", custom_trait(200, \"a\"), id(\"x\"), id(\"y\")").contains("not a GUID"));
    assert!(!message(&format!("P, \"{}\"", "x".repeat(0x7FFD))).is_empty());
    assert!(message(&format!("P, \"{}\"", "x".repeat(0x7FFC))).is_empty());
}

#[test]
fn a_stop_takes_any_expression_as_its_scope_and_fields_up_to_1024_bytes() {
    let (event, messages) = check(EventKind::Stop, "self.pending.take()?, u32(\"Bytes\", &1), debug()");
    assert_eq!(messages, Vec::<String>::new());
    let event = event.unwrap();
    assert_eq!(event.fields.len(), 1);
    assert!(event.debug);
    // The result of the activity has a descriptor, too.
    let strings = |count| repeated(count, "str8(\"a\", a)").replacen("P, \"E\"", "scope", 1);
    assert_eq!(check(EventKind::Stop, &strings(62)).1, Vec::<String>::new());
    assert!(check(EventKind::Stop, &strings(63)).1[0].starts_with("the event needs more than 128 data descriptors"));
    let long = repeated(64, "u32(\"A field's name\", &1)").replacen("P, \"E\"", "scope", 1);
    let (_, messages) = check(EventKind::Stop, &long);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("1024 bytes"), "{messages:?}");
}

#[test]
fn an_activity_has_a_name_that_leaves_room_for_the_fields_of_its_stop() {
    let start = |length: usize, result: &str| {
        let name = "n".repeat(length);
        check(EventKind::Activity, &format!("P, \"{name}\"{result}")).1
    };
    assert_eq!(start(240, "").len(), 0);
    assert_eq!(start(200, ", result(ntstatus(\"0123456789012345678901234567890123456789\"))").len(), 0);
    assert!(start(244, "")[0].contains("at most 240 bytes"));
    assert!(start(201, ", result(ntstatus(\"0123456789012345678901234567890123456789\"))")[0].contains("240"));
}
