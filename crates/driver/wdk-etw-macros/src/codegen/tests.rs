//! Tests of the generated code that need no compiler: the bytes of the metadata, and how an event is written.

use syn::LitByteStr;

use super::metadata::metadata;
use super::write_event;
use crate::errors::Errors;
use crate::model::{Event, EventKind};
use crate::parse::EventSyntax;

/// An event of the provider `P` with the name `E`.
fn event(items: &str) -> Event {
    let mut errors = Errors::default();
    let tokens = format!("P, \"E\", {items}").parse().unwrap();
    let syntax = EventSyntax::parse(tokens, &mut errors).unwrap();
    let event = Event::check(syntax, EventKind::Single, &mut errors);
    assert_eq!(errors.messages(), Vec::<String>::new());
    event
}

/// The expansion of an event with these fields, with single spaces between the tokens.
fn expansion(items: &str) -> String {
    write_event(&event(items)).to_string()
}

#[test]
fn metadata_without_expressions_is_a_literal() {
    for (items, expected) in [
        ("", &b"\x05\0\0E\0"[..]),
        ("tag(0x0FE00000), u32(\"a\", &a)", b"\x08\0\x7fE\0a\0\x08"),
        ("bool8(\"a\", &a)", b"\x09\0\0E\0a\0\x84\x03"),
        ("u16_slice(\"a\", a)", b"\x08\0\0E\0a\0\x46"),
        ("bool8_slice(\"a\", a)", b"\x09\0\0E\0a\0\xc4\x03"),
        ("u8(\"a\", &a, tag(0x0FE00000))", b"\x0a\0\0E\0a\0\x84\x80\x7f"),
        ("raw_field_slice(\"a\", U8, a, format(Hex), tag(1))", b"\x0d\0\0E\0a\0\xc4\x84\x80\x80\x80\x01"),
        // The flag of an array is added once.
        ("raw_field_slice(\"a\", 0x46, a)", b"\x08\0\0E\0a\0\x46"),
        ("struct(\"s\", { u8(\"x\", &x), raw_data(d) }), i32(\"y\", &y)", b"\x0f\0\0E\0s\0\x98\x01x\0\x04y\0\x07"),
    ] {
        let event = event(items);
        let metadata = metadata(&event, &event.fields);
        assert!(metadata.items.is_empty(), "{items}");
        assert_eq!(syn::parse2::<LitByteStr>(metadata.bytes).unwrap().value(), expected, "{items}");
    }
}

#[test]
fn registers_and_payload_select_the_function() {
    let by = |items: &str| {
        let text = expansion(items);
        let functions = ["__wdk_etw_send", "write_values", "write_text", "let event = __WDK_ETW_EVENT"];
        functions.into_iter().find(|function| text.contains(function)).unwrap_or("one function with the event")
    };
    for (items, expected) in [
        ("", "let event = __WDK_ETW_EVENT"),
        // A register is left for the event.
        ("u8(\"a\", &a)", "one function with the event"),
        ("u8(\"a\", &a), u8(\"b\", &b), u8(\"c\", &c)", "one function with the event"),
        ("u8(\"a\", &a), str8(\"b\", b)", "one function with the event"),
        // The library has a function for values, and for values before one text.
        ("u8(\"a\", &a), u8(\"b\", &b), u8(\"c\", &c), u8(\"d\", &d)", "write_values"),
        ("u8(\"a\", &a), u8(\"b\", &b), str8(\"c\", c)", "write_text"),
        ("u8(\"a\", &a), u8(\"b\", &b), u16_slice(\"c\", c)", "write_text"),
        // It has none for other payloads and for ids.
        ("str8(\"a\", a), str8(\"b\", b)", "__wdk_etw_send"),
        ("str8(\"a\", a), u8(\"b\", &b), u8(\"c\", &c)", "__wdk_etw_send"),
        ("u8(\"a\", &a), u8(\"b\", &b), win_sid(\"c\", c)", "__wdk_etw_send"),
        ("activity_id(&i), u8(\"a\", &a)", "__wdk_etw_send"),
        ("related_id(&i)", "__wdk_etw_send"),
    ] {
        assert_eq!(by(items), expected, "{items}");
    }
}

#[test]
fn more_than_eight_values_are_nested() {
    for (count, widths) in [(2, &[2][..]), (8, &[8]), (9, &[8, 2]), (15, &[8, 8]), (16, &[8, 8, 2])] {
        // With ids, the expansion has the type of the tuple, too.
        for (ids, times) in [("", 1), ("activity_id(&i), ", 2)] {
            let text = expansion(&format!("{ids}{}", "u8(\"a\", &a), ".repeat(count)));
            let found: Vec<usize> =
                text.split("Packed").skip(1).map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect();
            assert_eq!(found, widths.repeat(times), "{count} values");
        }
    }
}

#[test]
fn a_lint_about_many_parameters_is_allowed_where_it_would_warn() {
    let is_allowed = |count: usize| expansion(&"u8(\"a\", &a), ".repeat(count)).contains("too_many_arguments");
    // The provider is the eighth.
    assert_eq!([6, 7].map(is_allowed), [false, true]);
}
