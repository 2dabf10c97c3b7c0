//! Stacks that a session writes as keys: each one is kept once.
//!
//! The write path finds a known stack with one load. Only a new one, or one that shares its place with another, takes a
//! lock.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::sync::lock;

/// Places of known keys, and most stacks that are kept.
const PLACES: usize = 4096;
const KEPT: usize = 1 << 16;

/// The stacks of one session.
pub(crate) struct Stacks {
    enabled: AtomicBool,
    known: Box<[AtomicU64]>,
    kept: Mutex<HashMap<u64, Vec<u64>>>,
}

impl Stacks {
    pub(super) fn new() -> Self {
        Self { enabled: AtomicBool::new(false), known: Box::new([]), kept: Mutex::default() }.with_places()
    }

    fn with_places(mut self) -> Self {
        self.known = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        self
    }

    /// Whether keys are written in place of stacks.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Release);
    }

    /// The key of a stack, where keys are written.
    pub(super) fn key(&self, frames: &[u64]) -> Option<u64> {
        if frames.is_empty() || !self.enabled.load(Ordering::Acquire) {
            return None;
        }
        let key = hash(frames);
        let place = usize::try_from(key % PLACES as u64).ok().and_then(|index| self.known.get(index))?;
        if place.load(Ordering::Relaxed) != key {
            let mut kept = lock(&self.kept);
            if kept.len() < KEPT {
                kept.entry(key).or_insert_with(|| frames.to_vec());
            }
            place.store(key, Ordering::Relaxed);
        }
        Some(key)
    }

    /// The stack behind a key.
    pub(super) fn frames(&self, key: u64) -> Option<Vec<u64>> {
        lock(&self.kept).get(&key).cloned()
    }
}

/// FNV-1a over the frames; never zero.
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
        assert_eq!(stacks.key(&[1, 2]), None, "off at first");
        stacks.set_enabled(true);
        let key = stacks.key(&[1, 2]).unwrap();
        assert_eq!(stacks.key(&[1, 2]), Some(key));
        assert_ne!(stacks.key(&[2, 1]), Some(key));
        assert_eq!(stacks.frames(key), Some(vec![1, 2]));
        assert_eq!(stacks.key(&[]), None);
    }
}
