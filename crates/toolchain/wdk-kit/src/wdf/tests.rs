//! Tests the generator of `wdf.h`: its output for each kind of declaration, and its error messages.

use super::render;

/// Returns the header for one file of types and a table, on one line and without `#line`.
fn header(types: &str, table: &str) -> String {
    let text = render(&[("x.txt", types)], table).unwrap();
    text.lines().filter(|line| !line.starts_with("#line")).collect::<Vec<_>>().join(" ")
}

fn error(types: &str, table: &str) -> String {
    render(&[("x.txt", types)], table).unwrap_err()
}

#[track_caller]
fn assert_makes(types: &str, code: &str) {
    let text = header(types, "");
    assert!(text.contains(code), "{text}");
}

#[test]
fn handles_and_opaque_pointers_have_types_of_their_own() {
    assert_makes("handle A, B\n", "DECLARE_HANDLE(A); DECLARE_HANDLE(B);");
    assert_makes("opaque PX: X\n", "typedef struct X *PX;");
}

#[test]
fn aliases_constants_and_variables_are_one_line_each() {
    assert_makes("alias A (P): HANDLE\n", "typedef HANDLE A, *PA;");
    assert_makes("alias A: size_t*\n", "typedef size_t* A;");
    assert_makes("constant C: 0x20\n", "#define C 0x20");
    assert_makes("variable V: const A*\n", "extern const A* V;");
}

#[test]
fn enumerations_have_a_number_for_each_name() {
    assert_makes("enum E (P): A=0,\n  B=0x10\n", "typedef enum _E { A = 0, B = 0x10 } E, *PE;");
}

#[test]
fn records_keep_the_order_the_alignment_and_the_nesting_of_fields() {
    assert_makes("record R (P PC): A ULONG\n", "typedef struct _R R, *PR; typedef const R *PCR;");
    assert_makes(
        "record R: A CHAR[4], B BOOLEAN align 8, u union {\n    S { X PVOID, Y const GUID* }, Z ULONG\n  }\n",
        "struct _R { CHAR A[4]; DECLSPEC_ALIGN(8) BOOLEAN B; \
         union { struct { PVOID X; const GUID* Y; } S; ULONG Z; } u; };",
    );
}

#[test]
fn callbacks_are_a_function_and_a_pointer_to_it() {
    assert_makes("callback C: A, B* -> VOID\n", "typedef VOID NTAPI EVT_C(A, B*); typedef EVT_C *PFN_C;");
    assert_makes("pointer F: -> PVOID\n", "typedef PVOID (NTAPI *F)(VOID);");
}

#[test]
fn records_follow_the_types_that_they_refer_to() {
    let text = header("record R: F PFN_C, E E\ncallback C: R* -> VOID\nenum E: A=1\n", "");
    let at = |code: &str| text.find(code).unwrap();
    assert!(at("typedef struct _R R;") < at("EVT_C("));
    assert!(at("EVT_C(") < at("struct _R {"));
    assert!(at("enum _E {") < at("struct _R {"));
}

#[test]
fn functions_take_the_globals_first_and_count_even_without_a_signature() {
    let text = header("", "0 WdfA: -> VOID\n1 WdfB\n2 WdfC: A, B -> C\n");
    assert!(
        text.contains("WdfATableIndex = 0, WdfBTableIndex = 1, WdfCTableIndex = 2, WdfFunctionTableNumEntries = 3")
    );
    assert!(text.contains("typedef VOID (NTAPI *PFN_WDFA)(PWDF_DRIVER_GLOBALS);"));
    assert!(text.contains("typedef C (NTAPI *PFN_WDFC)(PWDF_DRIVER_GLOBALS, A, B);"));
    assert!(!text.contains("PFN_WDFB"));
}

#[test]
fn errors_name_the_file_and_the_line() {
    for (types, expected) in [
        ("# ok\n\nenun E: A=0\n", "kit/wdf/x.txt:3: `enun` is not a kind of declaration"),
        ("enum E: A\n", "kit/wdf/x.txt:1: expected `=`, found the end of the entry"),
        ("enum E: A=B\n", "kit/wdf/x.txt:1: expected a number, found `B`"),
        ("record R: A\n", "kit/wdf/x.txt:1: expected a type, found the end of the entry"),
        ("record R: A ULONG,\n  u union { B ULONG\n", "kit/wdf/x.txt:1: expected `}`, found the end of the entry"),
        ("record R: u union ULONG\n", "kit/wdf/x.txt:1: expected `{`, found `ULONG`"),
        ("callback C: A\n", "kit/wdf/x.txt:1: expected `->`, found the end of the entry"),
        ("callback C (P): -> A\n", "kit/wdf/x.txt:1: `callback` cannot declare names of pointers"),
        ("record R (Q): A ULONG\n", "kit/wdf/x.txt:1: expected `P`, `PC` or `)`, found `Q):`"),
        ("alias A: B C\n", "kit/wdf/x.txt:1: expected nothing more, found `C`"),
        ("\n  A ULONG\n", "kit/wdf/x.txt:2: an indented line continues an entry, but there is none above it"),
        ("handle A\nalias A: B\n", "kit/wdf/x.txt:2: `A` is already declared at x.txt:1"),
    ] {
        assert_eq!(error(types, ""), expected);
    }
    for (table, expected) in [
        ("0 WdfA\n2 WdfB\n", "kit/wdf/functions.txt:2: expected position 1, found 2"),
        ("WdfA\n", "kit/wdf/functions.txt:1: expected a number, found `WdfA`"),
        ("0 WdfA: A\n", "kit/wdf/functions.txt:1: expected `->`, found the end of the entry"),
        ("0 WdfA\n1 WdfA\n", "kit/wdf/functions.txt:2: `WdfA` is already declared at functions.txt:1"),
    ] {
        assert_eq!(error("", table), expected);
    }
}

#[test]
fn clang_learns_where_each_fact_stands() {
    let text = render(&[("x.txt", "\nrecord R:\n  A ULONG\n")], "").unwrap();
    assert!(text.contains("#line 2 \"kit/wdf/x.txt\"\nstruct _R { ULONG A; };"), "{text}");
}
