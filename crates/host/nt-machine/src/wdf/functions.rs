//! The table of functions: every function name of the framework by its index, and which of them are implemented.

use std::collections::HashMap;

use super::{
    cancel, children, device, driver, file, init, interrupt, locks, memory, misc, object, preprocess, property,
    query_interface, queue, registry, request, send, sync, target, timer, turn, wmi, work,
};
use crate::kernel::Entry;
use crate::routine::Routine;

/// The kit's list of functions, in the order of their indices. Each line is `index Name`, optionally with `: types`.
const TABLE: &str = include_str!("functions.txt");

static FAMILIES: [&[Routine]; 24] = [
    cancel::FUNCTIONS,
    children::FUNCTIONS,
    device::FUNCTIONS,
    driver::FUNCTIONS,
    file::FUNCTIONS,
    init::FUNCTIONS,
    interrupt::FUNCTIONS,
    locks::FUNCTIONS,
    memory::FUNCTIONS,
    misc::FUNCTIONS,
    object::FUNCTIONS,
    preprocess::FUNCTIONS,
    property::FUNCTIONS,
    query_interface::FUNCTIONS,
    queue::FUNCTIONS,
    registry::FUNCTIONS,
    request::FUNCTIONS,
    send::FUNCTIONS,
    sync::FUNCTIONS,
    target::FUNCTIONS,
    timer::FUNCTIONS,
    turn::FUNCTIONS,
    wmi::FUNCTIONS,
    work::FUNCTIONS,
];

/// Returns all functions in the order of their indices.
pub(crate) fn functions() -> impl Iterator<Item = Entry> {
    let known: HashMap<&str, &'static Routine> =
        FAMILIES.iter().copied().flatten().map(|function| (function.name, function)).collect();
    names().map(move |name| Entry { name, routine: known.get(name).copied() })
}

fn names() -> impl Iterator<Item = &'static str> {
    let lines = TABLE.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().nth(1).unwrap_or(line).trim_end_matches(':'))
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, functions, names};

    #[test]
    fn names_have_their_public_indices() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.len(), 458);
        assert_eq!(
            (all[75], all[116], all[202]),
            ("WdfDeviceCreate", "WdfDriverCreate", "WdfObjectGetTypedContextWorker")
        );
    }

    #[test]
    fn every_function_that_is_here_is_in_the_table_once() {
        let here = functions().filter(|entry| entry.routine.is_some()).count();
        assert_eq!(here, FAMILIES.iter().map(|family| family.len()).sum::<usize>());
    }
}
