//! Stacks that a session writes as keys; each stack is kept once.
//!
//! The write path finds a known stack without a lock. Only a new stack, or one whose place another stack has, takes a
//! lock. An event may contain a key only if the trace defines it, so a stack is known only after its definition is in
//! a buffer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use etw_types::Opcode;

use crate::sync::lock;

/// The number of places for known stacks. Our choice, as is `KEPT`, the maximum number of stacks that are kept: the sizes
/// that callers can set have no documented unit.
const PLACES: usize = 4096;
const KEPT: usize = 1 << 16;

/// The frames of a stack.
type Stack = Arc<[u64]>;

/// The stacks of one session.
pub(crate) struct Stacks {
    enabled: AtomicBool,
    /// The first stack of each place. Sessions that write no keys have no places.
    known: OnceLock<Box<[OnceLock<Stack>]>>,
    kept: Mutex<HashMap<u64, Stack>>,
}

impl Stacks {
    pub(super) fn new() -> Self {
        Self { enabled: AtomicBool::new(false), known: OnceLock::new(), kept: Mutex::default() }
    }

    /// Sets whether keys are written instead of stacks.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Release);
    }

    /// Returns the key of a stack, or `None` if keys are not written or the stack has no key. `define` writes the
    /// definition of a new key into the trace; if it returns false, the stack gets no key.
    pub(super) fn key(&self, frames: &[u64], define: impl FnOnce(u64) -> bool) -> Option<u64> {
        if frames.is_empty() || !self.enabled.load(Ordering::Acquire) {
            return None;
        }
        let key = hash(frames);
        self.is_kept(key, frames, define).then_some(key)
    }

    /// Returns whether a stack is kept with this key. A new stack is defined and kept.
    fn is_kept(&self, key: u64, frames: &[u64], define: impl FnOnce(u64) -> bool) -> bool {
        let known = self.known.get_or_init(|| (0..PLACES).map(|_| OnceLock::new()).collect());
        let place = usize::try_from(key % PLACES as u64).ok().and_then(|index| known.get(index));
        if place.and_then(OnceLock::get).is_some_and(|known| **known == *frames) {
            return true;
        }
        let mut kept = lock(&self.kept);
        match kept.get(&key) {
            // If it is not equal, two stacks have the same hash: the event contains the stack itself.
            Some(known) => **known == *frames,
            None if kept.len() >= KEPT || !define(key) => false,
            None => {
                let stack: Stack = frames.into();
                kept.insert(key, Arc::clone(&stack));
                if let Some(place) = place {
                    // It stays as it is if another stack has it.
                    let _ = place.set(stack);
                }
                true
            }
        }
    }

    /// Returns the stack of a key.
    pub(super) fn frames(&self, key: u64) -> Option<Vec<u64>> {
        lock(&self.kept).get(&key).map(|frames| frames.to_vec())
    }

    /// Returns all keys and their stacks.
    pub(super) fn all(&self) -> Vec<(u64, Vec<u64>)> {
        lock(&self.kept).iter().map(|(key, frames)| (*key, frames.to_vec())).collect()
    }
}

/// A set of opcodes, one bit each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Opcodes([u64; 4]);

impl Opcodes {
    pub(crate) fn contains(self, opcode: Opcode) -> bool {
        let opcode = opcode.as_int();
        let word = self.0.get(usize::from(opcode / 64)).copied().unwrap_or_default();
        word >> (opcode % 64) & 1 != 0
    }
}

impl FromIterator<u8> for Opcodes {
    fn from_iter<I: IntoIterator<Item = u8>>(opcodes: I) -> Self {
        let mut set = Self::default();
        for opcode in opcodes {
            if let Some(word) = set.0.get_mut(usize::from(opcode / 64)) {
                *word |= 1 << (opcode % 64);
            }
        }
        set
    }
}

/// FNV-1a over the frames. Never returns zero.
fn hash(frames: &[u64]) -> u64 {
    let hash = frames
        .iter()
        .flat_map(|frame| frame.to_le_bytes())
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::Stacks;

    #[test]
    fn equal_stacks_have_one_key_and_are_found_by_it() {
        let stacks = Stacks::new();
        assert_eq!(stacks.key(&[1, 2], |_| true), None, "off at first");
        stacks.set_enabled(true);
        let key = stacks.key(&[1, 2], |_| true).unwrap();
        assert_eq!(stacks.key(&[1, 2], |_| panic!("it is defined")), Some(key));
        assert_ne!(stacks.key(&[2, 1], |_| true), Some(key));
        assert_eq!(stacks.frames(key), Some(vec![1, 2]));
        assert_eq!(stacks.key(&[], |_| true), None);
        assert_eq!(stacks.all().len(), 2);
    }

    #[test]
    fn a_stack_with_the_hash_of_another_gets_no_key() {
        let stacks = Stacks::new();
        assert!(stacks.is_kept(7, &[1, 2], |_| true));
        assert!(!stacks.is_kept(7, &[3], |_| panic!("the key is defined")));
        assert!(stacks.is_kept(7, &[1, 2], |_| panic!("it is defined")));
        assert_eq!(stacks.frames(7), Some(vec![1, 2]));
    }

    #[test]
    fn a_stack_whose_place_another_has_is_found() {
        let stacks = Stacks::new();
        let second = 7 + super::PLACES as u64;
        assert!(stacks.is_kept(7, &[1], |_| true));
        assert!(stacks.is_kept(second, &[2], |_| true));
        assert!(stacks.is_kept(second, &[2], |_| panic!("it is defined")));
        assert!(stacks.is_kept(7, &[1], |_| panic!("it is defined")));
    }

    #[test]
    fn a_key_that_the_trace_does_not_define_is_not_used() {
        let stacks = Stacks::new();
        stacks.set_enabled(true);
        assert_eq!(stacks.key(&[1], |_| false), None);
        assert!(stacks.key(&[1], |_| true).is_some(), "the next event tries again");
    }
}
