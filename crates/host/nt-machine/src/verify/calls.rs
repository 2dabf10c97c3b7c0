//! The calls that led to a finding.
//!
//! If a finding is recorded while the driver makes the mistake, the thread's stack has the calls. For findings that are
//! recorded later, such as a leak at unload, the calls that led to the allocating routine are remembered, by the
//! address it was called from. If several paths lead to one call, only their common part is kept, so that a report
//! never names a caller that may be wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cpu::walk;
use crate::image;

/// The maximum number of callers that are kept.
const MOST: usize = 16;

/// Return addresses relative to the image, innermost first. The place of the finding itself is not included.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    count: u32,
    rvas: [u32; MOST],
}

/// By return address, the calls that led to each call of a routine whose result can leak.
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

    /// Returns the calls that led to `place`, or `None` if this thread is not at `place`.
    fn current(place: u64) -> Option<Self> {
        let (mut calls, mut first) = (Self::default(), None);
        walk::walk(&walk::here()?, |address| match first {
            Some(_) => calls.push(address),
            None => *first.insert(address) == place,
        });
        (first == Some(place)).then_some(calls)
    }

    /// Returns the calls that lead, or led earlier, to a place. Does not wait.
    pub(crate) fn to(place: u64) -> Self {
        let remembered = || super::VERIFIER.find()?.remembered.try_lock().ok()?.get(&place).copied();
        Self::current(place).or_else(remembered).unwrap_or_default()
    }

    /// Returns the innermost callers that both have in common.
    fn common(self, other: &Self) -> Self {
        let same = self.rvas().iter().zip(other.rvas()).take_while(|(a, b)| a == b).count();
        Self { count: same as u32, ..self }
    }
}

/// Remembers the calls that led to the call of a routine.
pub(crate) fn remember(from: u64) {
    if let Some(calls) = Calls::current(from) {
        let mut remembered = super::VERIFIER.get().remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.entry(from).and_modify(|known| *known = known.common(&calls)).or_insert(calls);
    }
}

/// Forgets all remembered calls, because another image is loaded.
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
    fn the_common_part_of_two_call_paths_is_kept() {
        let common = calls(&[1, 2, 3]).common(&calls(&[1, 2, 4, 5]));
        assert_eq!(common.rvas(), [1, 2]);
        assert_eq!(common.common(&calls(&[])).rvas(), [0_u32; 0]);
        assert_eq!(calls(&[7, 8]).common(&calls(&[7, 8])).rvas(), [7, 8]);
    }
}
