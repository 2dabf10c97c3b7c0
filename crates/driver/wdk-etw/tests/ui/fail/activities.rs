use wdk_etw::{define_provider, start_activity};

define_provider!(PROVIDER, "Fail");

fn main() {
    let _ = start_activity!(PROVIDER, "Activity", opcode(Start), activity_id(&[0; 16]), related_id(&[0; 16]));
}
