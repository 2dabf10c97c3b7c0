use wdk_etw::{define_provider, write_event};

define_provider!(PROVIDER, "Fail");

fn main() {
    let value = 5_u32;
    write_event!(PROVIDER, "Event", u23("Field", &value));
    write_event!(PROVIDER, "Event", u32("Field"), u32(), u32(field, &value), u32("Nul\0", &value));
    write_event!(PROVIDER, "Event", u32("Field", &value, color(5)), u32("Field", &value, tag(1), tag(2)), u32("Field", &value, &value));
    write_event!(PROVIDER, "Event", u32("Field", &value, format(Hexx)), u32("Field", &value, format(128)));
    write_event!(PROVIDER, "Event", struct("Struct"), struct("Struct", { level(1), u32("Field", &value) }, tag(1)));
    write_event!(PROVIDER, "Event", struct("Struct", format(Hex), { raw_struct("Inner", 2) }), raw_struct("Raw", 128));
    write_event!(PROVIDER, "Event", raw_field("Raw", U23, &[]), raw_data("Name", &[]), frobnicate(1));
}
