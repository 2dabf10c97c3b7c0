//! A driver that has `wdk-etw` only through a library of its company.
#![deny(warnings)]

use company::etw::{NtStatus, define_provider};
use etw_symbols as _;

define_provider!(PROVIDER, "Through.Company");

/// A macro of the driver over a macro of the library over a macro of `wdk-etw`.
macro_rules! measured {
    ($name:literal, $value:expr) => {
        company::activity!($name, {
            let value: u32 = $value;
            company::note!("Measured", u32("Value", &value));
            value
        })
    };
}

fn main() {
    assert_eq!(company::started(), NtStatus::Success);
    assert_eq!(measured!("Sum", 1 + 2), 3);
    assert_eq!(company::event!(PROVIDER, "Own", u32("Value", &4)), NtStatus::Success);
    assert_eq!(company::note!("Nothing"), NtStatus::Success);
}
