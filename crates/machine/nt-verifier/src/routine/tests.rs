//! Declared routines: how they read their arguments, and their signatures.

use etw_types::NtStatus;
use nt_processor::memory::{Fault, GuestPtr, GuestSlice};

use super::{
    Call, DISPATCH, Fails, Ignored, Irql, NO_RESOURCES, Outcome, PASSIVE, Rest, Routine, fail, functions, routines,
};

/// What is in the bits of a slot above its argument.
const GARBAGE: u64 = 0xFFFF_FFFF_A5A5_A500;

routines! { ROUTINES;
    #[irql(PASSIVE)]
    fn Narrow(a: u8, b: u16, c: u32, d: bool, e: Irql) -> u64 {
        u64::from(a) + u64::from(b) + u64::from(c) + u64::from(d) + u64::from(e.0)
    }

    #[irql(PASSIVE), keeps, leavable]
    fn Signed(a: i8, b: i16, c: i32, d: i64) -> i64 {
        i64::from(a) + i64::from(b) + i64::from(c) + d
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    #[limit(if remove { PASSIVE } else { DISPATCH })]
    #[undoes(remove)]
    fn Register(&call, _routine: Ignored<GuestPtr<u8>>, buffer: GuestSlice<u8>, remove: bool) -> Outcome {
        if buffer.len() != 3 || remove || call.name() != "Register" { fail(NtStatus::InvalidParameter) } else { Ok(()) }
    }

    #[irql(PASSIVE)]
    fn Print(_format: GuestPtr<u8>, arguments: Rest) -> Result<(), Fault> {
        assert_eq!(arguments.0.read()?, 7);
        Ok(())
    }
}

functions! { FUNCTIONS;
    #[irql(PASSIVE)]
    fn Function(&_call, value: u32) -> u32 {
        value
    }
}

fn run(routine: &Routine, slots: &[u64]) -> Result<u64, Fault> {
    routine.run(&Call::new(routine.name, GuestPtr::new(slots.as_ptr().expose_provenance() as u64), 0))
}

fn find(name: &str) -> &'static Routine {
    ROUTINES.iter().find(|routine| routine.name == name).expect("a declared routine")
}

#[test]
fn bits_above_an_argument_do_not_count() {
    let slots = [1, 2, 3, 0, 4].map(|value| GARBAGE | value);
    assert_eq!(run(find("Narrow"), &slots), Ok(1 + 0xA502 + 0xA5A5_A503 + 4));
    let minus_one = [0xFF, 0xFFFF, 0xFFFF_FFFF].map(|value| 0x0123_4567_0000_0000 | value);
    let [a, b, c] = minus_one;
    assert_eq!(run(find("Signed"), &[a, b, c, u64::MAX]), Ok(4_u64.wrapping_neg()));
}

#[test]
fn a_counted_buffer_takes_two_slots_and_an_ignored_argument_its_own() {
    let length = 0xABCD_0000_0000_0003;
    assert_eq!(run(find("Register"), &[1, 2, length, GARBAGE]), Ok(0));
    let invalid = Ok(NtStatus::InvalidParameter.as_int().into());
    assert_eq!(run(find("Register"), &[1, 2, length, GARBAGE | 1]), invalid);
    assert_eq!(run(find("Register"), &[1, 2, length + 1, GARBAGE]), invalid);
    assert_eq!(run(find("Print"), &[0, 7]), Ok(0));
}

#[test]
fn the_globals_of_the_framework_are_implicit() {
    let [function] = FUNCTIONS else { panic!("one function") };
    assert_eq!(run(function, &[1, GARBAGE | 2]), Ok(0xA5A5_A502));
    assert_eq!(function.signature.to_string(), "u32 -> u32");
}

#[test]
fn signatures_and_properties_follow_from_the_declaration() {
    let signature = |name| find(name).signature.to_string();
    assert_eq!(signature("Narrow"), "u8, u16, u32, boolean, u8 -> u64");
    assert_eq!(signature("Signed"), "i8, i16, i32, i64 -> i64");
    assert_eq!(signature("Register"), "pointer, pointer, u32, boolean -> status");
    assert_eq!(signature("Print"), "pointer, ... -> void");
    assert_eq!(find("Register").fails, Fails::Status(NO_RESOURCES));
    assert_eq!(find("Narrow").fails, Fails::Never);
    assert!(find("Signed").keeps);
    assert!(find("Signed").leavable);
    assert!(!find("Narrow").keeps);
    let slots = |remove: u64| [0, 0, 0, remove];
    let can_fail = |slots: &[u64]| {
        find("Register").can_fail(&Call::new("", GuestPtr::new(slots.as_ptr().expose_provenance() as u64), 0))
    };
    assert!(can_fail(&slots(0)));
    assert!(!can_fail(&slots(1)));
}

#[test]
fn the_highest_irql_of_a_call_can_depend_on_its_arguments() {
    let limit = |name, slots: &[u64]| {
        find(name).limit(&Call::new(name, GuestPtr::new(slots.as_ptr().expose_provenance() as u64), 0))
    };
    assert_eq!(limit("Register", &[0, 0, 0, 0]), DISPATCH);
    assert_eq!(limit("Register", &[0, 0, 0, GARBAGE | 1]), PASSIVE);
    assert_eq!(limit("Narrow", &[]), PASSIVE);
}
