use wdk_etw::{define_provider, write_event};

define_provider!(PROVIDER, "Fail");

fn main() {
    write_event!();
    write_event!(5, "Event");
    write_event!(PROVIDER);
    write_event!(PROVIDER, Event);
    write_event!(PROVIDER, "Event" level(1));
    write_event!(PROVIDER, "Nul\0");
    write_event!(PROVIDER, "Event", level(Waring), opcode(Begin, 2), keywrod(5), channel());
    write_event!(PROVIDER, "Event", level(1), level(2), id_version(1), tag(0x1000_0000), task);
    write_event!(PROVIDER, "Event", level(256), = 5, u8("Field", &1));
}
