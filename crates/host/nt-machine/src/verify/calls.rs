//! The calls that led to a finding.
//!
//! For what is found while the driver is in the mistake, the thread's stack says it. For what is found later, such as a
//! leak at unload, the calls of the routine that made the thing are remembered, by where it was called from: of several
//! ways to one call the part is kept that all of them have, so that nothing is told that may not be so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cpu::walk;
use crate::image;

/// Most callers that are kept.
const MOST: usize = 16;

/// Where calls return to, relative to the image, the innermost first. The place itself is not among them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    count: u32,
    rvas: [u32; MOST],
}

/// The calls that led to each call of a routine whose result can be left behind.
pub(super) type Remembered = Mutex<BTreeMap<u64, Calls>>;

impl Calls {
    pub(crate) fn rvas(&self) -> &[u32] {
        self.rvas.get(..self.count as usize).unwrap_or_default()
    }

    fn push(&mut self, address: u64) -> bool {
        let rva = image::rva(address).and_then(|rva| u32::try_from(rva).ok());
        if let (Some(place), Some(rva)) = (self.rvas.get_mut(self.count as usize), rva) {
            *place = rva;
            self.count += 1;
        }
        (self.count as usize) < MOST
    }

    /// The calls that led to the place where this thread is; `None` where that is another one.
    fn current(place: u64) -> Option<Self> {
        let (mut calls, mut first) = (Self::default(), None);
        walk::walk(&walk::here()?, |address| match first {
            Some(_) => calls.push(address),
            None => *first.insert(address) == place,
        });
        (first == Some(place)).then_some(calls)
    }

    /// The calls that led, or had led, to a place. Waits for nothing.
    pub(crate) fn to(place: u64) -> Self {
        let remembered = || super::VERIFIER.find()?.remembered.try_lock().ok()?.get(&place).copied();
        Self::current(place).or_else(remembered).unwrap_or_default()
    }

    /// The callers that both have.
    fn common(self, other: &Self) -> Self {
        let same = self.rvas().iter().zip(other.rvas()).take_while(|(a, b)| a == b).count();
        Self { count: same as u32, ..self }
    }
}

/// Remembers the calls that led to a call of a routine.
pub(crate) fn remember(from: u64) {
    if let Some(calls) = Calls::current(from) {
        let mut remembered = super::VERIFIER.get().remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.entry(from).and_modify(|known| *known = known.common(&calls)).or_insert(calls);
    }
}

/// Forgets all: the image is another one.
pub(crate) fn forget() {
    super::VERIFIER.get().remembered.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

#[cfg(test)]
mod tests {
    use super::Calls;

    fn calls(rvas: &[u32]) -> Calls {
        let mut calls = Calls { count: rvas.len() as u32, ..Calls::default() };
        calls.rvas[..rvas.len()].copy_from_slice(rvas);
        calls
    }

    #[test]
    fn of_several_ways_the_common_part_is_kept() {
        let common = calls(&[1, 2, 3]).common(&calls(&[1, 2, 4, 5]));
        assert_eq!(common.rvas(), [1, 2]);
        assert_eq!(common.common(&calls(&[])).rvas(), [0_u32; 0]);
        assert_eq!(calls(&[7, 8]).common(&calls(&[7, 8])).rvas(), [7, 8]);
    }
}
