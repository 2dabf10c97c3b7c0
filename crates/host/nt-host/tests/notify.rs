//! Notification routines, as drivers of security products have them: the test says what happens in the system.
#![cfg(test)]

#[path = "common/c.rs"]
mod c;

use c::{Log, build, plain};
use etw_types::NtStatus;
use nt_host::{Notification, NtHost, Rule};

fn created(process: u64, command_line: &str) -> Notification {
    let image = r"\??\C:\Windows\notepad.exe".to_owned();
    Notification::ProcessCreated { process, parent: 4, image, command_line: command_line.to_owned() }
}

#[test]
fn a_driver_is_told_what_it_asked_for_and_decides() {
    let (host, mut log) = (plain("wdm_notify").start().expect("DriverEntry"), Log::default());
    let told = host.notify(created(100, "notepad a.txt")).expect("a notification");
    assert_eq!((told.called, told.status), (1, NtStatus::Success));
    let line = r"process 100 of 4: \??\C:\Windows\notepad.exe, 'notepad a.txt', its object 1";
    assert_eq!(log.lines(&host), [line]);
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
    assert_eq!(log.lines(&host)[1], "registry 1, context 7: Run, type 3, 4 bytes");

    let handle = |thread, duplicated| Notification::HandleCreated { thread, duplicated, access: 0x411 };
    let told = host.notify(handle(false, false)).expect("a notification");
    assert_eq!((told.called, told.access), (1, 0x410));
    // The driver asked for handles to processes that are created, and for no others.
    assert_eq!(host.notify(handle(true, false)).expect("a notification").called, 0);
    assert_eq!(host.notify(handle(false, true)).expect("a notification").called, 0);
    assert_eq!(log.lines(&host), ["handle 1, context 9, rights 411"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_routine_that_is_left_is_found() {
    let host =
        NtHost::builder().driver(build("wdm_notify", 1, "DriverEntry", &["ntoskrnl"])).start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.of(Rule::ObjectLeak).map(|finding| finding.detail.as_str()).collect();
    assert_eq!(found, ["a thread notification routine is left"]);
}
