//! The macros work inside the user's macros, with every kind of variable.
#![deny(warnings)]

use etw_symbols as _;

mod log {
    wdk_etw::define_provider!(pub PROVIDER, "MacroRules");
}

macro_rules! log {
    ($level:ident, $name:literal, $text:expr, $kind:ident, $value:expr) => {
        wdk_etw::write_event!($crate::log::PROVIDER, $name, level($level), str8("Text", $text), $kind("Value", $value))
    };
}

macro_rules! log_with {
    ($provider:path, $level:expr, $tag:literal, $($fields:tt)*) => {
        wdk_etw::write_event!($provider, "Event", level($level), tag($tag), $($fields)*)
    };
}

macro_rules! provider {
    ($visibility:vis $symbol:ident, $name:literal, $id:literal) => {
        wdk_etw::define_provider!($visibility $symbol, $name, id($id));
    };
}

provider!(pub(crate) OTHER, "Other", "20cf46dd-3b90-476c-94e9-4e74bbc30e31");

fn main() {
    log!(Warning, "Event", "text", u32, &5);
    log!(Error, "Event", &String::from("text"), u16_slice, &[1, 2]);
    log_with!(OTHER, Warning, 0x10, u8("A", &1), struct("B", { u8("C", &2) }));
    log_with!(crate::OTHER, wdk_etw::Level::Warning, 1, raw_data(&[]));
    log_with!(self::OTHER, 3, 1, u32("Generic", &Vec::<(u8, u8)>::new().iter().map(|pair| u32::from(pair.0)).sum::<u32>()));
}
