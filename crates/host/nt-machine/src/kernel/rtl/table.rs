//! Generic tables: the driver compares and allocates elements; the kernel keeps them in order.
//!
//! The links before each element are opaque to a driver. Here they stay zero, and the host keeps the order, by the
//! address of the table.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::cpu::thread;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{RTL_AVL_TABLE, RTL_GENERIC_TABLE};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{APC, Call, Outcome, Routine, done, routine};

/// The size of the links before an element in bytes: `RTL_BALANCED_LINKS`, or `RTL_SPLAY_LINKS` and a list entry.
const BALANCED: u64 = 0x20;
const SPLAYED: u64 = 0x28;
/// `GenericLessThan` and `GenericGreaterThan`; `GenericEqual` is 2.
const LESS: u64 = 0;
const GREATER: u64 = 1;
/// `TableEmptyTree`, `TableFoundNode`, `TableInsertAsLeft`, `TableInsertAsRight`.
const EMPTY: u32 = 0;
const FOUND: u32 = 1;
const LEFT: u32 = 2;
const RIGHT: u32 = 3;

/// The sorted elements of all tables, by the addresses of the tables.
pub(crate) type Tables = BTreeMap<u64, Vec<u64>>;

/// The members that the routines need of a table of either kind.
#[derive(Clone, Copy)]
struct Table {
    address: u64,
    links: u64,
    compare: GuestPtr<Code>,
    allocate: GuestPtr<Code>,
    free: GuestPtr<Code>,
    count: GuestPtr<u32>,
}

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: table, routines to compare, allocate and free, context.
    routine!("RtlInitializeGenericTableAvl", APC, |call| {
        let table = call.ptr::<RTL_AVL_TABLE>(0);
        table.zero()?;
        table.CompareRoutine().write(call.ptr(1))?;
        table.AllocateRoutine().write(call.ptr(2))?;
        table.FreeRoutine().write(call.ptr(3))?;
        table.TableContext().write(call.arg(4))?;
        lock(&kernel().tables).remove(&call.arg(0));
        done(())
    }),
    routine!("RtlInitializeGenericTable", APC, |call| {
        let table = call.ptr::<RTL_GENERIC_TABLE>(0);
        table.zero()?;
        table.InsertOrderList().initialize()?;
        table.CompareRoutine().write(call.ptr(1))?;
        table.AllocateRoutine().write(call.ptr(2))?;
        table.FreeRoutine().write(call.ptr(3))?;
        table.TableContext().write(call.arg(4))?;
        lock(&kernel().tables).remove(&call.arg(0));
        done(())
    }),
    routine!("RtlInsertElementGenericTableAvl", APC, |call| insert(call, balanced(call)?)),
    routine!("RtlInsertElementGenericTable", APC, |call| insert(call, splayed(call)?)),
    routine!("RtlDeleteElementGenericTableAvl", APC, |call| delete(call, balanced(call)?)),
    routine!("RtlDeleteElementGenericTable", APC, |call| delete(call, splayed(call)?)),
    routine!("RtlLookupElementGenericTableAvl", APC, |call| done(look_up(call, balanced(call)?))),
    routine!("RtlLookupElementGenericTable", APC, |call| done(look_up(call, splayed(call)?))),
    // Arguments: table, buffer, pointer to the node, pointer to the result of the search.
    routine!("RtlLookupElementGenericTableFullAvl", APC, |call| look_up_full(call, balanced(call)?)),
    routine!("RtlLookupElementGenericTableFull", APC, |call| look_up_full(call, splayed(call)?)),
    routine!("RtlEnumerateGenericTableAvl", APC, |call| enumerate(call, balanced(call)?)),
    routine!("RtlEnumerateGenericTable", APC, |call| enumerate(call, splayed(call)?)),
    routine!("RtlEnumerateGenericTableWithoutSplayingAvl", APC, |call| enumerate_from(call, balanced(call)?)),
    routine!("RtlEnumerateGenericTableWithoutSplaying", APC, |call| enumerate_from(call, splayed(call)?)),
    routine!("RtlGetElementGenericTableAvl", APC, |call| get(call, BALANCED)),
    routine!("RtlGetElementGenericTable", APC, |call| get(call, SPLAYED)),
    routine!("RtlNumberGenericTableElementsAvl", APC, |call| elements(call.arg(0)).len() as u32),
    routine!("RtlNumberGenericTableElements", APC, |call| elements(call.arg(0)).len() as u32),
    routine!("RtlIsGenericTableEmptyAvl", APC, |call| elements(call.arg(0)).is_empty()),
    routine!("RtlIsGenericTableEmpty", APC, |call| elements(call.arg(0)).is_empty()),
];

fn balanced(call: &Call) -> Result<Table, Fault> {
    let table = call.ptr::<RTL_AVL_TABLE>(0);
    Ok(Table {
        address: call.arg(0),
        links: BALANCED,
        compare: table.CompareRoutine().read()?,
        allocate: table.AllocateRoutine().read()?,
        free: table.FreeRoutine().read()?,
        count: table.NumberGenericTableElements(),
    })
}

fn splayed(call: &Call) -> Result<Table, Fault> {
    let table = call.ptr::<RTL_GENERIC_TABLE>(0);
    Ok(Table {
        address: call.arg(0),
        links: SPLAYED,
        compare: table.CompareRoutine().read()?,
        allocate: table.AllocateRoutine().read()?,
        free: table.FreeRoutine().read()?,
        count: table.NumberGenericTableElements(),
    })
}

/// Returns the addresses of a table's nodes, in order.
fn elements(table: u64) -> Vec<u64> {
    lock(&kernel().tables).get(&table).cloned().unwrap_or_default()
}

/// Returns the node at a position that a search returned.
fn at(nodes: &[u64], position: usize) -> u64 {
    nodes.get(position).copied().unwrap_or_default()
}

fn element(node: u64, links: u64) -> GuestPtr<u8> {
    GuestPtr::<u8>::new(node).at(links)
}

/// Calls a routine of the driver.
fn run(what: &'static str, routine: GuestPtr<Code>, arguments: &[u64]) -> u64 {
    call_back(what, thread::irql(), routine, arguments)
}

impl Table {
    /// Searches for an element. Returns the nodes, and the position where the element is or belongs. The table is not
    /// locked while the driver compares.
    fn search(&self, wanted: GuestPtr<u8>) -> (Vec<u64>, Result<usize, usize>) {
        let nodes = elements(self.address);
        let found = nodes.binary_search_by(|node| {
            let arguments = [self.address, wanted.address(), element(*node, self.links).address()];
            match run("CompareRoutine", self.compare, &arguments) & 0xFFFF_FFFF {
                LESS => Ordering::Greater,
                GREATER => Ordering::Less,
                _ => Ordering::Equal,
            }
        });
        (nodes, found)
    }

    fn counted(&self, change: impl FnOnce(&mut Vec<u64>)) -> Result<(), Fault> {
        let count = {
            let mut tables = lock(&kernel().tables);
            let nodes = tables.entry(self.address).or_default();
            change(nodes);
            nodes.len() as u32
        };
        self.count.write(count)
    }
}

/// Arguments: table, buffer, its size, pointer to whether the element is new.
fn insert(call: &Call, table: Table) -> Outcome<GuestPtr<u8>> {
    let (buffer, size) = (call.ptr::<u8>(1), u64::from(call.u32(2)));
    let (nodes, found) = table.search(buffer);
    let is_new = call.ptr::<u8>(3);
    match found {
        Ok(position) => {
            is_new.write_if(0)?;
            Ok(element(at(&nodes, position), table.links))
        }
        Err(position) => {
            let node = run("AllocateRoutine", table.allocate, &[table.address, size + table.links]);
            if node == 0 {
                is_new.write_if(0)?;
                return Ok(GuestPtr::NULL);
            }
            GuestPtr::<u8>::new(node).array(table.links).fill(0)?;
            let place = element(node, table.links);
            place.array(size).copy_from(buffer)?;
            table.counted(|nodes| nodes.insert(position.min(nodes.len()), node))?;
            is_new.write_if(1)?;
            Ok(place)
        }
    }
}

fn delete(call: &Call, table: Table) -> Outcome<bool> {
    let (nodes, Ok(position)) = table.search(call.ptr(1)) else { return Ok(false) };
    let node = at(&nodes, position);
    table.counted(|nodes| nodes.retain(|known| *known != node))?;
    run("FreeRoutine", table.free, &[table.address, node]);
    Ok(true)
}

fn look_up(call: &Call, table: Table) -> Option<GuestPtr<u8>> {
    let (nodes, found) = table.search(call.ptr(1));
    found.ok().map(|position| element(at(&nodes, position), table.links))
}

/// Looks up an element, or where it would be inserted: to the right of the next smaller node, or to the left of the
/// smallest one.
fn look_up_full(call: &Call, table: Table) -> Outcome<Option<GuestPtr<u8>>> {
    let (nodes, found) = table.search(call.ptr(1));
    let near = found.unwrap_or_else(|position| position.saturating_sub(1));
    call.ptr(2).write(nodes.get(near).copied().unwrap_or_default())?;
    let result = match found {
        Ok(_) => FOUND,
        Err(_) if nodes.is_empty() => EMPTY,
        Err(0) => LEFT,
        Err(_) => RIGHT,
    };
    call.ptr(3).write(result)?;
    Ok(found.ok().map(|position| element(at(&nodes, position), table.links)))
}

/// Arguments: table, whether to restart. The position is stored in a member of the table.
fn enumerate(call: &Call, table: Table) -> Outcome<Option<GuestPtr<u8>>> {
    let cursor = call.ptr::<RTL_AVL_TABLE>(0).RestartKey();
    let cursor = if table.links == BALANCED { cursor } else { call.ptr::<RTL_GENERIC_TABLE>(0).OrderedPointer() };
    if call.is(1) {
        cursor.write(0)?;
    }
    next(table, cursor)
}

/// Arguments: table, pointer to the position, which is NULL at the start.
fn enumerate_from(call: &Call, table: Table) -> Outcome<Option<GuestPtr<u8>>> {
    next(table, call.ptr(1))
}

/// Returns the element after the one at the cursor, and moves the cursor to it.
fn next(table: Table, cursor: GuestPtr<u64>) -> Outcome<Option<GuestPtr<u8>>> {
    let (nodes, last) = (elements(table.address), cursor.read()?);
    let position = if last == 0 { Some(0) } else { nodes.iter().position(|node| *node == last).map(|at| at + 1) };
    let Some(node) = position.and_then(|position| nodes.get(position)) else { return Ok(None) };
    cursor.write(*node)?;
    Ok(Some(element(*node, table.links)))
}

/// Arguments: table, index of the element.
fn get(call: &Call, links: u64) -> Option<GuestPtr<u8>> {
    elements(call.arg(0)).get(call.u32(1) as usize).map(|node| element(*node, links))
}
