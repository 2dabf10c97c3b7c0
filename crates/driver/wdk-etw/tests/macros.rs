//! What the macros accept and what they say about the rest.
//!
//! After an intended change of a message, run with `TRYBUILD=overwrite` and review the difference.

#[test]
#[cfg_attr(miri, ignore = "runs a compiler")]
fn macros_accept_what_is_documented() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
}

#[test]
#[cfg_attr(miri, ignore = "runs a compiler")]
fn errors_point_at_the_right_token() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}
