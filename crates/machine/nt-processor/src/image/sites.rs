//! Calls that create resources.
//!
//! A resource remembers only the address of the call that created it. If a function creates resources for several callers,
//! in the driver or in a library that it uses, that address does not say for whom. So such a call has a number in place of
//! its address, one for each way to it.

use std::collections::HashMap;

use super::ImageOffset;

/// The first number. No code has such an address, because it is not canonical.
const FIRST: u64 = 1 << 62;

/// The calls that lead to one, innermost first.
type Way = Box<[ImageOffset]>;

/// The calls by number.
#[derive(Default)]
pub(super) struct Sites {
    /// The ways to each call, with their numbers. Most calls have few.
    numbers: HashMap<u64, Vec<(Way, u64)>>,
    addresses: Vec<u64>,
}

pub(super) const fn is_number(address: u64) -> bool {
    address >> 62 == 1
}

impl Sites {
    pub(super) fn number(&mut self, from: u64, calls: &[ImageOffset]) -> u64 {
        let ways = self.numbers.entry(from).or_default();
        if let Some((_, number)) = ways.iter().find(|(way, _)| **way == *calls) {
            return *number;
        }
        let number = FIRST + self.addresses.len() as u64;
        ways.push((calls.into(), number));
        self.addresses.push(from);
        number
    }

    pub(super) fn address(&self, number: u64) -> Option<u64> {
        self.addresses.get((number - FIRST) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{ImageOffset, Sites, is_number};

    #[test]
    fn each_way_to_a_call_has_one_number_that_leads_back_to_its_address() {
        let way = |rva| [ImageOffset { image: 1, rva: 8 }, ImageOffset { image: 0, rva }];
        let mut sites = Sites::default();
        let first = sites.number(0x7F00_0000_1000, &way(1));
        let second = sites.number(0x7F00_0000_1000, &way(2));
        assert_ne!(first, second);
        assert_eq!(sites.number(0x7F00_0000_1000, &way(1)), first);
        assert!(is_number(first));
        assert!(!is_number(0x7F00_0000_1000));
        assert!(!is_number(u64::MAX));
        assert_eq!([first, second].map(|number| sites.address(number)), [Some(0x7F00_0000_1000); 2]);
    }
}
