//! Events of the .NET runtime, with a manifest that names and lays them out otherwise than the built-in schemas do.

use std::fs;

use crate::common::kernel::{KernelTrace, START, wide, words};
use crate::common::{etwctl, scratch};
use etw_types::{EventDescriptor, Guid};
use serde_json::Value;

const RUNTIME: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
const OWNER: (u32, u32) = (40, 44);

/// A manifest as it is made from another version of the runtime: other names, a stack of one frame, and the first fields of an
/// allocation only. It knows all of a suspension.
const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
 <provider name="Microsoft-Windows-DotNETRuntime" guid="{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}" symbol="P" resourceFileName="p" messageFileName="p">
  <tasks><task name="Collector" value="1"/><task name="Walk" value="11"/></tasks>
  <templates>
   <template tid="suspend"><data name="Reason" inType="win:UInt32"/><data name="Count" inType="win:UInt32"/><data name="ClrInstanceID" inType="win:UInt16"/></template>
   <template tid="tick"><data name="AllocationAmount" inType="win:UInt32"/></template>
   <template tid="walk"><data name="ClrInstanceID" inType="win:UInt16"/><data name="Reserved1" inType="win:UInt8"/><data name="Reserved2" inType="win:UInt8"/><data name="FrameCount" inType="win:UInt32"/><data name="Stack" inType="win:Pointer"/></template>
  </templates>
  <events>
   <event value="3" version="1" task="Collector"/>
   <event value="9" version="1" task="Collector" template="suspend"/>
   <event value="10" version="2" task="Collector" template="tick"/>
   <event value="82" version="0" task="Walk" template="walk"/>
  </events>
 </provider></events></instrumentation></instrumentationManifest>"#;

fn event(trace: &mut KernelTrace, after: u64, id: u16, version: u8, payload: &[u8]) {
    let descriptor = EventDescriptor { id, version, ..EventDescriptor::default() };
    trace.described(trace.at(after), RUNTIME, descriptor, OWNER, payload);
}

/// Two milliseconds of a collection, an allocation of 100,000 bytes, and a stack of 26 frames.
fn trace() -> KernelTrace {
    let mut trace = KernelTrace::new(1);
    trace.process(START + 1, OWNER.0, "app.exe");
    event(&mut trace, 10_000, 9, 1, &[words(&[1, 7]), vec![3, 0]].concat());
    event(&mut trace, 30_000, 3, 1, &[3, 0]);
    let tick = [words(&[100_000, 0]), vec![3, 0], words(&[100_000, 0, 0x1234, 0]), wide("System.String"), words(&[0])];
    event(&mut trace, 40_000, 10, 2, &tick.concat());
    let frames: Vec<u32> = (1..=26).flat_map(|frame| [frame * 16, 0]).collect();
    event(&mut trace, 50_000, 82, 0, &[vec![3, 0, 0, 0], words(&[26]), words(&frames)].concat());
    event(&mut trace, 60_000, 82, 0, &[vec![3, 0, 0, 0], words(&[1, 16, 0])].concat());
    trace
}

#[test]
fn a_manifest_that_knows_less_changes_no_value() {
    let path = trace().write("dotnet.etl");
    let manifest = scratch("dotnet.man");
    fs::write(&manifest, MANIFEST).unwrap();
    let file = path.display();
    let man = manifest.display();
    for options in [String::new(), format!("--manifest {man}")] {
        let rows = |topic: &str| -> Value {
            let run = etwctl(&format!("top {file} --by {topic} --json {options}"));
            assert_eq!(run.code, 0, "{}", run.err);
            serde_json::from_str::<Value>(&run.out).unwrap()["rows"].clone()
        };
        let heap = rows("heap");
        assert_eq!(heap[0]["type"], "System.String", "{options}: {heap}");
        assert_eq!(heap[0]["bytes"], 100_000, "{options}: {heap}");
        let gc = rows("gc");
        assert_eq!(gc[0]["count"], 1, "{options}: {gc}");
        assert_eq!(gc[0]["paused_ms"].to_string().parse(), Ok(2.0), "{options}: {gc}");
        let run = etwctl(&format!("decode {file} --where id=82 --json {options}"));
        let stacks: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let frames = |stack: &Value| stack["fields"]["Stack"].as_array().map(Vec::len);
        assert_eq!(stacks.iter().map(frames).collect::<Vec<_>>(), [Some(26), Some(1)], "{options}: {}", run.out);
        assert!(stacks.iter().all(|stack| stack["raw"].is_null()), "{options}: {}", run.out);
    }
    // What the manifest knows as well has its names.
    let named = etwctl(&format!("decode {file} --where id=9 --text --manifest {man}"));
    assert!(named.out.contains("Collector"), "{}", named.out);
    fs::remove_file(path).unwrap();
    fs::remove_file(manifest).unwrap();
}
