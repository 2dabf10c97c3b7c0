use wdk_etw::{define_provider, write_event};

define_provider!(PROVIDER, "Fail");

const TAG: u32 = 0x1000_0000;

fn main() {
    let level = wdk_etw::Level::Error;
    write_event!(PROVIDER, "Event", level(level));
    write_event!(PROVIDER, "Event", keyword("text"));
    write_event!(PROVIDER, "Event", task(0x1_0000));
    write_event!(PROVIDER, "Event", opcode(wdk_etw::Level::Error));
    write_event!(PROVIDER, "Event", activity_id(&5_u32));
    write_event!(PROVIDER, "Event", tag(TAG));
    write_event!(PROVIDER, "Event", u8("Field", &1, tag(TAG)));
    write_event!(PROVIDER, "Event", raw_struct("Field", 100 + 28));
}
