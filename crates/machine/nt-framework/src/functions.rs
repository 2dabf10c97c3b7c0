//! The table of functions: every function name of the framework by its index, and which of them are implemented.

use std::collections::HashMap;

use nt_kernel::Entry;
use nt_verifier::routine::Routine;

use crate::children::{self, pdo};
use crate::device::{self, control, create, file, init, interface, property, query_interface};
use crate::object::life;
use crate::pnp::{idle, policy, requirements, resource_list};
use crate::queue::{self, irp_dispatch, preprocess, retrieve};
use crate::request::{self, cancel, complete, user_buffers};
use crate::target::{self, format, send};
use crate::{driver, interrupt, locks, memory, misc, registry, sync, timer, wmi, work};

/// The kit's list of functions, in the order of their indices. Each line is `index Name`, optionally with `: types`.
const TABLE: &str = include_str!("functions.txt");

static FAMILIES: [&[Routine]; 42] = [
    cancel::FUNCTIONS,
    children::FUNCTIONS,
    complete::FUNCTIONS,
    control::FUNCTIONS,
    create::FUNCTIONS,
    device::FUNCTIONS,
    device::state::FUNCTIONS,
    driver::FUNCTIONS,
    file::FUNCTIONS,
    format::FUNCTIONS,
    idle::FUNCTIONS,
    init::FUNCTIONS,
    interface::FUNCTIONS,
    interrupt::FUNCTIONS,
    irp_dispatch::FUNCTIONS,
    life::FUNCTIONS,
    locks::FUNCTIONS,
    memory::FUNCTIONS,
    misc::FUNCTIONS,
    pdo::FUNCTIONS,
    policy::FUNCTIONS,
    preprocess::FUNCTIONS,
    property::FUNCTIONS,
    query_interface::FUNCTIONS,
    queue::FUNCTIONS,
    queue::create::FUNCTIONS,
    queue::state::FUNCTIONS,
    registry::FUNCTIONS,
    request::FUNCTIONS,
    request::retrieve::FUNCTIONS,
    requirements::FUNCTIONS,
    resource_list::FUNCTIONS,
    retrieve::FUNCTIONS,
    send::FUNCTIONS,
    sync::FUNCTIONS,
    target::FUNCTIONS,
    target::open::FUNCTIONS,
    target::state::FUNCTIONS,
    timer::FUNCTIONS,
    user_buffers::FUNCTIONS,
    wmi::FUNCTIONS,
    work::FUNCTIONS,
];

/// Returns all functions in the order of their indices.
pub fn functions() -> impl Iterator<Item = Entry> {
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
    use super::{FAMILIES, TABLE, functions, names};
    use nt_verifier::routine::{Kind, Signature};

    /// Returns whether a kind is that of a type in the kit's list.
    fn agrees(kind: Kind, of: &str) -> bool {
        match of {
            "VOID" => kind == Kind::Void,
            "NTSTATUS" => kind == Kind::Status,
            "BOOLEAN" => kind == Kind::Boolean,
            "UCHAR" | "KIRQL" => kind == Kind::Unsigned(1),
            "CCHAR" | "KPROCESSOR_MODE" => kind == Kind::Signed(1),
            "USHORT" => kind == Kind::Unsigned(2),
            "ULONG" | "ACCESS_MASK" | "DEVICE_TYPE" | "LCID" => kind == Kind::Unsigned(4),
            "LONG" | "POOL_TYPE" | "INTERFACE_TYPE" | "POWER_ACTION" | "DEVICE_REGISTRY_PROPERTY" => {
                kind == Kind::Signed(4)
            }
            "LONGLONG" => kind == Kind::Signed(8),
            "size_t" | "ULONG_PTR" | "ULONGLONG" | "KAFFINITY" => kind == Kind::Unsigned(8),
            "WDFCONTEXT" | "LPCGUID" => kind == Kind::Pointer,
            // Drivers cannot look into `WDFDEVICE_INIT`: here it is an object with a handle, too.
            "HANDLE" | "PWDFDEVICE_INIT" => kind == Kind::Handle,
            _ if of.ends_with('*') || of.starts_with("PFN_") || of.starts_with('P') => kind == Kind::Pointer,
            _ if of.starts_with("WDF_") => kind == Kind::Signed(4),
            _ if of.starts_with("WDF") => kind == Kind::Handle,
            _ => panic!("the type {of} has no kind"),
        }
    }

    fn agree(ours: Signature, types: &str) -> bool {
        let (parameters, result) = types.split_once("->").expect("a result");
        let parameters: Vec<&str> = parameters.split(',').map(str::trim).filter(|of| !of.is_empty()).collect();
        ours.parameters().count() == parameters.len()
            && ours.parameters().zip(parameters).all(|(kind, of)| agrees(kind, of))
            && agrees(ours.result, result.trim())
    }

    #[test]
    fn signatures_agree_with_the_kits_list() {
        let mut wrong = Vec::new();
        for function in FAMILIES.iter().copied().flatten() {
            let ours = function.signature;
            let line = TABLE.lines().find_map(|line| line.split_once(&format!(" {}:", function.name)));
            let (_, types) = line.unwrap_or_else(|| panic!("the list has no types for {}", function.name));
            if !agree(ours, types) {
                wrong.push(format!("{}: {ours}, but the list has {types}", function.name));
            }
        }
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn names_have_their_public_indices() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.len(), 458);
        assert_eq!(all[75], "WdfDeviceCreate");
        assert_eq!(all[116], "WdfDriverCreate");
        assert_eq!(all[202], "WdfObjectGetTypedContextWorker");
    }

    #[test]
    fn every_function_that_is_here_is_in_the_table_once() {
        let here = functions().filter(|entry| entry.routine.is_some()).count();
        assert_eq!(here, FAMILIES.iter().map(|family| family.len()).sum::<usize>());
    }
}
