//! The table of classes matches the types: each type implements what its row says.

use std::any::type_name;
use std::collections::BTreeSet;

use etw_session::info::{
    self, BinaryTracking, ContextRegisters, DisallowList, DisallowedProviders, Enumerable, GroupInstances, Information,
    LbrConfiguration, LbrEvents, MaxPmcCounters, MaxSessions, OfMachine, OfSession, PeriodicCapture,
    PeriodicCaptureLimits, PmcCounters, PmcEvents, PmcOwners, PmcSessions, Privilege, ProcessProviders,
    ProcessingVersion, ProfileSources, ProfileSourcesInUse, ProviderGroups, ProviderInstances, Queryable,
    RegisteredProviders, SampleInterval, Settable, StackCaching, StackTracing, StreamCount, SystemFlags,
    UnifiedStackCaching,
};

/// Class, type, direction, and whether it belongs to a session.
type Use = (u32, String, &'static str, bool);

fn name<T>() -> String {
    type_name::<T>().rsplit("::").next().unwrap_or_default().to_owned()
}

fn is_of_session<S: 'static>() -> bool {
    let scope = type_name::<S>();
    assert!(scope == type_name::<OfSession>() || scope == type_name::<OfMachine>());
    scope == type_name::<OfSession>()
}

fn set<T: Settable<Scope: 'static>>() -> Use {
    (T::CLASS.as_int(), name::<T>(), "set", is_of_session::<T::Scope>())
}

fn query<T: Queryable<Scope: 'static>>() -> Use {
    (T::CLASS.as_int(), name::<T>(), "query", is_of_session::<T::Scope>())
}

fn enumerate<T: Enumerable<Scope: 'static>>() -> Use {
    (T::CLASS.as_int(), name::<T>(), "enumerate", is_of_session::<T::Scope>())
}

#[test]
fn every_row_of_the_table_is_a_type_and_every_type_a_row() {
    let implemented = BTreeSet::from([
        enumerate::<RegisteredProviders>(),
        enumerate::<ProviderInstances>(),
        enumerate::<ProcessProviders>(),
        set::<StackTracing>(),
        query::<StackTracing>(),
        set::<SystemFlags>(),
        query::<SystemFlags>(),
        set::<SampleInterval>(),
        query::<SampleInterval>(),
        set::<ProfileSourcesInUse>(),
        query::<ProfileSources>(),
        set::<PmcEvents>(),
        set::<PmcCounters>(),
        set::<DisallowList>(),
        query::<ProcessingVersion>(),
        enumerate::<ProviderGroups>(),
        enumerate::<GroupInstances>(),
        query::<DisallowedProviders>(),
        set::<PeriodicCapture>(),
        query::<PeriodicCaptureLimits>(),
        set::<BinaryTracking>(),
        query::<MaxSessions>(),
        enumerate::<MaxSessions>(),
        set::<LbrConfiguration>(),
        set::<LbrEvents>(),
        query::<MaxPmcCounters>(),
        query::<StreamCount>(),
        set::<StackCaching>(),
        query::<PmcOwners>(),
        set::<UnifiedStackCaching>(),
        query::<PmcSessions>(),
        set::<ContextRegisters>(),
    ]);
    let in_table: BTreeSet<Use> = info::all()
        .iter()
        .flat_map(|facts| {
            let of_session = facts.handle().contains("session");
            let direction = move |direction| (facts.class.as_int(), facts.type_name.to_owned(), direction, of_session);
            facts.directions().into_iter().map(direction)
        })
        .collect();
    assert_eq!(in_table, implemented);
}

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
