//! Tests of the model: what declarations name and need, and how they are written.

use std::collections::BTreeSet;

use super::{
    Convention, Field, Item, Keyword, Member, Parameter, Part, Record, Signature, Source, Type, early, forwards, late,
    whole,
};

fn alias(name: &str, kind: Type) -> Item {
    Item::Alias { name: name.into(), kind }
}

fn tag(tag: &str) -> Type {
    Type::Tag(Keyword::Struct, tag.into())
}

fn function(result: Type, parameters: &[Type], convention: Convention) -> Signature {
    let parameters = parameters.iter().map(|kind| Parameter { name: String::new(), kind: kind.clone() }).collect();
    Signature { result, convention, parameters, is_open: false }
}

/// Returns the lines of a block without its guard.
fn written(items: Vec<Item>) -> Vec<String> {
    let text = whole(&Part { types: items, ..Part::new(Source::Bindings) });
    let (_, rest) = text.split_once("#ifndef WDK_KIT_NO_TYPES\n").unwrap();
    rest.split_once("#endif\n#ifndef").unwrap().0.lines().map(str::to_owned).collect()
}

#[test]
fn declarators_grow_from_the_name_outwards() {
    let long = || Type::name("ULONG");
    let array = |of: Type, count| Type::Array { of: Box::new(of), count };
    let callback = Type::Function(Box::new(function(Type::name("VOID"), &[tag("_A").pointer_to()], Convention::Nt)));
    for (kind, text) in [
        (long(), "typedef ULONG X;"),
        (long().pointer_to_constant(), "typedef const ULONG *X;"),
        (long().pointer_to().pointer_to_constant(), "typedef ULONG *const *X;"),
        (long().pointer_to_constant().pointer_to(), "typedef const ULONG **X;"),
        (array(long().pointer_to(), Some(4)), "typedef ULONG *X[4];"),
        (array(long(), None).pointer_to(), "typedef ULONG (*X)[];"),
        (callback.clone(), "typedef VOID NTAPI X(struct _A *);"),
        (callback.pointer_to(), "typedef VOID (NTAPI *X)(struct _A *);"),
    ] {
        assert_eq!(written(vec![alias("X", kind)]), [text]);
    }
}

#[test]
fn records_have_their_packing_alignment_and_processor() {
    let value = |name: &str| Field::Value { name: name.into(), kind: Type::name("ULONG"), alignment: None };
    let nested = Field::Nested {
        name: String::new(),
        keyword: Keyword::Union,
        alignment: Some(8),
        fields: vec![value("a"), Field::Bits { name: String::new(), kind: Type::name("ULONG"), width: 3 }],
        count: None,
    };
    let record = Record {
        keyword: Keyword::Struct,
        tag: "_R".into(),
        processor: Some("_AMD64_"),
        packing: Some(1),
        alignment: Some("16".into()),
        fields: vec![value("x"), nested],
    };
    assert_eq!(
        written(vec![Item::Record(record)]),
        [
            "#if defined(_AMD64_)",
            "#pragma pack(push, 1)",
            "struct DECLSPEC_ALIGN(16) _R { ULONG x; union DECLSPEC_ALIGN(8) { ULONG a; ULONG : 3; } ; };",
            "#pragma pack(pop)",
            "#endif"
        ]
    );
}

#[test]
fn a_part_knows_what_it_declares_and_what_it_needs() {
    let member = Member { name: "One".into(), value: Some("1".into()) };
    let enumeration =
        Item::Enumeration { tag: "_E".into(), name: Some("E".into()), is_unsigned: false, members: vec![member] };
    let signature =
        function(tag("_A").pointer_to(), &[Type::Tag(Keyword::Union, "_U".into()).pointer_to()], Convention::Nt);
    let part = Part {
        constants: vec![Item::Constant { name: "C".into(), value: "1".into() }],
        types: vec![enumeration, alias("PB", tag("_B").pointer_to())],
        records: vec![Item::Written { tag: "_W".into(), text: "struct _W { int x; }".into() }],
        routines: vec![Item::Routine { name: "KeX".into(), signature, never_returns: true }],
        ..Part::new(Source::Metadata("_ARM64_"))
    };
    let mut names = BTreeSet::new();
    let mut complete = BTreeSet::new();
    part.add_declared(&mut names, &mut complete);
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["C", "E", "KeX", "One", "PB", "_E", "_W"]);
    assert_eq!(complete.iter().map(String::as_str).collect::<Vec<_>>(), ["_E", "_W"]);
    let needed = forwards(&[part.types.as_slice(), &part.routines].concat());
    assert_eq!(written(needed), ["struct _A;", "struct _B;", "union _U;"]);
    let parts = [part];
    assert!(early(&parts).starts_with("#if defined(_ARM64_)\n#ifndef WDK_KIT_NO_CONSTANTS\n#define C 1\n#endif\n"));
    let late = late(&parts);
    assert!(late.contains("\n__declspec(noreturn) struct _A *NTAPI KeX(union _U *);\n"), "{late}");
}
