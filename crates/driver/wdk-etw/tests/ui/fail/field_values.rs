use wdk_etw::{UnicodeString, define_provider, write_event};

define_provider!(PROVIDER, "Fail");

fn main() {
    let value = 5_u64;
    write_event!(PROVIDER, "Event", u32("Field", &value));
    write_event!(PROVIDER, "Event", u32("Field", 5));
    write_event!(PROVIDER, "Event", str8("Field", &value));
    write_event!(PROVIDER, "Event", u16_slice("Field", &[1_u8, 2]));
    write_event!(PROVIDER, "Event", ipv4("Field", &[1, 2, 3]));
    write_event!(PROVIDER, "Event", ntstatus("Field", &value));
    write_event!(PROVIDER, "Event", kernel_ptr("Field", &value));
    write_event!(PROVIDER, "Event", irql("Field", &value));
    let string = UnicodeString { length: 0, maximum_length: 0, buffer: core::ptr::null() };
    // SAFETY: not needed to see the error.
    unsafe { write_event!(PROVIDER, "Event", unicode_string("Field", "text")) };
    // SAFETY: not needed to see the error.
    unsafe { write_event!(PROVIDER, "Event", ansi_string("Field", &string)) };
}
