//! The calls that led to a finding.
//!
//! If a finding is recorded while the driver makes the mistake, the thread's stack has the calls. For findings that are
//! recorded later, such as a leak at unload, the calls that led to the allocating routine are remembered, by the
//! address it was called from and its innermost callers. If several paths lead to these, only their common part is kept, so
//! that a report never names a caller that may be wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nt_processor::cpu::walk::{self, Frame};
use nt_processor::image::{self, DRIVER, ImageOffset};
use nt_processor::layer_state::lock_from_handler;

/// The maximum number of callers that are kept.
const MOST: usize = 16;

/// Return addresses, innermost first. The place of the finding itself is not included.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    count: u32,
    /// The number of calls at the beginning that lead to the place without the host in between.
    direct: u32,
    addresses: [ImageOffset; MOST],
}

/// The number of callers that tell two calls of a routine whose result can leak apart: enough for a function that allocates
/// for others, and for one around it.
const APART: usize = 2;

/// By [site](image::site) and by return address, the calls that led to each call of a routine whose result can leak.
pub(super) type Remembered = Mutex<BTreeMap<u64, Calls>>;

impl Calls {
    /// Returns the return addresses of the calls, the innermost first.
    pub fn addresses(&self) -> &[ImageOffset] {
        self.addresses.get(..self.count as usize).unwrap_or_default()
    }

    /// Returns the calls that lead to the place without the host in between.
    pub fn direct(&self) -> &[ImageOffset] {
        self.addresses.get(..self.direct as usize).unwrap_or_default()
    }

    fn push(&mut self, frame: Frame) -> bool {
        if let (Some(slot), Some(offset)) = (self.addresses.get_mut(self.count as usize), image::offset(frame.address))
        {
            *slot = offset;
            self.count += 1;
            self.direct += u32::from(frame.is_direct);
        }
        (self.count as usize) < MOST
    }

    /// Returns the calls that led to `place`, or `None` if this thread is not at `place`.
    fn current(place: u64) -> Option<Self> {
        let mut calls = Self::default();
        let mut first = None;
        walk::walk(&walk::here()?, |frame| match first {
            Some(_) => calls.push(frame),
            None => *first.insert(frame.address) == place,
        });
        (first == Some(place)).then_some(calls)
    }

    /// Returns the calls that lead, or led earlier, to a place. Does not wait.
    pub fn to(place: u64) -> Self {
        let remembered = || lock_from_handler(&super::VERIFIER.find()?.remembered)?.get(&place).copied();
        Self::current(place).or_else(remembered).unwrap_or_default()
    }

    /// Returns the callers that tell this call from others: the innermost ones or, for a call of another image, all up to the
    /// driver's own.
    fn way(&self, of_other: bool) -> &[ImageOffset] {
        let direct = self.direct();
        if !of_other {
            return self.innermost();
        }
        let driver = direct.iter().position(|call| call.image == DRIVER);
        driver.and_then(|driver| direct.get(..=driver)).unwrap_or_default()
    }

    /// Returns the innermost callers, which tell two leaks at the same place apart.
    pub(super) fn innermost(&self) -> &[ImageOffset] {
        self.direct().get(..APART.min(self.direct().len())).unwrap_or_default()
    }

    /// Returns the innermost callers that both have in common.
    fn common(self, other: &Self) -> Self {
        let same = self.addresses().iter().zip(other.addresses()).take_while(|(a, b)| a == b).count() as u32;
        Self { count: same, direct: self.direct.min(other.direct).min(same), ..self }
    }
}

/// Remembers the calls that led to the call of a routine. Returns the number that stands for this call from now on: see
/// [`image::site`].
pub fn remember(from: u64) -> u64 {
    let Some(calls) = Calls::current(from) else { return from };
    let of_other = image::is_other(from);
    let site = image::site(from, calls.way(of_other));
    let mut remembered = super::VERIFIER.get().remembered.lock().unwrap_or_else(PoisonError::into_inner);
    let mut add = |key| {
        remembered.entry(key).and_modify(|known| *known = known.common(&calls)).or_insert(calls);
    };
    add(site);
    // Some records know only the return address. Calls of other images that are nobody's have it as their site.
    if !of_other && site != from {
        add(from);
    }
    site
}

/// Forgets all remembered calls, because another image is loaded.
pub fn forget() {
    super::VERIFIER.get().remembered.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

#[cfg(test)]
mod tests {
    use super::{Calls, ImageOffset};

    fn calls(rvas: &[u32]) -> Calls {
        let count = rvas.len() as u32;
        let mut calls = Calls { count, direct: count, ..Calls::default() };
        for (address, rva) in calls.addresses.iter_mut().zip(rvas) {
            *address = ImageOffset { image: 0, rva: *rva };
        }
        calls
    }

    fn rvas(calls: Calls) -> Vec<u32> {
        assert_eq!(calls.direct(), calls.addresses());
        calls.addresses().iter().map(|address| address.rva).collect()
    }

    #[test]
    fn a_call_of_the_driver_is_distinguished_by_two_callers_and_one_of_another_image_by_all() {
        let two = |rvas: &[u32]| calls(rvas).way(false).iter().map(|address| address.rva).collect::<Vec<_>>();
        assert_eq!([two(&[1, 2, 3]), two(&[1]), two(&[])], [vec![1, 2], vec![1], vec![]]);
        let mut library = calls(&[1, 2, 3, 4]);
        library.addresses.iter_mut().take(3).for_each(|address| address.image = 1);
        assert_eq!(library.way(true).len(), 4);
        library.addresses.iter_mut().for_each(|address| address.image = 1);
        assert_eq!(library.way(true), []);
    }

    #[test]
    fn the_common_part_of_two_call_paths_is_kept() {
        let common = calls(&[1, 2, 3]).common(&calls(&[1, 2, 4, 5]));
        assert_eq!(rvas(common), [1, 2]);
        assert_eq!(rvas(common.common(&calls(&[]))), [0_u32; 0]);
        assert_eq!(rvas(calls(&[7, 8]).common(&calls(&[7, 8]))), [7, 8]);
    }
}
