//! `--pdb` and `--symbols`: WPP messages and stacks are decoded with a PDB that clang and lld wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;
use etw_etl::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use etw_etl::format::message::MessageHeader;
use etw_etl::{Buffer, EventData, ExtendedItem, ExtendedType, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid, Opcode};
use pe_image::Image;
use pe_image::pdb::Msf;

const MESSAGES: Guid = Guid::from_u128(0x0011_aabb_2233_4455_6677_8899_aabb_ccdd);
/// The address of the image.
const BASE: u64 = 0xFFFF_F800_0010_0000;

/// The annotation that the WPP preprocessor generates for a message, in a function.
const SOURCE: &str = r##"
volatile int value;
void Entry(void) {
    __annotation(L"TMF:", L"0011aabb-2233-4455-6677-8899aabbccdd Driver // SRC=entry.c MJ= MN=",
        L"#typev entry_c5 10 \"%0%!FUNC! copied %10!d! of %11!s!\" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=DRV FUNC=Entry",
        L"{", L"count, ItemLong -- 10", L"name, ItemString -- 11", L"}");
    value = 1;
    value = 2;
}
"##;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etwctl-pdb").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles and links the source. If a tool is missing, prints that and returns `None`.
fn image(folder: &Path) -> Option<Vec<u8>> {
    fs::write(folder.join("driver.c"), SOURCE).unwrap();
    let run = |command: &mut Command| match command.current_dir(folder).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(output.stdout)
        }
        Err(error) => {
            eprintln!("skipped: {}: {error}", command.get_program().display());
            None
        }
    };
    run(Command::new("clang").args([
        "--target=x86_64-pc-windows-msvc",
        "-g",
        "-gcodeview",
        "-fms-extensions",
        "-c",
        "driver.c",
    ]))?;
    let sysroot = String::from_utf8(run(Command::new("rustc").args(["--print", "sysroot"]))?).unwrap();
    let linker = format!("{}/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld", sysroot.trim());
    run(Command::new(linker)
        .args(["-flavor", "link", "/entry:Entry", "/subsystem:native", "/nodefaultlib", "/debug"])
        .args(["/pdb:driver.pdb", "/out:driver.sys", "driver.o"]))?;
    restore_annotation(folder);
    Some(fs::read(folder.join("driver.sys")).unwrap())
}

/// Puts the annotation that clang wrote back into the PDB. lld replaces records that it does not know with an `S_SKIP` of the same
/// length; Microsoft's linker keeps the annotation.
fn restore_annotation(folder: &Path) {
    const SKIP: u16 = 0x0007;
    let object = fs::read(folder.join("driver.o")).unwrap();
    let path = folder.join("driver.pdb");
    let mut pdb = fs::read(&path).unwrap();
    let text = object.windows(5).position(|bytes| bytes == b"TMF:\0").expect("an annotation");
    // Length, kind, offset, section, number of strings.
    let start = text - 12;
    let length = usize::from(u16::from_le_bytes([object[start], object[start + 1]]));
    let annotation = &object[start..start + 2 + length];
    assert_eq!(annotation[2..4], [0x19, 0x10], "S_ANNOTATION");
    let is_skipped = |place: usize| {
        let half = |at: usize| u16::from_le_bytes([pdb[at], pdb[at + 1]]);
        let padded = usize::from(half(place));
        half(place + 2) == SKIP && (length..length + 4).contains(&padded)
    };
    let place = (0..pdb.len() - length - 2).find(|place| is_skipped(*place)).expect("a record that is skipped");
    pdb[place + 2..place + 2 + length].copy_from_slice(&annotation[2..]);
    fs::write(path, pdb).unwrap();
}

/// Writes a trace with a message, an image, optionally the id of its PDB, and an event with a stack in the image.
fn trace(path: &Path, rva: u64, pdb: Option<Guid>) {
    let mut writer = Writer::create(path, WriterOptions { buffer_size: 4096, ..WriterOptions::default() }).unwrap();
    let mut buffer = Buffer::new(4096, 0);
    let header = MessageHeader { number: 10, guid: Some(MESSAGES), timestamp: Some(5), ..MessageHeader::default() };
    let arguments = [&7_u32.to_le_bytes()[..], b"nine\0"].concat();
    let mut message = Vec::new();
    header.push(arguments.len(), &mut message).unwrap();
    message.extend(arguments);
    buffer.push_record(&message, 5).unwrap();
    let name: Vec<u8> = "\\SystemRoot\\driver.sys\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let load = [&BASE.to_le_bytes()[..], &0x1_0000_u64.to_le_bytes(), &[0; 16], &BASE.to_le_bytes(), &[0; 16], &name];
    let size = u16::try_from(PERFINFO_SIZE + load.concat().len()).unwrap();
    let record = SystemHeader {
        version: 2,
        header_type: TYPE_PERFINFO_64,
        size,
        hook_id: 0x1403,
        timestamp: 6,
        ..SystemHeader::default()
    };
    buffer.push_record(&[&record.to_perfinfo_bytes()[..], &load.concat()].concat(), 6).unwrap();
    writer.write_buffer(&mut buffer, 10).unwrap();
    if let Some(id) = pdb {
        let payload = [&BASE.to_le_bytes()[..], &[0; 4], &id.to_bytes_le(), &1_u32.to_le_bytes(), b"c:\\driver.pdb\0"];
        let descriptor = EventDescriptor { opcode: Opcode::from_int(36), ..EventDescriptor::default() };
        let provider = Guid::parse("b3e675d7-2554-4f18-830b-2762732560de").unwrap();
        let payload = payload.concat();
        let event =
            EventData { provider, descriptor, flags: 0x100, payload: &payload, timestamp: 20, ..EventData::default() };
        writer.write(0, &event).unwrap();
    }
    let stack = [0_u64.to_le_bytes(), (BASE + rva + 4).to_le_bytes(), (BASE + 0xF000).to_le_bytes()].concat();
    let items = [ExtendedItem { kind: ExtendedType::STACK_TRACE64, data: &stack }];
    let descriptor = EventDescriptor { id: 3, ..EventDescriptor::default() };
    let event =
        EventData { provider: Guid::from_u128(9), descriptor, items: &items, timestamp: 30, ..EventData::default() };
    writer.write(0, &event).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_pdb_formats_messages_and_names_functions_and_lines() {
    let folder = folder("names");
    let Some(image) = image(&folder) else { return };
    let rva = u64::from(Image::parse(&image).unwrap().entry.rva);
    let pdb = fs::read(folder.join("driver.pdb")).unwrap();
    let id = Guid::from_bytes_le(Msf::parse(&pdb).unwrap().id().unwrap());
    let file = folder.join("a.etl");
    trace(&file, rva, Some(id));
    let run = |command: &str| common::etwctl(&command.replace("FILE", file.to_str().unwrap()));
    let plain = run("decode FILE");
    assert!(plain.out.contains("stack=\"driver.sys+0x1004 <- driver.sys+0xf000\""), "{}", plain.out);
    let stats = run("stats FILE");
    assert!(stats.err.contains("--pdb with the PDB of the binary"), "{}", stats.err);
    for pdb in [folder.join("driver.pdb"), folder.clone()] {
        let named = run(&format!("decode FILE --pdb {}", pdb.display()));
        assert!(
            named.out.contains("Driver/Entry count=7 name=nine message=\"Entry copied 7 of nine\""),
            "{}",
            named.out
        );
        assert!(named.out.contains("stack=\"driver.sys!Entry+0x4 (driver.c:"), "{}", named.out);
        let stacks = run(&format!("stacks FILE --pdb {}", pdb.display()));
        assert!(stacks.out.contains(";driver.sys+0xf000;driver.sys!Entry+0x4 (driver.c:"), "{}", stacks.out);
        assert!(!stacks.err.contains("note:"), "{}", stacks.err);
    }
    let json = run(&format!("decode FILE --json --where id=3 --pdb {}", folder.display()));
    let event: serde_json::Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    assert_eq!(event["stack"].as_array().unwrap().len(), 2);
    assert_eq!(event["frames"].as_array().unwrap().len(), 2);

    // A symbol store has the PDB under its name and id; `_NT_SYMBOL_PATH` names it beside a server, which is not asked.
    let store = folder.join("store");
    let key = format!("{}1", id.to_string().replace('-', "").to_uppercase());
    fs::create_dir_all(store.join("driver.pdb").join(&key)).unwrap();
    fs::copy(folder.join("driver.pdb"), store.join("driver.pdb").join(&key).join("driver.pdb")).unwrap();
    let stored = run(&format!("stacks FILE --symbols {}", store.display()));
    assert!(stored.out.contains(";driver.sys+0xf000;driver.sys!Entry+0x4 (driver.c:"), "{}", stored.out);
    assert!(!stored.err.contains("note:"), "{}", stored.err);
    let by_variable = Command::new(env!("CARGO_BIN_EXE_etwctl"))
        .args(["stacks", file.to_str().unwrap()])
        .env("_NT_SYMBOL_PATH", format!("/nowhere;srv*{}*https://msdl.microsoft.com/download/symbols", store.display()))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&by_variable.stdout), stored.out);
    let nowhere = run("stacks FILE --symbols srv*https://msdl.microsoft.com/download/symbols");
    assert!(nowhere.code == 2, "{}", nowhere.err);
    assert!(nowhere.err.contains("symbols are not downloaded"), "{}", nowhere.err);

    // The PDB of another build is not used, and a note says why. If the trace has no id, the PDB with the image's name is used.
    trace(&file, rva, Some(Guid::from_u128(1)));
    assert!(run(&format!("stacks FILE --symbols {}", store.display())).out.contains("driver.sys+0x1004"), "another id");
    let other = run(&format!("stacks FILE --pdb {}", folder.display()));
    assert!(other.out.contains("driver.sys+0x1004"), "{}", other.err);
    assert!(other.err.contains("does not belong to driver.sys"), "{}", other.err);
    trace(&file, rva, None);
    let by_name = run(&format!("stacks FILE --pdb {}", folder.display()));
    assert!(by_name.out.contains("driver.sys!Entry"), "{}", by_name.err);
    assert!(by_name.err.contains("is used because of its name"), "{}", by_name.err);

    fs::write(folder.join("driver.pdb"), &pdb[..pdb.len() / 2]).unwrap();
    let damaged = run(&format!("stacks FILE --pdb {}", folder.display()));
    assert_eq!(damaged.code, 0, "{}", damaged.err);
    assert!(damaged.err.contains("note: skipped "), "{}", damaged.err);
    assert_eq!(run("stacks FILE --pdb no-such.pdb").code, 2);
}

/// Also if no image of the trace has the file's name, so that the file would not be read.
#[test]
fn a_file_that_is_no_pdb_is_named() {
    let folder = folder("junk");
    let file = folder.join("a.etl");
    trace(&file, 0x1000, None);
    for (name, text) in
        [("driver.pdb", "junk"), ("other.pdb", ""), ("cut.pdb", "Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0")]
    {
        let pdb = folder.join(name);
        fs::write(&pdb, text).unwrap();
        for command in ["decode", "stacks", "stats"] {
            let run = common::etwctl(&format!("{command} {} --pdb {}", file.display(), pdb.display()));
            assert_eq!(run.code, 2, "{command} {name}: {}", run.err);
            assert!(run.err.contains(&format!("error: --pdb {}: ", pdb.display())), "{command} {name}: {}", run.err);
        }
    }
}
