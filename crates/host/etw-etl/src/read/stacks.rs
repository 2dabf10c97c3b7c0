//! What the stack keys of a file stand for.

use std::collections::HashMap;
use std::sync::Arc;

use super::records::Buffer;
use crate::format::stack::definition;

/// Most memory for definitions, in bytes, about. Keys beyond it stay keys.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// What a definition costs besides its addresses.
const COST: usize = 64;

/// The definitions of a file.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    by_key: HashMap<u64, Arc<[u64]>>,
    held: usize,
}

impl Stacks {
    /// Takes the definitions of a buffer. A key that is defined twice keeps its first meaning.
    pub(crate) fn collect(&mut self, buffer: &Buffer) {
        for slot in &buffer.slots {
            let Some((key, frames)) = definition(slot.layout, buffer.record(*slot)) else { continue };
            let cost = COST + frames.len() * 8;
            if self.held + cost <= MAX_MEMORY && !self.by_key.contains_key(&key) {
                self.held += cost;
                self.by_key.insert(key, frames.into());
            }
        }
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Arc<[u64]>> {
        self.by_key.get(&key)
    }
}
