//! Commands on sessions; a batch runs several of them in one process.

use std::fs;

use crate::common::{etwctl, etwctl_with, scratch};
use serde_json::Value;

#[test]
fn a_session_is_started_used_and_stopped() {
    let path = scratch("batch.etl");
    let script = format!(
        "# a session's life\n\
         start 'My Session' --etl {0} --real-time --system process,thread --max-buffers 50\n\
         enable 'My Session' MyDriver --level 4 --any 0x3 --event-id 1 --event-id 2 --stack-id 1\n\
         providers MyDriver\n\
         capture 'My Session' MyDriver\n\
         info set stack-tracing 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c/1 --session 'My Session'\n\
         info set stack-tracing --session 'My Session'\n\
         info set system-flags process,perf-profile --session 'My Session'\n\
         info get system-flags --session 'My Session'\n\
         info set 10 MyDriver --session 'My Session'\n\
         info get 14 --session 'My Session'\n\
         info set 16 MyDriver --every 60s --session 'My Session'\n\
         info set 18 on --session 'My Session'\n\
         info set 20 call-stack exclude-kernel --session 'My Session'\n\
         info set 21 0xf2e --session 'My Session'\n\
         info set 24 on --session 'My Session'\n\
         info set 26 on --session 'My Session'\n\
         info set 28 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c/1 --session 'My Session'\n\
         info set 8 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c/1 --session 'My Session'\n\
         info set 9 0 --session 'My Session'\n\
         info get 27\n\
         info set 5 0=20000\n\
         info get 5 --of 0\n\
         info set 6 0\n\
         update 'My Session' --flush 3s\n\
         sessions 'My Session'\n\
         flush 'My Session'\n\
         disable 'My Session' MyDriver\n\
         stop 'My Session'\n",
        path.display()
    );
    let run = etwctl_with("batch", &script);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    for text in
        ["process perf-profile", "b3864c38-4273-58c5", "20000", "flush_timer             3", "stopped My Session"]
    {
        let text = text.replace("b3864c38-4273-58c5", &etw_types::Guid::from_name("MyDriver").to_string());
        assert!(run.out.contains(&text), "{text} in {}", run.out);
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn every_class_that_can_be_got_is_got() {
    let mut script =
        String::from("start S --real-time --system process\nenable S MyDriver\nenable S MyGroup --group\n");
    for class in [0, 2, 3, 4, 5, 7, 11, 12, 14, 17, 19, 22, 23, 25, 27] {
        script.extend(["info get ", &class.to_string(), " --session S --json\n"]);
    }
    script.push_str("info get 1 --guid MyDriver --json\ninfo get 13 --guid MyGroup --json\nsessions --json\n");
    // Classes that do not belong to a session reject `--session`, so it is removed from their lines.
    let script: String = script
        .lines()
        .map(|line| match line.split_whitespace().nth(2) {
            Some("3" | "4" | "14" | "23") => format!("{line}\n"),
            _ => format!("{}\n", line.replace(" --session S", "")),
        })
        .collect();
    let run = etwctl_with("batch", &script);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let results: Vec<Value> = run.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(results.len(), 18, "{}", run.out);
    assert_eq!(results[17]["rows"][0]["name"], "S");
}

#[test]
fn errors_of_the_system_are_explained() {
    for (line, code, text) in [
        ("stop Nothing", 1, "4201 WMI_INSTANCE_NOT_FOUND"),
        ("info get 3 --raw --session Nothing", 1, "4201"),
        ("info set 7", 5, "50 NOT_SUPPORTED"),
        ("info get 6", 5, "50 NOT_SUPPORTED"),
        ("info get 15", 1, "87 INVALID_PARAMETER"),
        ("info set 6", 1, "0 profile sources: the minimum is 1"),
        ("info set 5 0=1 --raw 00", 1, "24 BAD_LENGTH"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, code, "{line}: {}", run.err);
        assert!(run.err.contains(text), "{line}: {}", run.err);
    }
}

#[test]
fn a_flush_timer_is_in_seconds_whatever_the_session_counts() {
    let script = "start Seconds --real-time --flush 2s\nupdate Seconds --flush 3s --json\n\
                  start Parts --real-time --flush 500ms\nupdate Parts --flush 3s --json\nupdate Seconds --flush 500ms\n";
    let run = etwctl_with("batch", script);
    let timers: Vec<Value> = run
        .out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|status| status["flush_timer"].clone())
        .collect();
    assert_eq!(timers, [Value::from(3), Value::from(3000)], "{}", run.out);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("--flush 500ms: the flush timer of this session needs whole seconds"), "{}", run.err);
}

#[test]
fn a_running_session_gets_its_next_file_and_finishes_one() {
    let path = scratch("next-%d.etl");
    let script = format!(
        "start N --etl {0} --numbered 1MiB\nupdate N --next-file\nupdate N --finish-file --json\nstop N\n\
         start S --real-time\nupdate S --next-file\n",
        path.display()
    );
    let run = etwctl_with("batch", &script);
    let second = path.display().to_string().replace("%d", "2");
    assert!(
        run.out.contains(&format!("updated N: 0 buffers written, 0 events and 0 buffers lost, {second}")),
        "{}",
        run.out
    );
    let status: Value = run.out.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
    assert_eq!(status["modes"], serde_json::json!(["real-time", "independent"]), "{}", run.out);
    assert!(run.out.contains("stopped N"), "{}", run.out);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("line 6: error: ControlTrace(increment file): 87 INVALID_PARAMETER"), "{}", run.err);
    for number in ["1", "2"] {
        fs::remove_file(path.display().to_string().replace("%d", number)).unwrap();
    }
}

#[test]
fn a_batch_stops_at_the_first_failure_unless_it_is_to_continue() {
    let script = "start A --real-time\nstart A --real-time\nsessions --json\n";
    let stopped = etwctl_with("batch", script);
    assert_eq!(stopped.code, 1);
    assert!(stopped.err.contains("line 2: error: StartTrace: 183 ALREADY_EXISTS"), "{}", stopped.err);
    assert!(!stopped.out.contains("\"name\""));
    let went_on = etwctl_with("batch --keep-going", script);
    assert_eq!(went_on.code, 1);
    assert!(went_on.out.contains("\"name\":\"A\""));
}

#[test]
fn the_list_of_classes_has_all_of_them() {
    let run = etwctl("info list --json");
    let classes: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(classes["rows"].as_array().unwrap().len(), etw_session::info::all().len());
    assert_eq!(classes["rows"][28]["name"], "context-registers");
}

#[test]
fn a_session_at_boot_is_a_file_for_the_registry() {
    let file = scratch("boot.reg");
    let read = || {
        let bytes = fs::read(&file).unwrap();
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        String::from_utf16(&units).unwrap()
    };
    let run = etwctl(&format!(
        "autologger add Boot MyDriver --level warning --any 0x5 --etl C:\\traces\\boot.etl --sequential 64MiB --keep 2 --reg {}",
        file.display()
    ));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("reg import"), "{}", run.err);
    assert!(run.err.contains("computed from the name 'MyDriver'"), "{}", run.err);
    let text = read();
    let guid = etw_types::Guid::from_name("MyDriver");
    for line in [
        "\u{feff}Windows Registry Editor Version 5.00".to_owned(),
        format!("[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\Boot\\{{{guid}}}]"),
        "\"FileName\"=\"C:\\\\traces\\\\boot.etl\"".to_owned(),
        "\"EnableLevel\"=dword:00000003".to_owned(),
        "\"FileMax\"=dword:00000002".to_owned(),
        "\"Start\"=dword:00000001".to_owned(),
    ] {
        assert!(text.split("\r\n").any(|other| other == line), "{line} in {text}");
    }
    assert_eq!(etwctl(&format!("autologger remove Boot --reg {}", file.display())).code, 0);
    assert!(read().contains("[-HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\Boot]"));
    fs::remove_file(&file).unwrap();
    for (line, code, text) in [
        ("autologger add Boot MyDriver", 5, "this system has no registry: --reg FILE"),
        ("autologger remove Boot", 5, "this system has no registry: --reg FILE"),
        ("autologger add Boot MyDriver --etl boot.etl --reg b.reg", 1, "needs a full path on Windows"),
        ("autologger add Boot MyDriver --system process --reg b.reg", 1, "only the session GlobalLogger"),
        ("autologger add Boot --reg b.reg", 1, "a session at boot needs a provider"),
    ] {
        let run = etwctl(line);
        assert_eq!(run.code, code, "{line}: {}", run.err);
        assert!(run.err.contains(text), "{line}: {}", run.err);
    }
}
