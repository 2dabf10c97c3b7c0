//! Names in the user's code do not collide with names in the expansion.
#![deny(warnings)]

use etw_symbols as _;

mod inner {
    wdk_etw::define_provider!(
        /// Documented.
        #[allow(unused)]
        pub(crate) PROVIDER,
        "Hygiene",
    );
}

// Shadows every name that the expansion refers to.
mod core {}
mod std {}
#[allow(non_camel_case_types, dead_code)]
struct u32;
#[allow(dead_code)]
struct Option;
#[allow(dead_code)]
const LEVEL: wdk_etw::Level = wdk_etw::Level::Error;
#[allow(dead_code)]
const EVENT: u8 = 5;

fn main() {
    let provider = 1_u8;
    let event = 2_u16;
    let field0 = 3_u64;
    let packed0 = [4_u8; 4];
    let activity = [5_u8; 16];
    let related = [6_u8; 16];
    let scope = 7_u8;
    wdk_etw::write_event!(
        crate::inner::PROVIDER,
        "Names",
        level(LEVEL),
        u8("A", &provider),
        u16("B", &event),
        u64("C", &field0),
        u8_slice("D", &packed0),
        u8("E", &EVENT),
        activity_id(&activity),
        related_id(&related),
    );
    let _ = wdk_etw::start_activity!(inner::PROVIDER, "Names", u8("A", &scope), u8("B", &provider));
    let _ = wdk_etw::compat::provider_enabled!(inner::PROVIDER, LEVEL, 1);
}
