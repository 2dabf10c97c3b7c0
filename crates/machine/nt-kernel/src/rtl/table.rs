//! Generic tables: the driver compares and allocates elements; the kernel keeps them in order.
//!
//! The links before each element are opaque to a driver. Here they stay zero, and the host keeps the order, by the
//! address of the table.

use std::cmp::Ordering;

use nt_processor::cpu::thread;
use nt_processor::layout::{RTL_AVL_TABLE, RTL_GENERIC_TABLE};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{ANY, APC, DISPATCH, Out, routines};
use windows_constants::runtime_library::{
    GenericGreaterThan, GenericLessThan, TableEmptyTree, TableFoundNode, TableInsertAsLeft, TableInsertAsRight,
};

use crate::{call_back, kernel, lock};

/// The size of the links before an element in bytes: `RTL_BALANCED_LINKS`, or `RTL_SPLAY_LINKS` and a list entry.
const BALANCED: u64 = 0x20;
const SPLAYED: u64 = 0x28;

/// The elements of all tables, by the addresses of the tables.
pub(crate) type Tables = SortedMap<u64, Elements>;

/// The nodes of a table in the order of the driver's comparison, and in the order in which they were inserted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elements {
    sorted: Vec<u64>,
    inserted: Vec<u64>,
}

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

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn RtlInitializeGenericTableAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        compare: GuestPtr<Code>,
        allocate: GuestPtr<Code>,
        free: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        table.zero()?;
        table.CompareRoutine().write(compare)?;
        table.AllocateRoutine().write(allocate)?;
        table.FreeRoutine().write(free)?;
        table.TableContext().write(context.address())?;
        lock(&kernel().tables).remove(&table.address());
        Ok(())
    }

    #[irql(DISPATCH)]
    fn RtlInitializeGenericTable(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        compare: GuestPtr<Code>,
        allocate: GuestPtr<Code>,
        free: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        table.zero()?;
        table.InsertOrderList().initialize()?;
        table.CompareRoutine().write(compare)?;
        table.AllocateRoutine().write(allocate)?;
        table.FreeRoutine().write(free)?;
        table.TableContext().write(context.address())?;
        lock(&kernel().tables).remove(&table.address());
        Ok(())
    }

    #[irql(APC)]
    fn RtlInsertElementGenericTableAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        buffer: GuestPtr<u8>,
        size: u32,
        is_new: Out<u8>,
    ) -> Result<GuestPtr<u8>, Fault> {
        insert(balanced(table)?, buffer, size, is_new)
    }

    #[irql(APC)]
    fn RtlInsertElementGenericTable(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        buffer: GuestPtr<u8>,
        size: u32,
        is_new: Out<u8>,
    ) -> Result<GuestPtr<u8>, Fault> {
        insert(splayed(table)?, buffer, size, is_new)
    }

    #[irql(APC)]
    fn RtlDeleteElementGenericTableAvl(table: GuestPtr<RTL_AVL_TABLE>, buffer: GuestPtr<u8>) -> Result<bool, Fault> {
        delete(balanced(table)?, buffer)
    }

    #[irql(APC)]
    fn RtlDeleteElementGenericTable(table: GuestPtr<RTL_GENERIC_TABLE>, buffer: GuestPtr<u8>) -> Result<bool, Fault> {
        delete(splayed(table)?, buffer)
    }

    #[irql(APC)]
    fn RtlLookupElementGenericTableAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        buffer: GuestPtr<u8>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        Ok(look_up(balanced(table)?, buffer))
    }

    #[irql(APC)]
    fn RtlLookupElementGenericTable(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        buffer: GuestPtr<u8>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        Ok(look_up(splayed(table)?, buffer))
    }

    #[irql(APC)]
    fn RtlLookupElementGenericTableFullAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        buffer: GuestPtr<u8>,
        node: Out<u64>,
        result: Out<u32>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        look_up_full(balanced(table)?, buffer, node, result)
    }

    #[irql(APC)]
    fn RtlLookupElementGenericTableFull(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        buffer: GuestPtr<u8>,
        node: Out<u64>,
        result: Out<u32>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        look_up_full(splayed(table)?, buffer, node, result)
    }

    #[irql(APC)]
    fn RtlEnumerateGenericTableAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        restart: bool,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        let cursor = table.RestartKey();
        if restart {
            cursor.write(0)?;
        }
        next(balanced(table)?, cursor)
    }

    #[irql(APC)]
    fn RtlEnumerateGenericTable(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        restart: bool,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        let cursor = table.OrderedPointer();
        if restart {
            cursor.write(0)?;
        }
        next(splayed(table)?, cursor)
    }

    #[irql(APC)]
    fn RtlEnumerateGenericTableWithoutSplayingAvl(
        table: GuestPtr<RTL_AVL_TABLE>,
        key: GuestPtr<u64>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        next(balanced(table)?, key)
    }

    #[irql(APC)]
    fn RtlEnumerateGenericTableWithoutSplaying(
        table: GuestPtr<RTL_GENERIC_TABLE>,
        key: GuestPtr<u64>,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        next(splayed(table)?, key)
    }

    #[irql(ANY)]
    fn RtlGetElementGenericTableAvl(table: GuestPtr<RTL_AVL_TABLE>, index: u32) -> Option<GuestPtr<u8>> {
        at_index(&elements(table.address()), index, BALANCED)
    }

    /// Its page: returns "the Ith element inserted".
    #[irql(ANY)]
    fn RtlGetElementGenericTable(table: GuestPtr<RTL_GENERIC_TABLE>, index: u32) -> Option<GuestPtr<u8>> {
        let tables = lock(&kernel().tables);
        tables.get(&table.address()).and_then(|elements| at_index(&elements.inserted, index, SPLAYED))
    }

    #[irql(APC)]
    fn RtlNumberGenericTableElementsAvl(table: GuestPtr<RTL_AVL_TABLE>) -> u32 {
        elements(table.address()).len() as u32
    }

    #[irql(APC)]
    fn RtlNumberGenericTableElements(table: GuestPtr<RTL_GENERIC_TABLE>) -> u32 {
        elements(table.address()).len() as u32
    }

    #[irql(APC)]
    fn RtlIsGenericTableEmptyAvl(table: GuestPtr<RTL_AVL_TABLE>) -> bool {
        elements(table.address()).is_empty()
    }

    #[irql(APC)]
    fn RtlIsGenericTableEmpty(table: GuestPtr<RTL_GENERIC_TABLE>) -> bool {
        elements(table.address()).is_empty()
    }
}

fn balanced(table: GuestPtr<RTL_AVL_TABLE>) -> Result<Table, Fault> {
    Ok(Table {
        address: table.address(),
        links: BALANCED,
        compare: table.CompareRoutine().read()?,
        allocate: table.AllocateRoutine().read()?,
        free: table.FreeRoutine().read()?,
        count: table.NumberGenericTableElements(),
    })
}

fn splayed(table: GuestPtr<RTL_GENERIC_TABLE>) -> Result<Table, Fault> {
    Ok(Table {
        address: table.address(),
        links: SPLAYED,
        compare: table.CompareRoutine().read()?,
        allocate: table.AllocateRoutine().read()?,
        free: table.FreeRoutine().read()?,
        count: table.NumberGenericTableElements(),
    })
}

/// Returns the addresses of a table's nodes, in order.
fn elements(table: u64) -> Vec<u64> {
    lock(&kernel().tables).get(&table).map(|elements| elements.sorted.clone()).unwrap_or_default()
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
                GenericLessThan => Ordering::Greater,
                GenericGreaterThan => Ordering::Less,
                _ => Ordering::Equal,
            }
        });
        (nodes, found)
    }

    fn counted(&self, change: impl FnOnce(&mut Elements)) -> Result<(), Fault> {
        let count = {
            let mut tables = lock(&kernel().tables);
            let elements = tables.get_or_default(self.address);
            change(elements);
            elements.sorted.len() as u32
        };
        self.count.write(count)
    }
}

fn insert(table: Table, buffer: GuestPtr<u8>, size: u32, is_new: Out<u8>) -> Result<GuestPtr<u8>, Fault> {
    let (nodes, found) = table.search(buffer);
    let size = u64::from(size);
    match found {
        Ok(position) => {
            is_new.set_if_wanted(0)?;
            Ok(element(at(&nodes, position), table.links))
        }
        Err(position) => {
            let node = run("AllocateRoutine", table.allocate, &[table.address, size + table.links]);
            if node == 0 {
                is_new.set_if_wanted(0)?;
                return Ok(GuestPtr::NULL);
            }
            GuestPtr::<u8>::new(node).array(table.links).fill(0)?;
            let place = element(node, table.links);
            place.array(size).copy_from(buffer)?;
            table.counted(|elements| {
                elements.sorted.insert(position.min(elements.sorted.len()), node);
                elements.inserted.push(node);
            })?;
            is_new.set_if_wanted(1)?;
            Ok(place)
        }
    }
}

fn delete(table: Table, buffer: GuestPtr<u8>) -> Result<bool, Fault> {
    let (nodes, Ok(position)) = table.search(buffer) else { return Ok(false) };
    let node = at(&nodes, position);
    table.counted(|elements| {
        elements.sorted.retain(|known| *known != node);
        elements.inserted.retain(|known| *known != node);
    })?;
    run("FreeRoutine", table.free, &[table.address, node]);
    Ok(true)
}

fn look_up(table: Table, buffer: GuestPtr<u8>) -> Option<GuestPtr<u8>> {
    let (nodes, found) = table.search(buffer);
    found.ok().map(|position| element(at(&nodes, position), table.links))
}

/// Looks up an element, or where it would be inserted: to the right of the next smaller node, or to the left of the
/// smallest one.
fn look_up_full(
    table: Table,
    buffer: GuestPtr<u8>,
    node: Out<u64>,
    result: Out<u32>,
) -> Result<Option<GuestPtr<u8>>, Fault> {
    let (nodes, found) = table.search(buffer);
    let near = found.unwrap_or_else(|position| position.saturating_sub(1));
    node.set(nodes.get(near).copied().unwrap_or_default())?;
    result.set(match found {
        Ok(_) => TableFoundNode,
        Err(_) if nodes.is_empty() => TableEmptyTree,
        Err(0) => TableInsertAsLeft,
        Err(_) => TableInsertAsRight,
    })?;
    Ok(found.ok().map(|position| element(at(&nodes, position), table.links)))
}

/// Returns the element after the one at the cursor, and moves the cursor to it. The cursor is NULL at the start.
fn next(table: Table, cursor: GuestPtr<u64>) -> Result<Option<GuestPtr<u8>>, Fault> {
    let nodes = elements(table.address);
    let last = cursor.read()?;
    let position = if last == 0 { Some(0) } else { nodes.iter().position(|node| *node == last).map(|at| at + 1) };
    let Some(node) = position.and_then(|position| nodes.get(position)) else { return Ok(None) };
    cursor.write(*node)?;
    Ok(Some(element(*node, table.links)))
}

fn at_index(nodes: &[u64], index: u32, links: u64) -> Option<GuestPtr<u8>> {
    nodes.get(index as usize).map(|node| element(*node, links))
}
