use wdk_etw::{UnicodeString, define_provider, write_event};

define_provider!(PROVIDER, "Fail");

fn main() {
    let string = UnicodeString { length: 0, maximum_length: 0, buffer: core::ptr::null() };
    write_event!(PROVIDER, "Event", u8("Before", &1), unicode_string("Field", &string));
}
