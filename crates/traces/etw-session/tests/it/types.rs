//! Privileges of the classes. What a declaration says about its type is checked by the compiler.

use etw_session::info::{self, Privilege};

/// The machine's profiler needs the profile privilege. For some other classes no document requires it, but other tools
/// enable it, so this project tries to.
#[test]
fn privileges_are_requested_where_they_matter() {
    let classes = |wanted: Privilege| -> Vec<u32> {
        let classes = info::all().iter().filter(|facts| facts.set.is_some_and(|set| set.privilege == wanted));
        classes.map(|facts| facts.class.as_int()).collect()
    };
    assert_eq!(classes(Privilege::Needed), [5, 6]);
    assert_eq!(classes(Privilege::Helps), [3, 4, 8, 9, 20, 21, 28]);
}
