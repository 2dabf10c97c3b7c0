use wdk_etw::{define_provider, start_activity, stop_activity, write_event};

define_provider!(PROVIDER, "Fail");

fn main() {
    let _ = start_activity!(PROVIDER, "Activity", opcode(Start), activity_id(&[0; 16]), related_id(&[0; 16]));
    let _ = start_activity!(PROVIDER, "Activity", result("Status"), result(str8("Text")), result(u32(5)));
    let scope = start_activity!(PROVIDER, "Activity");
    stop_activity!(scope, level(Error), u32("Bytes", &1), u23("Bytes", &1));
    stop_activity!();
    write_event!(PROVIDER, "Event", result(u32("Value")));
}
