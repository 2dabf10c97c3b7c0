//! A finding in a fixed format without pointers: it is copied between processes and created by signal handlers.

use std::fmt::{self, Write as _};

use nt_processor::image::{DRIVER, ImageOffset};

use super::microsoft::{Breach, MicrosoftRule, Names};
use super::{Calls, Rule};

const ROUTINE: usize = 56;
const DETAIL: usize = 424;

/// A finding in a fixed format.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Record {
    /// Set last, when the rest is complete.
    ready: u32,
    rule: u16,
    irql: u8,
    /// 0: no address, 1: an instruction, 2: the return address of a call.
    kind: u8,
    routine_length: u32,
    detail_length: u32,
    address: ImageOffset,
    calls: Calls,
    names: Names,
    routine: [u8; ROUTINE],
    detail: [u8; DETAIL],
}

/// A buffer for text of limited length.
struct Text<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.used..).unwrap_or_default();
        let length = text.floor_char_boundary(room.len());
        if let (Some(place), Some(bytes)) = (room.get_mut(..length), text.as_bytes().get(..length)) {
            place.copy_from_slice(bytes);
            self.used += length;
        }
        Ok(())
    }
}

impl Record {
    /// Describes a breach. Names and details that are too long are cut off.
    pub fn new(
        breach: impl Into<Breach>,
        irql: u8,
        routine: Option<&str>,
        address: Option<ImageOffset>,
        is_call: bool,
        calls: Calls,
        detail: fmt::Arguments<'_>,
    ) -> Self {
        let Breach { rule, names } = breach.into();
        let mut record = Self {
            ready: 0,
            rule: rule as u16,
            irql,
            kind: match (address, is_call) {
                (None, _) => 0,
                (Some(_), false) => 1,
                (Some(_), true) => 2,
            },
            routine_length: 0,
            detail_length: 0,
            address: address.unwrap_or_default(),
            calls,
            names,
            routine: [0; ROUTINE],
            detail: [0; DETAIL],
        };
        let mut text = Text { bytes: &mut record.routine, used: 0 };
        let _ = text.write_str(routine.unwrap_or_default());
        record.routine_length = text.used as u32;
        let mut text = Text { bytes: &mut record.detail, used: 0 };
        let _ = text.write_fmt(detail);
        record.detail_length = text.used as u32;
        record
    }

    /// Returns the rule that was broken.
    #[must_use]
    pub fn rule(&self) -> Rule {
        Rule::from_number(self.rule)
    }

    /// Returns Microsoft's rules that say the same.
    #[must_use]
    pub fn microsoft(&self) -> Vec<&'static MicrosoftRule> {
        MicrosoftRule::about(self.names, self.rule(), self.routine().as_deref())
    }

    /// Returns the IRQL at the time of the finding.
    #[must_use]
    pub const fn irql(&self) -> u8 {
        self.irql
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> Option<ImageOffset> {
        (self.kind != 0).then_some(self.address)
    }

    /// Returns whether the address is the return address of a call. Otherwise, it is that of an instruction.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        self.kind == 2
    }

    /// Returns the return addresses of the calls that led to the address.
    #[must_use]
    pub fn calls(&self) -> &[ImageOffset] {
        self.calls.addresses()
    }

    /// Returns the callers of the address that tell a leak from others at the same place: a function may allocate for many
    /// others. Empty for other findings.
    #[must_use]
    pub fn callers_of_leak(&self) -> &[ImageOffset] {
        if self.rule().is_leak() { self.calls.innermost() } else { &[] }
    }

    /// Returns the number of the image that the finding is about. It is about the driver under test if code of the
    /// driver made the mistake or called, without the host in between, the code that did.
    #[must_use]
    pub fn image(&self) -> u32 {
        match self.address() {
            Some(address) if self.calls.direct().iter().all(|call| call.image != DRIVER) => address.image,
            _ => DRIVER,
        }
    }

    /// Returns the routine that was called, if the mistake is in a call.
    #[must_use]
    pub fn routine(&self) -> Option<String> {
        let text = self.routine.get(..self.routine_length as usize).unwrap_or_default();
        if text.is_empty() { None } else { Some(String::from_utf8_lossy(text).into_owned()) }
    }

    /// Returns the description of what happened.
    #[must_use]
    pub fn detail(&self) -> String {
        let text = self.detail.get(..self.detail_length as usize).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Returns whether another finding is about the same mistake.
    pub(super) fn same_mistake(&self, other: &Self) -> bool {
        self.rule == other.rule
            && self.address == other.address
            && self.routine == other.routine
            && self.detail == other.detail
            && self.names == other.names
            && self.callers_of_leak() == other.callers_of_leak()
    }
}
