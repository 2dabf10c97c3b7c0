//! Tests of the bindings, from text to declarations.

use std::collections::{BTreeMap, BTreeSet};

use super::Published;
use super::parse::Bindings;
use crate::metadata::Table;
use crate::model::{Convention, Parameter, Part, Signature, Source, Type, whole};

const BINDINGS: &str = r#"/* automatically generated */
#[repr(C)]
#[derive(Copy, Clone)]
pub struct __BindgenBitfieldUnit<Storage> {
    storage: Storage,
}
impl<Storage> __BindgenBitfieldUnit<Storage> {
    pub fn get(&self) -> u64 {
        let x = { 1 };
        x
    }
}
pub type ULONG = ::core::ffi::c_ulong;
pub type PNODE = *mut _NODE;
#[repr(C, packed(4))]
pub struct _NODE {
    pub Next: *mut _NODE,
    pub r#Type: ULONG,
    pub Flags: _NODE__bindgen_ty_1,
}
#[repr(C)]
#[repr(align(4))]
pub struct _NODE__bindgen_ty_1 {
    pub _bitfield_align_1: [u8; 0],
    pub _bitfield_1: __BindgenBitfieldUnit<[u8; 4usize]>,
}
#[test]
fn bindgen_test_layout__NODE() {
    assert_eq!(::core::mem::size_of::<_NODE>(), 16usize);
}
impl _NODE__bindgen_ty_1 {
    #[inline]
    pub fn Low(&self) -> ULONG {
        unsafe { ::core::mem::transmute(self._bitfield_1.get(2usize, 5u8) as u32) }
    }
    #[inline]
    pub fn set_Low(&mut self, val: ULONG) {
        unsafe { self._bitfield_1.set(2usize, 5u8, val as u64) }
    }
}
pub use self::_KIND::Type as KIND;
pub mod _KIND {
    pub type Type = ::core::ffi::c_int;
    pub const One: Type = -1;
    pub const Two: Type = 2;
}
pub type PCALLBACK = ::core::option::Option<
    unsafe extern "C" fn(Node: *const _NODE, Names: *const *mut KIND, Table: *mut [ULONG; 4usize], ...) -> ULONG,
>;
pub type NODES = [_NODE; 2usize];
pub const TEXT: &::core::ffi::CStr = unsafe { ::core::ffi::CStr::from_bytes_with_nul_unchecked(b"a\"b\0") };
pub const WIDE: u64 = 4294967296;
pub const MINUS: i32 = -3;
pub const NAMED: ULONG = 3;
extern "C" {
    #[must_use]
    pub fn KeWait(arg1: *const ::core::ffi::c_void) -> ULONG;
}
extern "C" {
    pub fn KeStop(Code: ULONG) -> !;
}
extern "C" {
    pub static KeCount: ULONG;
}
"#;

fn published() -> Published {
    let mut bindings = Bindings::default();
    bindings.read(BINDINGS);
    Published::from_bindings(bindings)
}

fn supplement(routines: &BTreeMap<String, Signature>) -> super::Supplement {
    let mut table = Table::default();
    table.read("t", "published ntoskrnl.exe KeStop\n").unwrap();
    published().supplement(&table, &BTreeSet::new(), &BTreeSet::new(), routines)
}

#[test]
fn bindings_become_declarations_of_c() {
    let lines = whole(&supplement(&BTreeMap::new()).part);
    let expected = [
        "#ifndef WDK_KIT_NO_CONSTANTS",
        "#define MINUS (-3)",
        "#define WIDE 4294967296ULL",
        "#endif",
        "#ifndef WDK_KIT_NO_TYPES",
        "struct _NODE;",
        "typedef unsigned long ULONG;",
        "typedef struct _NODE *PNODE;",
        "enum _KIND { One = -1, Two = 2, };",
        "typedef enum _KIND KIND;",
        "typedef ULONG (*PCALLBACK)(const struct _NODE *, KIND *const *, ULONG (*)[4], ...);",
        "#endif",
        "#ifndef WDK_KIT_NO_RECORDS",
        "struct _NODE;",
        "#pragma pack(push, 4)",
        "struct _NODE { struct _NODE *Next; ULONG Type; struct { ULONG : 2; ULONG Low : 5; } Flags; };",
        "#pragma pack(pop)",
        "typedef struct _NODE NODES[2];",
        "#endif",
        "#ifndef WDK_KIT_NO_ROUTINES",
        "__declspec(noreturn) void KeStop(ULONG);",
        "#endif",
    ];
    let mut missing: Vec<&str> = expected.into_iter().filter(|line| !lines.lines().any(|own| own == *line)).collect();
    missing.dedup();
    assert!(missing.is_empty(), "{missing:#?}\n{lines}");
    assert!(lines.lines().count() == expected.len(), "{missing:#?}\n{lines}");
}

#[test]
fn a_routine_replaces_that_of_the_metadata_only_if_it_says_more() {
    let signature = |kind: Type| Signature {
        result: Type::name("ULONG"),
        convention: Convention::Nt,
        parameters: vec![Parameter { name: String::from("Object"), kind }],
        is_open: false,
    };
    let replaced = |kind: Type| {
        let routines = BTreeMap::from([(String::from("KeWait"), signature(kind))]);
        supplement(&routines).replaced.len()
    };
    assert_eq!(replaced(Type::name("VOID").pointer_to()), 1, "a pointer to constant data says more");
    assert_eq!(replaced(Type::name("VOID").pointer_to_constant()), 0);
    assert_eq!(replaced(Type::name("PCSZ")), 0, "the name says that the data is constant");
}

#[test]
fn a_record_for_the_metadata_is_a_declaration_too() {
    let mut table = Table::default();
    table.read("t", "better NODE LACKING\n").unwrap();
    let records = published().records(&table);
    assert_eq!(records.keys().collect::<Vec<_>>(), ["NODE"]);
    assert_eq!(records["NODE"].packing, Some(4));
    assert_eq!(records["NODE"].fields.len(), 3);
    let part = Part::new(Source::Bindings);
    assert_eq!(whole(&part).lines().count(), 8, "an empty part has four empty blocks");
}
