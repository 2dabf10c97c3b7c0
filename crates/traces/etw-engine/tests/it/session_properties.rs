//! The rules of `StartTrace`, and the error for each of them.

use crate::common::TempFile;
use etw_engine::{Engine, EngineOptions, Properties, Rights};
use etw_types::session::{KERNEL_LOGGER_NAME, SYSTEM_TRACE_CONTROL, mode};
use etw_types::{Guid, Win32Error};

fn refused(properties: &Properties) -> Win32Error {
    Engine::new().start(properties).unwrap_err()
}

fn with_mode(bits: u32) -> Properties {
    Properties { mode: bits, maximum_file_size: 1, ..Properties::to_file("s", TempFile::new("never-%d").path()) }
}

#[test]
fn a_session_needs_a_name_of_at_most_1024_characters() {
    assert_eq!(refused(&Properties::to_consumers("")), Win32Error::InvalidParameter);
    assert_eq!(refused(&Properties::to_consumers("a\0b")), Win32Error::InvalidParameter);
    assert_eq!(refused(&Properties::to_consumers(&"n".repeat(1025))), Win32Error::BadLength);
    assert_eq!(refused(&Properties::to_file("s", "f".repeat(1025))), Win32Error::BadLength);
    assert!(Engine::new().start(&Properties::to_consumers(&"n".repeat(1024))).is_ok());
}

#[test]
fn a_session_without_file_and_mode_has_a_bad_path() {
    for bits in [0, mode::SEQUENTIAL, mode::REAL_TIME | mode::SEQUENTIAL] {
        let properties = Properties { mode: bits, name: "s".into(), ..Properties::default() };
        assert_eq!(refused(&properties), Win32Error::BadPathname, "{bits:#x}");
    }
    assert_eq!(refused(&Properties::to_file("s", "/no/such/folder/f.etl")), Win32Error::PathNotFound);
}

#[test]
fn modes_that_exclude_each_other_are_refused() {
    for bits in [
        mode::SEQUENTIAL | mode::CIRCULAR,
        mode::SEQUENTIAL | mode::NEWFILE,
        mode::CIRCULAR | mode::NEWFILE,
        mode::CIRCULAR | mode::APPEND,
        mode::APPEND | mode::NEWFILE,
        mode::APPEND | mode::REAL_TIME,
        mode::APPEND | mode::PRIVATE_LOGGER,
        mode::BUFFERING | mode::SEQUENTIAL,
        mode::BUFFERING | mode::REAL_TIME,
        mode::PRIVATE_LOGGER | mode::REAL_TIME,
        mode::PRIVATE_LOGGER | mode::INDEPENDENT_SESSION,
        mode::PRIVATE_LOGGER | mode::PREALLOCATE,
        mode::PRIVATE_IN_PROC,
        mode::USE_GLOBAL_SEQUENCE | mode::USE_LOCAL_SEQUENCE,
        mode::SYSTEM_LOGGER | mode::USE_PAGED_MEMORY,
        mode::NONSTOPPABLE,
        mode::DELAY_OPEN_FILE,
        mode::ADD_HEADER,
        mode::RELOG,
    ] {
        assert_eq!(refused(&with_mode(bits)), Win32Error::InvalidParameter, "{bits:#x}");
    }
    assert_eq!(refused(&with_mode(mode::COMPRESSED)), Win32Error::NotSupported);
}

#[test]
fn modes_with_a_size_need_one_and_new_files_need_a_number() {
    for bits in [mode::CIRCULAR, mode::NEWFILE, mode::PREALLOCATE] {
        let properties = Properties { maximum_file_size: 0, ..with_mode(bits) };
        assert_eq!(refused(&properties), Win32Error::InvalidParameter, "{bits:#x}");
    }
    let plain = Properties { log_file: Some("plain.etl".into()), ..with_mode(mode::NEWFILE) };
    assert_eq!(refused(&plain), Win32Error::InvalidParameter);
}

#[test]
fn appending_needs_the_clock_of_the_system_and_a_file_like_the_session() {
    let file = TempFile::new("append");
    let append = Properties { mode: mode::APPEND, ..Properties::to_file("s", file.path()) };
    assert_eq!(refused(&append), Win32Error::InvalidParameter);
    assert_eq!(refused(&Properties { clock: 4.into(), ..Properties::to_consumers("s") }), Win32Error::InvalidParameter);
    let append = Properties { clock: 2.into(), ..append };
    Engine::new().start(&append).unwrap().finish().unwrap();
    let other_buffers = Properties { buffer_kib: 128, ..append.clone() };
    assert_eq!(refused(&other_buffers), Win32Error::InvalidParameter, "what is there is not overwritten");
    std::fs::write(file.path(), vec![1; 100_000]).unwrap();
    assert_eq!(refused(&append), Win32Error::InvalidParameter, "nor is what is not a trace");
    assert_eq!(std::fs::read(file.path()).unwrap(), vec![1; 100_000]);
}

#[test]
fn names_and_guids_are_unique_without_regard_to_case() {
    let engine = Engine::new();
    let guid = Guid::from_name("a session");
    let first = engine.start(&Properties { guid, ..Properties::to_consumers("Höhe") }).unwrap();
    assert_eq!(engine.start(&Properties::to_consumers("hÖHE")).unwrap_err(), Win32Error::AlreadyExists);
    let same = Properties { guid, ..Properties::to_consumers("other") };
    assert_eq!(engine.start(&same).unwrap_err(), Win32Error::AlreadyExists);
    assert_eq!(engine.find_session("HÖHE").unwrap().handle(), first.handle());
    first.finish().unwrap();
    assert!(engine.start(&same).is_ok());
    let one = engine.start(&Properties::to_consumers("1"));
    let two = engine.start(&Properties::to_consumers("2"));
    assert_ne!(
        one.unwrap().status().status.properties.guid,
        two.unwrap().status().status.properties.guid,
        "zero lets the engine choose"
    );
}

#[test]
fn a_file_has_one_session() {
    let engine = Engine::new();
    let file = TempFile::new("shared");
    let session = engine.start(&Properties::to_file("1", file.path())).unwrap();
    assert_eq!(engine.start(&Properties::to_file("2", file.path())).unwrap_err(), Win32Error::BadPathname);
    session.finish().unwrap();
    assert!(engine.start(&Properties::to_file("2", file.path())).is_ok());
}

#[test]
fn sixty_four_sessions_run_and_no_more() {
    let engine = Engine::new();
    let name = |number: usize| Properties { buffer_kib: 4, ..Properties::in_memory(&number.to_string()) };
    let sessions: Vec<_> = (0..64).map(|number| engine.start(&name(number)).unwrap()).collect();
    assert_eq!(engine.start(&name(64)).unwrap_err(), Win32Error::NoSystemResources);
    assert!(engine.start_session("in memory").is_stopped(), "the simple way has no error to give");
    sessions[7].finish().unwrap();
    assert!(engine.start(&name(64)).is_ok());
    let ids: std::collections::BTreeSet<u16> =
        engine.sessions().iter().map(|session| session.status().logger_id).collect();
    assert_eq!(ids.len(), 64, "numbers are used again, and never twice");
}

#[test]
fn eight_sessions_take_system_events_and_the_kernels_own_has_its_guid() {
    let engine = Engine::new();
    let kernel = engine.start(&Properties::to_consumers(KERNEL_LOGGER_NAME)).unwrap().status();
    assert_eq!(kernel.status.properties.guid, SYSTEM_TRACE_CONTROL);
    assert!(kernel.status.is_system());
    assert_eq!(kernel.logger_id, 0);
    let stolen = Properties { guid: SYSTEM_TRACE_CONTROL, ..Properties::to_consumers("mine") };
    assert_eq!(engine.start(&stolen).unwrap_err(), Win32Error::InvalidParameter);
    let system = |number: usize| Properties {
        mode: mode::REAL_TIME | mode::SYSTEM_LOGGER,
        ..Properties::to_consumers(&number.to_string())
    };
    for number in 1..8 {
        engine.start(&system(number)).unwrap();
    }
    assert_eq!(engine.start(&system(8)).unwrap_err(), Win32Error::NoSystemResources);
}

#[test]
fn eight_sessions_are_private_and_three_of_them_in_process() {
    let engine = Engine::new();
    let files: Vec<TempFile> = (0..8).map(|number| TempFile::new(&format!("private-{number}"))).collect();
    let start = |number: usize, bits: u32| {
        let file = Properties::to_file(&number.to_string(), files[number % 8].path());
        let mode = file.mode | mode::PRIVATE_LOGGER | bits;
        engine.start(&Properties { mode, buffer_kib: 4, ..file }).map(drop)
    };
    for number in 0..3 {
        assert_eq!(start(number, mode::PRIVATE_IN_PROC), Ok(()));
    }
    assert_eq!(start(3, mode::PRIVATE_IN_PROC), Err(Win32Error::NoSystemResources));
    for number in 3..8 {
        assert_eq!(start(number, 0), Ok(()));
    }
    engine.find_session("7").unwrap().finish().unwrap();
    assert_eq!(start(7, 0), Ok(()));
    let last = Properties { mode: mode::SEQUENTIAL | mode::PRIVATE_LOGGER, ..Properties::to_file("8", "unused.etl") };
    assert_eq!(engine.start(&last).unwrap_err(), Win32Error::NoSystemResources);
    assert!(engine.start(&Properties::to_consumers("not private")).is_ok());
}

#[test]
fn buffers_are_moved_into_their_limits() {
    let engine = Engine::with_options(EngineOptions { processors: 4, ..EngineOptions::default() });
    let start = |name: &str, asked: Properties| {
        let session = engine.start(&Properties { name: name.into(), ..asked }).unwrap();
        let chosen = session.finish().unwrap().status.properties;
        (chosen.buffer_kib, chosen.minimum_buffers, chosen.maximum_buffers)
    };
    let asked = |buffer_kib, minimum_buffers, maximum_buffers| Properties {
        buffer_kib,
        minimum_buffers,
        maximum_buffers,
        ..Properties::to_consumers("")
    };
    assert_eq!(start("default", asked(0, 0, 0)), (64, 8, 28), "two for each processor, and twenty more");
    assert_eq!(start("small", asked(1, 1, 1)), (4, 8, 8));
    assert_eq!(start("as asked", asked(128, 10, 12)), (128, 10, 12));
    let one = Properties { mode: mode::REAL_TIME | mode::NO_PER_PROCESSOR_BUFFERING, ..asked(4, 0, 0) };
    assert_eq!(start("one stream", one), (4, 2, 22));
    let large = Properties { mode: mode::BUFFERING, ..asked(u32::MAX, 0, 100) };
    assert_eq!(start("in memory", Properties { buffer_kib: 8, ..large }), (8, 8, 8), "only the minimum counts");
}

#[test]
fn a_caller_without_rights_cannot_control_sessions() {
    let engine = Engine::with_options(EngineOptions {
        rights: Rights { control: false, profile: true },
        ..EngineOptions::default()
    });
    assert_eq!(engine.start(&Properties::to_consumers("s")).unwrap_err(), Win32Error::AccessDenied);
}
