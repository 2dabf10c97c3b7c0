//! Minifilters: callbacks, contexts, names, ports, and the mistakes that they make.

use etw_types::NtStatus;
use nt_host::{Builder, Error, FileOpen, GapKind, NtHost, Outcome, RegistryKey, RegistryValue, Report, Rule};

use crate::common::c::{build, temporary};

const FILES: [(&str, &str); 5] = [
    (r"\dir\A.txt", "hello"),
    (r"\dir\slow.txt", "slowly"),
    (r"\dir\held.txt", "held"),
    (r"\dir\late.txt", "late"),
    (r"\dir\secret.txt", "secret"),
];

fn builder(bug: u32) -> Builder {
    let image = build("filter", bug, "DriverEntry", &["ntoskrnl", "fltMgr"]);
    let builder = NtHost::builder().driver(image);
    FILES.iter().fold(builder, |builder, (path, contents)| builder.volume_file(path, *contents))
}

fn start(bug: u32) -> NtHost {
    builder(bug).start().expect("DriverEntry")
}

fn status(result: Result<impl std::fmt::Debug, Error>) -> NtStatus {
    match result {
        Err(Error::Status(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operations_pass_through_the_callbacks() {
    let host = start(0);
    let volume = host.volume();
    let file = volume.open(r"\DIR\a.TXT").expect("an open");
    assert_eq!(file.read(1, 3).expect("a read").output, b"ELL");
    assert_eq!(file.read(5, 3).expect("a read").status, NtStatus::EndOfFile);
    let written = file.write(5, b", world").expect("a write");
    assert_eq!(written.status, NtStatus::Success);
    assert_eq!(written.information, 7);
    assert_eq!(file.read(0, 64).expect("a read").output, b"HELLO, WORLD");
    let renamed = file.rename(r"\dir\b.txt").expect("a rename");
    assert_eq!(renamed.status, NtStatus::Success);
    assert_eq!(volume.list(r"\dir").expect("names"), ["b.txt", "held.txt", "late.txt", "secret.txt", "slow.txt"]);
    assert_eq!(file.delete().expect("a deletion").status, NtStatus::Success);
    assert_eq!(status(volume.open(r"\dir\b.txt")), NtStatus::DeletePending);
    file.close().expect("a close");
    assert_eq!(status(volume.open(r"\dir\b.txt")), NtStatus::ObjectNameNotFound);
    assert_eq!(status(volume.open(r"\none\b.txt")), NtStatus::ObjectPathNotFound);
    let report = host.unload().expect("unload");
    report.assert_clean();
    let output = report.output();
    for line in [
        r"setup 1 8 2: 00000000 \Device\HarddiskVolume1",
        r"create \Device\HarddiskVolume1\dir\A.txt: \dir\ A.txt txt",
        "read 2 of this stream",
        r"rename to \Device\HarddiskVolume1\dir\b.txt",
        "set: 00000000, deleted: 1",
        "context 8 gone",
        "teardown 2",
    ] {
        assert!(output.contains(&format!("{line}\n")), "{line}: {output}");
    }
}

#[test]
fn a_minifilter_refuses_cancels_and_pends() {
    let host = start(0);
    let volume = host.volume();
    assert_eq!(status(volume.open(r"\dir\secret.txt")), NtStatus::AccessDenied);
    // STATUS_VIRUS_INFECTED: the file system had opened the file, and the minifilter canceled that.
    assert_eq!(status(volume.open(r"\dir\late.txt")).as_int(), 0xC000_0906);
    let file = volume.open(r"\dir\moved.txt").expect("an open of another file");
    assert_eq!(file.read(0, 64).expect("a read").output, b"HELLO");
    file.close().expect("a close");
    let file = volume.open(r"\dir\slow.txt").expect("an open");
    assert_eq!(file.read(0, 64).expect("a read").output, b"SLOWLY");
    file.close().expect("a close");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert!(report.output().contains("resume\n"), "{}", report.output());
}

#[test]
fn pended_operations_end_when_they_are_canceled_or_their_instance_goes() {
    let host = start(0);
    let file = host.volume().open(r"\dir\held.txt").expect("an open");
    let reading = file.begin_read(0, 4).expect("a read");
    reading.cancel().expect("a cancellation");
    assert_eq!(reading.wait().expect("a result").status, NtStatus::Cancelled);
    let reading = file.begin_read(0, 4).expect("a read");
    host.volume().detach().expect("the detachment");
    // STATUS_FILE_FORCED_CLOSED.
    assert_eq!(reading.wait().expect("a result").status.as_int(), 0xC000_00B6);
    host.volume().attach().expect("the attachment");
    assert_eq!(status(host.volume().open(r"\dir\secret.txt")), NtStatus::AccessDenied);
    host.unload().expect("unload").assert_clean();
}

/// As the page of `FltBuildDefaultSecurityDescriptor` says: only users with system or administrator privileges have access.
#[test]
fn the_default_security_descriptor_is_for_administrators_and_the_system() {
    let report = start(0).unload().expect("unload");
    report.assert_clean();
    // FLT_PORT_ALL_ACCESS, for BUILTIN\Administrators and the local system account.
    let expected = "S-1-5-32-544 gets 001f0001\nS-1-5-18 gets 001f0001\nentries: 2\n";
    assert!(report.output().contains(expected), "{}", report.output());
}

#[test]
fn programs_talk_to_the_minifilter() {
    let host = start(0);
    let volume = host.volume();
    let port = volume.connect(r"\FilterPort", b"context").expect("a connection");
    assert_eq!(status(volume.connect(r"\FilterPort", &[])), NtStatus::ConnectionCountLimit);
    assert_eq!(port.send(b"echo", 64).expect("an answer").output, b"echo");
    assert_eq!(port.send(b"echo", 2).expect("an answer").status, NtStatus::BufferTooSmall);
    let file = volume.create(r"\dir\new.txt").expect("a file");
    port.reply(b"no").expect("a reply");
    assert_eq!(file.write(0, b"first").expect("a write").status, NtStatus::AccessDenied);
    port.reply(b"yes").expect("a reply");
    assert_eq!(file.write(0, b"second").expect("a write").status, NtStatus::Success);
    // Without a reply, the message times out, and the driver lets the write pass.
    assert_eq!(file.write(0, b"third").expect("a write").status, NtStatus::Success);
    assert_eq!(port.messages().expect("messages"), [b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    port.close().expect("a close");
    let report = host.unload().expect("unload");
    report.assert_clean();
    for line in ["write: 00000000 2", "write: 00000102 4", "disconnected"] {
        assert!(report.output().contains(&format!("{line}\n")), "{line}: {}", report.output());
    }
}

/// Runs the minifilter with a mistake: opens, reads and closes files.
fn broken(bug: u32) -> Report {
    let host = start(bug);
    let volume = host.volume();
    for path in [r"\dir\A.txt", r"\dir\slow.txt", r"\dir\late.txt"] {
        if let Ok(file) = volume.open(path) {
            file.read(0, 64).expect("a read");
            file.close().expect("a close");
        }
    }
    host.unload().expect("unload")
}

#[test]
fn mistakes_of_minifilters_are_findings_and_their_corrections_are_not() {
    broken(0).assert_clean();
    for (bug, rule, words) in [
        (1, Rule::ObjectLeak, "does not release its stream context (references left: 1)"),
        (2, Rule::ObjectLeak, "does not release name information (references left: 1)"),
        (3, Rule::IrqlTooHigh, "called at IRQL 2, allowed up to 1"),
        (4, Rule::BadArgument, "queries the short name before the file is open"),
        (6, Rule::IrqlTooHigh, "called at IRQL 2, allowed up to 1"),
        (7, Rule::RequestMisuse, "returns FLT_PREOP_DISALLOW_FASTIO, which is for fast I/O only, for IRP_MJ_CREATE"),
        (8, Rule::RequestMisuse, "fails IRP_MJ_CLOSE"),
        (9, Rule::RequestMisuse, "without a call of FltSetCallbackDataDirty"),
        (10, Rule::RequestMisuse, "completes an operation that is not pended"),
        (11, Rule::ObjectLeak, r"does not close the communication port \FilterPort"),
        (12, Rule::ObjectLeak, "leaves the filter registered"),
        (13, Rule::RequestMisuse, "but has registered none"),
        (14, Rule::RequestMisuse, "without FltCancelFileOpen"),
        (15, Rule::RequestMisuse, "sets a completion context for IRP_MJ_CREATE"),
    ] {
        let report = broken(bug);
        let found = report.findings_of(rule).find(|finding| finding.detail.contains(words));
        let place = found.and_then(|finding| finding.location.as_ref()).and_then(|location| location.file.as_deref());
        assert!(place.is_some_and(|file| file.ends_with("filter.c")), "{bug}: {:#?}", report.findings());
        let others = report.findings().iter().filter(|finding| finding.rule != rule).count();
        assert_eq!(others, 0, "{bug}: {:#?}", report.findings());
    }
}

#[test]
fn an_operation_that_stays_pended_is_a_finding() {
    let host = start(5);
    let file = host.volume().open(r"\dir\held.txt").expect("an open");
    assert_eq!(file.read(0, 4).expect("a read").status, NtStatus::Cancelled);
    let found = host.report();
    let found = found.findings_of(Rule::RequestNever).next().expect("a finding");
    assert_eq!(found.detail, "pends IRP_MJ_READ and never completes it, even after it was canceled");
    // An instance that goes must complete what it pends.
    let host = start(16);
    let file = host.volume().open(r"\dir\held.txt").expect("an open");
    let reading = file.begin_read(0, 4).expect("a read");
    let report = host.unload().expect("unload");
    let found = report.findings_of(Rule::RequestNever).next().expect("a finding");
    assert_eq!(found.detail, "pends IRP_MJ_READ and does not complete it when its instance goes");
    drop(reading);
}

#[test]
fn a_volume_is_a_copy_of_a_folder() {
    let folder = temporary("volume");
    std::fs::create_dir_all(folder.join("sub")).expect("a folder");
    std::fs::write(folder.join("sub/Note.md"), "text").expect("a file");
    let host = builder(0).volume_from(&folder).start().expect("DriverEntry");
    let file = host.volume().open(r"C:\SUB\note.md").expect("an open");
    assert_eq!(file.read(0, 64).expect("a read").output, b"TEXT");
    file.write(0, b"changed").expect("a write");
    file.close().expect("a close");
    assert_eq!(host.volume().list(r"\sub").expect("names"), ["Note.md"]);
    host.unload().expect("unload").assert_clean();
    assert_eq!(std::fs::read_to_string(folder.join("sub/Note.md")).expect("a file"), "text");
    let missing = builder(0).volume_from(folder.join("missing")).prepare();
    assert!(matches!(missing, Err(Error::Usage(text)) if text.contains("to the volume")));
}

#[test]
fn a_minifilter_without_an_instance_filters_nothing() {
    let key = r"\Registry\Machine\System\CurrentControlSet\Services\c_filter_0\Instances";
    let host = builder(0)
        .registry(RegistryKey::Path(key.into()), "DefaultInstance", RegistryValue::Text("Main".into()))
        .registry(RegistryKey::Path(format!(r"{key}\Main")), "Altitude", RegistryValue::Text("385100.5".into()))
        .registry(RegistryKey::Path(format!(r"{key}\Main")), "Flags", RegistryValue::Dword(1))
        .start()
        .expect("DriverEntry");
    assert!(host.volume().open(r"\dir\secret.txt").is_ok());
    let report = host.unload().expect("unload");
    assert_eq!(report.outcome(), Outcome::Incomplete);
    let gap = report.gaps().first().expect("a gap");
    assert_eq!(gap.kind, GapKind::NotReached);
    assert!(gap.detail.contains("its minifilter has no instance on the volume"), "{gap}");
}

#[test]
fn files_are_created_with_the_parameters_of_the_system() {
    let host = start(0);
    let open = |path: &str, disposition, options| {
        host.volume().open_with(FileOpen { path: path.into(), disposition, options, access: 0 })
    };
    // FILE_SUPERSEDE empties a file; FILE_OVERWRITE_IF creates one; a folder is not a file.
    let file = open(r"\dir\A.txt", 0, 0).expect("a file");
    assert_eq!(file.read(0, 4).expect("a read").status, NtStatus::EndOfFile);
    open(r"\dir\n.txt", 5, 0).expect("a file").close().expect("a close");
    assert_eq!(status(open(r"\dir\n.txt", 2, 0)), NtStatus::ObjectNameCollision);
    assert_eq!(status(open(r"\dir", 1, 0x40)), NtStatus::FileIsADirectory);
    let folder = host.volume().create_folder(r"\dir\sub").expect("a folder");
    assert_eq!(folder.list("*").expect("names"), Vec::<String>::new());
    // FILE_DELETE_ON_CLOSE.
    open(r"\dir\sub\t.txt", 2, 0x1000).expect("a file").close().expect("a close");
    assert_eq!(folder.list("*").expect("names"), Vec::<String>::new());
    assert_eq!(
        host.volume().open(r"\dir").expect("a folder").delete().expect("an answer").status,
        NtStatus::DirectoryNotEmpty
    );
    // FileStandardInformation and FileNameInformation.
    let size = file.query(5, 24).expect("an answer");
    assert_eq!(size.status, NtStatus::Success);
    assert_eq!(size.output.len(), 24);
    let name = file.query(9, 8).expect("an answer");
    assert_eq!(name.status, NtStatus::BufferOverflow);
    assert_eq!(name.output, [20, 0, 0, 0, b'\\', 0, b'd', 0].to_vec());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_minifilter_asks_about_filters_and_uses_files() {
    let text = |text: &str| RegistryValue::Text(text.into());
    let base = r"\Registry\Machine\System\CurrentControlSet\Services\c_filter_queries_0\Instances";
    let host = NtHost::builder()
        .driver(build("filter_queries", 0, "DriverEntry", &["ntoskrnl", "fltMgr"]))
        .registry(RegistryKey::Path(base.into()), "DefaultInstance", text("First"))
        .registry(RegistryKey::Path(format!(r"{base}\First")), "Altitude", text("385000"))
        .start()
        .expect("DriverEntry");
    host.volume().open(r"\new.txt").expect("an open").close().expect("a close");
    assert_eq!(status(host.volume().open(r"\none.txt")), NtStatus::ObjectNameNotFound);
    let report = host.unload().expect("unload");
    report.assert_clean();
    for line in [
        "session 00000000 0, priority 2 2, wait 00000102\n",
        "IRP_MJ_CREATE of \\new.txt: 00000000 here\n",
        "IRP_MJ_CREATE of \\none.txt: c0000034 here\n",
    ] {
        assert!(report.output().contains(line), "{line}: {}", report.output());
    }
}
