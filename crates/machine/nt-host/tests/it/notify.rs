//! Notification routines, as security products use them. The test sends the notifications.

use crate::common::c::{Log, build, build_linked, plain};
use etw_types::NtStatus;
use nt_host::{Error, KeyOperation, Notification, NtHost, Rule};

fn created(process: u64, command_line: &str) -> Notification {
    let image = r"\??\C:\Windows\notepad.exe".to_owned();
    Notification::ProcessCreated { process, parent: 4, image, command_line: command_line.to_owned() }
}

#[test]
fn a_driver_gets_the_notifications_it_registered_for_and_can_deny_them() {
    let host = plain("wdm_notify").start().expect("DriverEntry");
    let mut log = Log::default();
    let told = host.notify(created(100, "notepad a.txt")).expect("a notification");
    assert_eq!(told.called, 1);
    assert_eq!(told.status, NtStatus::Success);
    let lines = [
        r"process 100 of 4: \??\C:\Windows\notepad.exe, 'notepad a.txt', its object 1",
        "too short: c0000004",
        "queried: 00000000",
        r"\??\C:\Windows\notepad.exe, \??\C:\Windows\notepad.exe, 1",
    ];
    assert_eq!(log.lines(&host), lines);
    assert_eq!(host.notify(created(104, "evil")).expect("a notification").status, NtStatus::AccessDenied);
    log.lines(&host);

    host.notify(Notification::Thread { process: 100, thread: 108, created: true }).expect("a notification");
    host.notify(Notification::Thread { process: 100, thread: 108, created: false }).expect("a notification");
    let image = r"\Windows\System32\ntdll.dll".to_owned();
    host.notify(Notification::ImageLoaded { process: 100, image, size: 0x1000 }).expect("a notification");
    host.notify(Notification::ProcessExited { process: 100 }).expect("a notification");
    let lines = [
        "thread 108 of 100 begins",
        "thread 108 of 100 ends",
        r"image \Windows\System32\ntdll.dll in 100, 4096 bytes",
        "process 100 ends",
    ];
    assert_eq!(log.lines(&host), lines);

    for (kind, status) in [(4, NtStatus::Success), (3, NtStatus::AccessDenied)] {
        let value = Notification::RegistrySetValue { value: "Run".into(), kind, data: vec![1, 2, 3, 4] };
        assert_eq!(host.notify(value).expect("a notification").status, status);
    }
    let lines = [
        "registry 1, context 7: Run, type 4, 4 bytes",
        "registry 16 after: 0, context 0",
        "registry 1, context 7: Run, type 3, 4 bytes",
    ];
    assert_eq!(log.lines(&host), lines);

    let handle = |thread, duplicated| Notification::HandleCreated { thread, duplicated, access: 0x411 };
    let told = host.notify(handle(false, false)).expect("a notification");
    assert_eq!(told.called, 1);
    assert_eq!(told.access, 0x410);
    // The driver registered only for process handles that are created, not for threads or duplicated handles.
    assert_eq!(host.notify(handle(true, false)).expect("a notification").called, 0);
    assert_eq!(host.notify(handle(false, true)).expect("a notification").called, 0);
    assert_eq!(log.lines(&host), ["handle 1, context 9, rights 411"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_driver_is_called_before_and_after_each_operation_on_the_registry() {
    let host = plain("wdm_notify").start().expect("DriverEntry");
    let mut log = Log::default();
    for (operation, name, status, lines) in [
        (
            KeyOperation::CreateKey,
            "New",
            NtStatus::Success,
            vec!["registry 26: New", "registry 27 after: 0, context 0"],
        ),
        (KeyOperation::OpenKey, "Secret", NtStatus::AccessDenied, vec!["registry 28: Secret"]),
        (KeyOperation::OpenKey, "Old", NtStatus::Success, vec!["registry 28: Old", "registry 29 after: 0, context 0"]),
        (KeyOperation::DeleteValue, "V", NtStatus::Success, vec!["registry 2: V", "registry 17 after: 0, context 0"]),
        (KeyOperation::QueryValue, "V", NtStatus::Success, vec!["registry 8: V", "registry 23 after: 0, context 0"]),
        (KeyOperation::RenameKey, "N", NtStatus::Success, vec!["registry 4: N", "registry 19 after: 0, context 0"]),
        // The pre-operation callback sets the call context 77, which the post-operation callback gets.
        (
            KeyOperation::DeleteKey,
            "",
            NtStatus::Success,
            vec![r"registry 0: \REGISTRY\MACHINE\Key", "registry 15 after: 0, context 77"],
        ),
    ] {
        let key = r"\REGISTRY\MACHINE\Key".to_owned();
        let told = host.notify(Notification::Registry { operation, key, name: name.into() }).expect("a notification");
        assert_eq!(told.called, 1, "{operation:?}");
        assert_eq!(told.status, status, "{operation:?}");
        assert_eq!(log.lines(&host), lines);
    }
    host.unload().expect("unload").assert_clean();
}

#[test]
fn registry_operations_of_a_driver_run_its_own_callbacks() {
    let image = build("wdm_notify", 2, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let lines = Log::default().lines(&host);
    let expected = [
        "registry 29 after: 0, context 0",
        "own key: 0",
        "registry 26: Secret",
        "secret: c0000022",
        "registry 26: Below",
        "registry 27 after: 0, context 0",
        "created: 0, 1",
        "registry 1, context 7: Number, type 4, 4 bytes",
        "registry 16 after: 0, context 0",
        "set: 0",
        "registry 1, context 7: Number, type 3, 4 bytes",
        "refused: c0000022",
        "registry 8: Number",
        "registry 23 after: 0, context 0",
        "query: 0",
        "registry 2: Number",
        "registry 17 after: 0, context 0",
        "delete value: 0",
        "registry 8: Number",
        "registry 23 after: c0000034, context 0",
        "gone: c0000034",
        "registry 4: Renamed",
        "registry 19 after: 0, context 0",
        "rename: 0",
    ];
    assert_eq!(lines[1..=expected.len()], expected);
    let [deleted, after, status] = &lines[expected.len() + 1..] else { panic!("{lines:?}") };
    assert!(deleted.starts_with("registry 0: "), "{deleted}");
    assert!(deleted.ends_with(r"\Renamed"), "{deleted}");
    assert_eq!(after.as_str(), "registry 15 after: 0, context 77");
    assert_eq!(status.as_str(), "delete: 0");
    host.unload().expect("unload").assert_clean();
}

/// Windows accepts process notification routines with details only from images that are linked with `/INTEGRITYCHECK`.
#[test]
fn an_image_without_force_integrity_is_refused() {
    let image = build_linked(&["/integritycheck:no"], "wdm_gaps", 0, "DriverEntry", &["ntoskrnl"]);
    let Err(Error::DriverEntry(status, report)) = NtHost::builder().driver(image).start() else { panic!("it loads") };
    assert_eq!(status, NtStatus::AccessDenied);
    let [gap] = report.gaps() else { panic!("{:#?}", report.gaps()) };
    assert!(gap.advice.iter().any(|advice| advice.ends_with("link it with /INTEGRITYCHECK")), "{gap:#?}");
}

#[test]
fn a_routine_that_was_not_removed_is_found() {
    let host =
        NtHost::builder().driver(build("wdm_notify", 1, "DriverEntry", &["ntoskrnl"])).start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::ObjectLeak).map(|finding| finding.detail.as_str()).collect();
    assert_eq!(found, ["does not remove a thread notification routine"]);
}

/// When the driver is loaded again, the routine of its previous instance is not called.
#[test]
fn a_routine_of_a_callback_object_does_not_outlive_its_driver() {
    let image = build("wdm_notify", 3, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["callback, context 5, argument 2"]);
    let report = host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|finding| (finding.rule, finding.detail.as_str())).collect();
    assert_eq!(found, [(Rule::HandleLeak, "does not close a handle (callback)")]);
    host.load().expect("DriverEntry");
    assert_eq!(log.lines(&host), ["callback, context 5, argument 2"]);
}
