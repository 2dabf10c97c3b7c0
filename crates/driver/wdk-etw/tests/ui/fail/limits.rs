use wdk_etw::{define_provider, write_event};

define_provider!(PROVIDER, "Fail");

macro_rules! times_8 {
    ($callback:ident, $($field:tt)*) => {
        $callback!($($field)* $($field)* $($field)* $($field)* $($field)* $($field)* $($field)* $($field)*)
    };
}

macro_rules! event_of_8_times {
    ($($fields:tt)*) => {
        write_event!(PROVIDER, "Event", $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)*)
    };
}

macro_rules! struct_of_16_times {
    ($($fields:tt)*) => {
        write_event!(PROVIDER, "Event", struct("Struct", {
            $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)*
            $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)* $($fields)*
        }))
    };
}

fn main() {
    // 64 strings: 128 descriptors and the two of the metadata.
    times_8!(event_of_8_times, str8("Field", "text"),);
    // 192 fields.
    times_8!(event_of_8_times, u8("A", &1), u8("B", &2), u8("C", &3),);
    // 128 fields in a struct.
    times_8!(struct_of_16_times, u8("Field", &1),);
}
