//! Sessions at boot: the keys and values of the registry, the files for it, and the rules.

use std::time::Duration;

use etw_session::{BootSession, Enable, Filter, Properties, RegistryValue};
use etw_types::session::mode;
use etw_types::{Guid, Level};

/// The values of a session and of a provider in Microsoft's tables, with their types. `Start` is written last.
const DOCUMENTED: [(&str, char); 16] = [
    ("Guid", 's'),
    ("FileName", 's'),
    ("LogFileMode", 'd'),
    ("ClockType", 'd'),
    ("MaxFileSize", 'd'),
    ("FileMax", 'd'),
    ("BufferSize", 'd'),
    ("MinimumBuffers", 'd'),
    ("MaximumBuffers", 'd'),
    ("FlushTimer", 'd'),
    ("Enabled", 'd'),
    ("EnableLevel", 'd'),
    ("MatchAnyKeyword", 'q'),
    ("MatchAllKeyword", 'q'),
    ("EnableProperty", 'd'),
    ("Start", 'd'),
];

const AUTOLOGGER: &str = r"SYSTEM\CurrentControlSet\Control\WMI\Autologger";

fn session() -> BootSession {
    let properties = Properties::new("Boot A").file(r"C:\traces\boot.etl").circular(64);
    let properties = properties.buffers(256, 8, 32).flush_every(Duration::from_secs(2));
    let enable = Enable::new(Level::Verbose).any(0x8000_0000_0000_0005_u64).all(0x1_u64).stacks();
    BootSession::new(properties).keep(3).provider(Guid::from_u128(7), enable)
}

#[test]
fn every_documented_value_is_written_with_its_type_and_start_is_last() {
    let keys = session().keys().unwrap();
    let paths: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
    let own = format!("{AUTOLOGGER}\\Boot A");
    assert_eq!(paths, [own.as_str(), &format!("{own}\\{{00000000-0000-0000-0000-000000000007}}"), &own]);
    let kind = |value: &RegistryValue| match value {
        RegistryValue::Text(_) => 's',
        RegistryValue::Dword(_) => 'd',
        RegistryValue::Qword(_) => 'q',
        RegistryValue::Binary(_) => 'b',
    };
    let values: Vec<_> = keys.iter().flat_map(|key| &key.values).map(|(name, value)| (*name, kind(value))).collect();
    assert_eq!(values, DOCUMENTED);
}

#[test]
fn a_file_of_the_registry_editor_has_all_keys() {
    let text = session().reg_file().unwrap();
    let guid = Guid::from_name(r"SYSTEM\CurrentControlSet\Control\WMI\Boot A");
    let expected = format!(
        r#"Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\{AUTOLOGGER}\Boot A]
"Guid"="{{{guid}}}"
"FileName"="C:\\traces\\boot.etl"
"LogFileMode"=dword:08000002
"ClockType"=dword:00000001
"MaxFileSize"=dword:00000040
"FileMax"=dword:00000003
"BufferSize"=dword:00000100
"MinimumBuffers"=dword:00000008
"MaximumBuffers"=dword:00000020
"FlushTimer"=dword:00000002

[HKEY_LOCAL_MACHINE\{AUTOLOGGER}\Boot A\{{00000000-0000-0000-0000-000000000007}}]
"Enabled"=dword:00000001
"EnableLevel"=dword:00000005
"MatchAnyKeyword"=hex(b):05,00,00,00,00,00,00,80
"MatchAllKeyword"=hex(b):01,00,00,00,00,00,00,00
"EnableProperty"=dword:00000004

[HKEY_LOCAL_MACHINE\{AUTOLOGGER}\Boot A]
"Start"=dword:00000001
"#
    );
    assert_eq!(text, expected.replace('\n', "\r\n"));
    let removal = BootSession::removal_reg_file("Boot A").unwrap();
    let expected =
        format!("Windows Registry Editor Version 5.00\r\n\r\n[-HKEY_LOCAL_MACHINE\\{AUTOLOGGER}\\Boot A]\r\n");
    assert_eq!(removal, expected);
}

#[test]
fn the_global_logger_records_the_kernel_and_has_no_providers() {
    let properties = Properties::new("globallogger").file(r"%SystemRoot%\boot.etl").system_logger(0x0001_0003);
    let text = BootSession::new(properties.clone()).reg_file().unwrap();
    assert!(text.contains("[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\GlobalLogger]\r\n"), "{text}");
    assert!(text.contains("\"EnableKernelFlags\"=hex:03,00,01,00\r\n"), "{text}");
    assert!(!text.contains("\"Guid\""), "{text}");
    assert!(text.contains("\"LogFileMode\"=dword:08000000"), "{text}");
    let with_provider = BootSession::new(properties).provider(Guid::from_u128(1), Enable::default());
    assert_eq!(
        with_provider.check().unwrap_err().to_string(),
        "Windows enables no providers for the session GlobalLogger"
    );
}

#[test]
fn each_rule_has_its_message() {
    type Change = fn(&mut BootSession);
    let with = |change: Change| {
        let mut session = session();
        change(&mut session);
        session.check().map_err(|limit| limit.to_string())
    };
    let cases: [(&str, Change); 13] = [
        ("backslash", |session| session.properties.name = "A\\B".into()),
        ("control characters", |session| session.properties.name = "A]\r\n[-B".into()),
        ("300: the maximum is 255", |session| session.properties.name = "x".repeat(300)),
        ("cannot number", |session| {
            session.properties = Properties::new("A").file("C:\\a%d.etl").numbered_files(1);
        }),
        ("whole seconds", |session| session.properties.mode |= mode::USE_MS_FLUSH_TIMER),
        ("smaller than 1024 KiB", |session| session.properties.buffer_kib = 1024),
        ("17 files to keep: the maximum is 16", |session| session.max_files = 17),
        ("a full path", |session| session.properties.log_file = Some("boot.etl".into())),
        ("a full path", |session| session.properties.log_file = Some("C:\\a\r\n\"b.etl".into())),
        ("only the session GlobalLogger", |session| session.properties.enable_flags = 1),
        ("needs a provider", |session| session.providers.clear()),
        ("cannot have filters", |session| session.providers[0].1.filters.push(Filter::ProcessIds(vec![1]))),
        ("cannot be circular", |session| session.properties.mode |= mode::SEQUENTIAL),
    ];
    for (message, change) in cases {
        let error = with(change).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(with(|session| session.properties.mode |= mode::NONSTOPPABLE), Ok(()), "for sessions at boot");
    assert_eq!(with(|session| session.properties.log_file = None), Ok(()), "Windows has a default");
    assert!(BootSession::removal_reg_file("").is_err());
    assert!(BootSession::removal_reg_file("..\\x").is_err());
}

#[cfg(not(windows))]
#[test]
fn a_system_without_a_registry_says_so() {
    let error = session().install().unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert!(error.to_string().contains("this system has no registry"), "{error}");
    assert!(BootSession::uninstall("Boot A").unwrap_err().is_unsupported());
}
