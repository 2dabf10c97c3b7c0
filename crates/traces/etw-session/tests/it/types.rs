//! Privileges of the types. That each type implements what its row of the table says is checked by the compiler.

use etw_session::info::{
    BinaryTracking, ContextRegisters, DisallowList, Information, LbrConfiguration, LbrEvents, PeriodicCapture,
    PmcCounters, PmcEvents, Privilege, ProfileSourcesInUse, SampleInterval, Settable, StackCaching, StackTracing,
    SystemFlags, UnifiedStackCaching,
};

/// The machine's profiler needs the profile privilege. For some other classes no document requires it, but other tools
/// enable it, so this crate tries to.
#[test]
fn privileges_are_requested_where_they_matter() {
    fn privilege<T: Settable>() -> (u32, Privilege) {
        (<T as Information>::CLASS.as_int(), T::PRIVILEGE)
    }
    let all = [
        privilege::<StackTracing>(),
        privilege::<SystemFlags>(),
        privilege::<SampleInterval>(),
        privilege::<ProfileSourcesInUse>(),
        privilege::<PmcEvents>(),
        privilege::<PmcCounters>(),
        privilege::<DisallowList>(),
        privilege::<PeriodicCapture>(),
        privilege::<BinaryTracking>(),
        privilege::<LbrConfiguration>(),
        privilege::<LbrEvents>(),
        privilege::<StackCaching>(),
        privilege::<UnifiedStackCaching>(),
        privilege::<ContextRegisters>(),
    ];
    let of = |asked: Privilege| -> Vec<u32> {
        all.iter().filter(|(_, privilege)| *privilege == asked).map(|(class, _)| *class).collect()
    };
    assert_eq!(of(Privilege::Needed), [5, 6]);
    assert_eq!(of(Privilege::Helps), [3, 4, 8, 9, 20, 21, 28]);
}
