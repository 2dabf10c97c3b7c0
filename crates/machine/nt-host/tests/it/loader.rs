//! Malformed images: the loader returns an error that names the field, and the host never crashes.

use std::fs;
use std::time::Duration;

use crate::common::{self, c};
use nt_host::{Error, NtHost, RegistryKey, RegistryValue, Rule, plan};

/// The bytes of a valid driver image.
fn image() -> Vec<u8> {
    fs::read(common::broken("etw_misuse")).expect("the driver")
}

/// A small xorshift generator. The tests only need repeatable numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % limit.max(1)
    }
}

fn field(bytes: &[u8]) -> String {
    plan(bytes).expect_err("refused").field().to_owned()
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused_with_a_field() {
    let image = image();
    let end = plan(&image).expect("whole").bytes.len().min(image.len());
    for length in (0..end).filter(|length| *length < 0x600 || length % 64 == 0) {
        if let Err(error) = plan(&image[..length]) {
            assert!(!error.field().is_empty(), "cut to {length}");
            assert!(!error.reason().is_empty(), "cut to {length}");
        }
    }
    assert_eq!(field(&[]), "DOS header");
    assert_eq!(field(&image[..0x40]), "PE signature");
}

/// Runs a driver that was linked with more arguments, as old drivers were. Returns the host's notes about it.
fn run_linked(arguments: &[&str]) -> Vec<String> {
    let image = c::build_linked(arguments, "wdm", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    let reply = device.ioctl(0x0022_2000, b"Hello, kernel", 64).expect("a reply");
    assert_eq!(reply.output, b"HELLO, KERNEL");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    host.notes().to_vec()
}

#[test]
fn sections_that_are_writable_and_executable_are_loaded_and_noted() {
    let notes = run_linked(&["/section:.text,ERW"]);
    assert_eq!(notes, ["not compatible with memory integrity: .text is rwx (writable-code)"]);
}

#[test]
fn sections_that_share_pages_are_loaded_and_noted() {
    let notes = run_linked(&["/align:64", "/filealign:64"]);
    assert_eq!(notes, ["not compatible with memory integrity: sections are aligned to 0x40 (page-alignment)"]);
}

#[test]
fn a_driver_without_faults_has_no_notes() {
    assert_eq!(run_linked(&[]), [""; 0]);
}

/// The code of the levels differs: variables are loaded or compared directly, constants are larger by one.
#[test]
fn constants_that_addresses_are_compared_with_change_and_masks_do_not() {
    for level in ["-O0", "-O1", "-O2", "-Os"] {
        let image = c::build_at(level, "wdm_range", 0, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).start().unwrap_or_else(|error| panic!("{level}: {error}"));
        host.unload().expect("unload").assert_clean();
        let notes: Vec<&str> = host.notes().iter().map(|note| note.split(" at ").next().unwrap_or_default()).collect();
        assert_eq!(notes.len(), 4, "{level}: {:#?}", host.notes());
        assert_eq!(notes.first(), Some(&"MM_SYSTEM_RANGE_START"), "{level}");
        // Optimised code compares with the next number.
        for constant in ["0xffff00000000000", "0xffff08000000000", "0xffff80000000000"] {
            let start = format!("the constant {constant}");
            assert!(notes.iter().any(|note| note.starts_with(&start)), "{level}: {notes:#?}");
        }
    }
}

#[test]
fn sections_that_overlap_or_leave_the_image_are_refused() {
    let image = image();
    let table = section_table(&image);
    let mut overlapping = image.clone();
    // The fourth section has unwind data, which nothing reads in this test.
    overlapping[table + 3 * 40 + 12..table + 3 * 40 + 16].copy_from_slice(&0x1000_u32.to_le_bytes());
    assert_eq!(field(&overlapping), "section-layout");
    let mut outside = image;
    outside[table + 8..table + 12].copy_from_slice(&0x7FFF_0000_u32.to_le_bytes());
    assert_eq!(field(&outside), "section-layout");
}

#[test]
fn an_image_for_another_processor_is_refused() {
    let mut image = image();
    let header = header(&image);
    image[header + 4..header + 6].copy_from_slice(&0xAA64_u16.to_le_bytes());
    assert_eq!(field(&image), "Machine");
}

#[test]
fn an_import_table_without_an_end_is_refused() {
    let mut image = image();
    let directory = header(&image) + 24 + 112 + 8;
    image[directory..directory + 4].copy_from_slice(&0x1000_u32.to_le_bytes());
    assert!(plan(&image).is_err());
}

/// A copy of the image with other bytes at an offset from the PE signature.
fn with(image: &[u8], offset: usize, value: u32) -> Vec<u8> {
    let mut image = image.to_vec();
    let place = header(&image) + offset;
    image[place..place + 4].copy_from_slice(&value.to_le_bytes());
    image
}

/// Offsets from the PE signature.
const OPTIONAL: usize = 24;
const DIRECTORIES: usize = OPTIONAL + 112;

#[test]
fn every_part_of_a_header_is_named_when_it_is_wrong() {
    let image = image();
    let layout = plan(&image).expect("whole");
    let data = layout.sections.iter().find(|section| section.is_writable()).expect("data").rva;
    for (what, offset, value, expected) in [
        ("relocations that were stripped", 22, 0x020B_0023, "relocatable"),
        ("an entry point outside of the image", OPTIONAL + 16, 0x00F0_0000, "entry-point"),
        ("an entry point in data", OPTIONAL + 16, data, "entry-rights"),
        ("sections that share pages and are far apart", OPTIONAL + 32, 0x200, "section-layout"),
        ("an alignment of nothing", OPTIONAL + 32, 0, "SectionAlignment"),
        ("an image of 4 GiB", OPTIONAL + 56, 0xFFFF_F000, "SizeOfImage"),
        ("unwind tables outside of the image", DIRECTORIES + 3 * 8, 0xFFFF_0000, "data directory"),
        ("relocations outside of the image", DIRECTORIES + 5 * 8, 0xFFFF_0000, "relocation directory"),
        ("imports outside of the image", DIRECTORIES + 8, 0xFFFF_0000, "import table"),
    ] {
        let error = plan(&with(&image, offset, value)).expect_err(what);
        assert_eq!(error.field(), expected, "{what}: {}", error.reason());
    }
}

/// The bytes of a driver with a load configuration directory, and the directory's file offset.
fn guarded() -> (Vec<u8>, usize) {
    let libraries = ["ntoskrnl", "BufferOverflowFastFailK"];
    let path = c::build_at("-O0", "guard", 100, "DriverEntry", &libraries);
    let image = fs::read(path).expect("the driver");
    let directory = header(&image) + DIRECTORIES + 10 * 8;
    let rva = u32::from_le_bytes(image[directory..directory + 4].try_into().expect("four bytes"));
    let at = file_offset(&image, rva);
    (image, at)
}

#[test]
fn pointers_of_the_load_configuration_are_checked() {
    let (image, at) = guarded();
    let layout = plan(&image).expect("whole");
    assert!(layout.guard.cookie.is_some());
    assert!(layout.guard.check.is_some());
    assert!(layout.guard.dispatch.is_some());
    for (offset, field_name) in
        [(0x58, "SecurityCookie"), (0x70, "GuardCFCheckFunctionPointer"), (0x78, "GuardCFDispatchFunctionPointer")]
    {
        for address in [1, u64::MAX, layout.base + layout.bytes.len() as u64 - 4] {
            let mut damaged = image.clone();
            damaged[at + offset..at + offset + 8].copy_from_slice(&address.to_le_bytes());
            assert_eq!(field(&damaged), field_name, "{address:#x}");
        }
    }
}

#[test]
fn relocations_of_another_kind_are_refused() {
    let (mut image, _) = guarded();
    let directory = header(&image) + DIRECTORIES + 5 * 8;
    let rva = u32::from_le_bytes(image[directory..directory + 4].try_into().expect("four bytes"));
    let first = file_offset(&image, rva) + 8;
    image[first + 1] = image[first + 1] & 0x0F | 0x30;
    assert_eq!(field(&image), "relocation directory");
}

fn file_offset(image: &[u8], rva: u32) -> usize {
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().expect("four bytes"));
    let mut entries = (section_table(image)..).step_by(40).map(|at| (word(at + 12), word(at + 8), word(at + 20)));
    let (start, _, offset) = entries.find(|(start, size, _)| (*start..start + size).contains(&rva)).expect("a section");
    (rva - start + offset) as usize
}

#[test]
fn random_damage_never_panics() {
    let image = image();
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    for _ in 0..4000 {
        let mut damaged = image.clone();
        for _ in 0..=random.below(4) {
            // Three quarters of the damage is in the first 0x400 bytes, which have the headers.
            let limit = if random.below(4) == 0 { damaged.len() } else { 0x400 };
            let place = random.below(limit);
            damaged[place] = u8::try_from(random.below(256)).unwrap_or_default();
        }
        damaged.truncate(damaged.len() - random.below(8) * random.below(64));
        let _ = plan(&damaged);
    }
}

#[test]
fn damaged_images_that_load_do_not_take_the_host_with_them() {
    let image = image();
    let mut random = Random(0xFEED_F00D_0BAD_CAFE);
    let path = common::folder().join("damaged.sys");
    let mut ran = 0;
    for _ in 0..60 {
        let mut damaged = image.clone();
        for _ in 0..=random.below(6) {
            let place = 0x200 + random.below(damaged.len() - 0x200);
            damaged[place] = u8::try_from(random.below(256)).unwrap_or_default();
        }
        fs::write(&path, &damaged).expect("a file");
        let host = NtHost::builder().driver(&path).trace_all().patience(Duration::from_millis(100)).prepare();
        let Ok(host) = host else { continue };
        ran += 1;
        match host.load().and_then(|()| host.unload().map(drop)) {
            Ok(()) | Err(Error::DriverEntry(..) | Error::Stopped(_) | Error::Process(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(ran > 10, "only {ran} images could be loaded at all");
}

/// The driver uses a value of the registry as an index of a table. Whatever else is mapped, nothing is next to the image.
#[test]
fn an_index_that_leaves_the_image_is_found() {
    for index in [10_000, 50_000, 200_000] {
        let builder = NtHost::builder().driver(c::build("fuzz_bugs", 1, "DriverEntry", &["ntoskrnl"]));
        let started = builder.registry(RegistryKey::Parameters, "Mode", RegistryValue::Dword(index)).start();
        let Err(Error::Stopped(report)) = started else { panic!("{index}: the driver starts") };
        assert_eq!(report.findings_of(Rule::AccessViolation).count(), 1, "{index}: {report:?}");
    }
}

#[test]
fn damaged_symbols_cost_names_and_nothing_else() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged-symbols");
    fs::create_dir_all(&folder).expect("a folder");
    let source = common::broken("pool_leak");
    let driver = folder.join("pool_leak.sys");
    let symbols = folder.join("pool_leak.pdb");
    fs::copy(&source, &driver).expect("a copy of the driver");
    let whole = fs::read(source.with_extension("pdb")).expect("its symbols");
    let mut random = Random(0x0DDB_A11D_EADB_EEF5);
    for round in 0..20 {
        let mut damaged = whole.clone();
        for _ in 0..=random.below(64) {
            let place = random.below(if round % 2 == 0 { damaged.len() } else { 0x4000 });
            damaged[place] = u8::try_from(random.below(256)).unwrap_or_default();
        }
        fs::write(&symbols, &damaged).expect("symbols");
        let host = NtHost::builder().driver(&driver).start().expect("DriverEntry");
        let report = host.unload().expect("unload");
        assert!(report.findings().iter().all(|finding| finding.location.is_some()), "round {round}");
        assert_eq!(report.findings().len(), 1, "round {round}");
    }
}

fn header(image: &[u8]) -> usize {
    u32::from_le_bytes(image[0x3C..0x40].try_into().expect("four bytes")) as usize
}

fn section_table(image: &[u8]) -> usize {
    let header = header(image);
    let optional = u16::from_le_bytes(image[header + 20..header + 22].try_into().expect("two bytes"));
    header + 24 + usize::from(optional)
}
