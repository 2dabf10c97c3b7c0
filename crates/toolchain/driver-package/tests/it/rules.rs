//! Each rule has a test image that violates only this rule.

use crate::common;
use crate::common::{
    ARM64, BASE, CHECKSUM, DATA_RVA, DISCARDABLE, Driver, EXECUTE, INIT, OPTIONAL, PE_OFFSET, RDATA, READ, RELOC, TEXT,
    WRITE, change_u32, directory, get_u32, put, put_u32, section_header,
};
use driver_package::rules::{self, Severity};
use driver_package::{Image, Target, Verdict};
use windows_releases::{Client, Release};

/// A change to a finished file.
type Change = fn(&mut Vec<u8>);

/// Returns the ids of the rules that an image violates, once per violation.
fn broken(file: &[u8]) -> Vec<&'static str> {
    let image = Image::parse(file).unwrap_or_else(|error| panic!("{error}"));
    Verdict::judge(&image, Target::default()).findings().iter().map(|finding| finding.rule.id).collect()
}

fn only(rule: &str, file: &[u8]) {
    assert_eq!(broken(file), [rule]);
    assert!(rules::all().any(|known| known.id == rule), "{rule} is not a rule");
}

#[test]
fn a_good_image_breaks_no_rule() {
    for machine in [common::X64, ARM64] {
        let image = Image::parse(&Driver { machine, ..Driver::default() }.build()).unwrap();
        let verdict = Verdict::judge(&image, Target::default());
        assert!(verdict.is_loadable(), "{:?}", verdict.findings());
        assert!(verdict.findings().is_empty(), "{:?}", verdict.findings());
    }
}

#[test]
fn windows_before_1709_has_no_arm64() {
    let image = Image::parse(&Driver { machine: ARM64, ..Driver::default() }.build()).unwrap();
    for release in Release::ALL {
        let verdict = Verdict::judge(&image, Target { release });
        let refused: Vec<_> = verdict.refusals().map(|finding| finding.rule.id).collect();
        assert_eq!(refused.contains(&"arm64-release"), release.build() < 16299, "{release}");
    }
    assert_eq!(rules::oldest_release(&image), Some(Release::Win10_1709));
    let x64 = Image::parse(&Driver::default().build()).unwrap();
    assert!(Verdict::judge(&x64, Target { release: Release::Win10_1703 }).is_loadable());
}

/// One image for each rule. The test fails if a rule is added without one.
#[test]
fn each_rule_is_broken_alone() {
    let images: Vec<(&str, Vec<u8>)> = vec![
        ("machine", Driver { machine: 0x0166, ..Driver::default() }.build()),
        ("pe32-plus", pe32()),
        ("executable-image", Driver { characteristics: 0x0020, ..Driver::default() }.build()),
        ("one-processor", Driver { characteristics: 0x4022, ..Driver::default() }.build()),
        ("subsystem", Driver { subsystem: 3, ..Driver::default() }.build()),
        ("subsystem-version", Driver { subsystem_version: (10, 1), ..Driver::default() }.build()),
        ("checksum", wrong_checksum(1)),
        ("alignment", Driver::default().build_with(|file| put_u32(file, OPTIONAL + 36, 0x100))),
        ("page-alignment", aligned_to_512()),
        ("dynamic-base-arm64", Driver { machine: ARM64, dll_characteristics: 0x41a0, ..Driver::default() }.build()),
        ("dynamic-base", Driver { dll_characteristics: 0x41a0, ..Driver::default() }.build()),
        ("nx-compat", Driver { dll_characteristics: 0x40e0, ..Driver::default() }.build()),
        ("force-integrity", Driver { dll_characteristics: 0x4160, ..Driver::default() }.build()),
        ("section-count", many_sections()),
        ("section-layout", Driver::default().build_with(|file| put_u32(file, OPTIONAL + 56, RELOC + 0x2000))),
        (
            "section-data",
            Driver { signed: true, ..Driver::default() }.build_with(|file| {
                let header = section_header(3).start;
                change_u32(file, header + 20, |offset| offset + 1);
            }),
        ),
        ("writable-code", with_rights(0, READ | WRITE | EXECUTE)),
        ("entry-point", Driver { entry: 0, exports: vec![], ..Driver::default() }.build()),
        ("entry-rights", Driver { entry: RDATA, ..Driver::default() }.build()),
        ("init-discardable", with_rights(3, READ | EXECUTE)),
        ("user-import", with_module("KERNEL32.dll")),
        ("unknown-import", with_module("other.sys")),
        ("delay-load", Driver { delayed: vec!["dbghelp.dll"], ..Driver::default() }.build()),
        ("writable-imports", Driver { addresses_in_code: true, ..Driver::default() }.build()),
        ("tls", Driver { tls: true, ..Driver::default() }.build()),
        ("clr", Driver { clr: true, ..Driver::default() }.build()),
        ("relocatable", Driver { characteristics: 0x0023, relocations: vec![], ..Driver::default() }.build()),
        ("relocations", Driver { relocations: vec![0x0010_0000], ..Driver::default() }.build()),
        ("no-relocations", Driver { relocations: vec![], ..Driver::default() }.build()),
        ("security-cookie", Driver { cookie: BASE + u64::from(RDATA), ..Driver::default() }.build()),
        ("kmdf-version", kmdf(33, 457, None).build()),
        ("signature-place", Driver::default().build_with(|file| file.extend([0; 8]))),
        ("signature", Driver { signed: false, ..Driver::default() }.build()),
    ];
    for (rule, file) in &images {
        only(rule, file);
    }
    // The newest release has all known routines; another test violates this rule on older ones. The digest needs the
    // bytes of the file; tests/verify.rs changes them.
    for rule in rules::all().filter(|rule| !["missing-import", "arm64-release", "signature-digest"].contains(&rule.id))
    {
        assert!(images.iter().any(|(id, _)| *id == rule.id), "{} has no image", rule.id);
    }
}

#[test]
fn rules_explain_themselves_and_have_different_names() {
    let mut ids: Vec<_> = rules::all().map(|rule| rule.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for rule in rules::all() {
        assert!(!rule.what.is_empty(), "{}", rule.id);
        assert!(!rule.why.is_empty(), "{}", rule.id);
        assert!(!rule.source.is_empty(), "{}", rule.id);
    }
}

#[test]
fn a_warning_alone_leaves_the_image_loadable_and_refusals_come_first() {
    let unsigned = Driver { signed: false, ..Driver::default() };
    let verdict = Verdict::judge(&Image::parse(&unsigned.build()).unwrap(), Target::default());
    assert!(verdict.is_loadable());
    let both = Driver { subsystem: 3, ..unsigned };
    let verdict = Verdict::judge(&Image::parse(&both.build()).unwrap(), Target::default());
    assert!(!verdict.is_loadable());
    assert_eq!(verdict.refusals().count(), 1);
    let severities: Vec<_> = verdict.findings().iter().map(|finding| finding.rule.severity).collect();
    assert_eq!(severities, [Severity::Refused, Severity::Warning]);
}

#[test]
fn a_missing_checksum_is_distinguished_from_a_wrong_one() {
    let found = |file: &[u8]| {
        let verdict = Verdict::judge(&Image::parse(file).unwrap(), Target::default());
        verdict.findings()[0].found.clone()
    };
    let mut file = wrong_checksum(0);
    put_u32(&mut file, CHECKSUM, 0);
    assert!(found(&file).starts_with("there is none"));
    assert!(found(&wrong_checksum(7)).contains("is stored"));
}

#[test]
fn the_subsystem_version_is_compared_with_the_target() {
    let image = Image::parse(&Driver { subsystem_version: (10, 0), ..Driver::default() }.build()).unwrap();
    let older = Target { release: Release::Win81 };
    assert_eq!(Verdict::judge(&image, older).refusals().next().unwrap().rule.id, "subsystem-version");
}

#[test]
fn module_names_are_compared_without_regard_to_case() {
    for module in ["NTOSKRNL.EXE", "Hal.dll", "FLTMGR.SYS", "ext-ms-win-ntos-werkernel-l1-1-0.dll"] {
        assert!(broken(&with_module(module)).is_empty(), "{module}");
    }
    for module in ["ntdll.dll", "api-ms-win-core-synch-l1-2-0.dll", "vcruntime140.dll", "program.exe"] {
        only("user-import", &with_module(module));
    }
}

#[test]
fn an_image_that_memory_integrity_rejects_is_still_loadable() {
    let writable = Driver {
        rights: [READ | WRITE | EXECUTE, READ, READ | WRITE, READ | EXECUTE | DISCARDABLE, READ | DISCARDABLE],
        ..Driver::default()
    };
    for (rule, file) in [("writable-code", writable.build()), ("page-alignment", aligned_to_512())] {
        let verdict = Verdict::judge(&Image::parse(&file).unwrap(), Target::default());
        assert!(verdict.is_loadable(), "{rule}");
        let [finding] = verdict.findings() else { panic!("{rule}: {:?}", verdict.findings()) };
        assert_eq!(finding.rule.id, rule);
        assert_eq!(finding.rule.severity, Severity::MemoryIntegrity);
    }
}

#[test]
fn an_unknown_library_is_reported_as_an_unknown_import() {
    for module in ["ksi.dll", "other.sys", "ext-ms-win-other-l1-1-0.dll"] {
        only("unknown-import", &with_module(module));
    }
}

#[test]
fn each_fault_of_a_signature_s_place_is_found() {
    let entry = directory(4);
    let faults: [(&str, Change); 4] = [
        ("not a multiple of 8", |file| {
            // The signature is moved by four bytes, and the file is four bytes longer, so the signature still ends at
            // the end of the file.
            let at = get_u32(file, directory(4)) as usize;
            file.splice(at..at, [0; 4]);
            put_u32(file, directory(4), u32::try_from(at + 4).unwrap());
        }),
        ("the file at", |file| file.extend([0; 16])),
        ("no Authenticode", |file| {
            let at = get_u32(file, directory(4)) as usize;
            put(file, at + 6, &9_u16.to_le_bytes());
        }),
        ("cut off", |file| {
            let at = get_u32(file, directory(4)) as usize;
            put_u32(file, at, 4);
        }),
    ];
    for (text, fault) in faults {
        let file = Driver::default().build_with(fault);
        let verdict = Verdict::judge(&Image::parse(&file).unwrap(), Target::default());
        assert!(verdict.findings().iter().all(|finding| finding.rule.id == "signature-place"), "{text}");
        assert!(verdict.findings().iter().any(|finding| finding.found.contains(text)), "{text}: {verdict:?}");
    }
    // Far outside the file.
    let file = Driver::default().build_with(|file| put_u32(file, entry, u32::MAX - 7));
    only("signature-place", &file);
}

#[test]
fn faults_of_the_section_table_are_named() {
    let found = |change: Change| {
        let verdict = Verdict::judge(&Image::parse(&Driver::default().build_with(change)).unwrap(), Target::default());
        verdict.findings().iter().map(|finding| format!("{}: {}", finding.rule.id, finding.found)).collect::<Vec<_>>()
    };
    // Nothing points into INIT.
    let gap = found(|file| put_u32(file, section_header(3).start + 12, INIT + 0x200));
    assert_eq!(gap, ["section-layout: INIT is at 0x4200, expected at 0x4000"]);
    let cut = found(|file| put_u32(file, section_header(2).start + 16, 0x0100_0000));
    assert!(cut.iter().any(|text| text.contains("section-data: .data ends at")), "{cut:?}");
}

fn wrong_checksum(by: u32) -> Vec<u8> {
    let mut file = Driver::default().build();
    let right = get_u32(&file, CHECKSUM);
    put_u32(&mut file, CHECKSUM, right + by);
    file
}

fn with_rights(section: usize, rights: u32) -> Vec<u8> {
    let mut driver = Driver::default();
    driver.rights[section] = rights;
    driver.build()
}

fn with_module(name: &'static str) -> Vec<u8> {
    Driver { imports: vec![(name, vec!["Routine"])], ..Driver::default() }.build()
}

/// Returns an image with 97 sections. Their table needs a second page of headers, so the linker moves every section by
/// one page.
fn many_sections() -> Vec<u8> {
    let driver = Driver { more_sections: 92, ..Driver::default() };
    driver.build_with(|file| {
        // The sections are moved back to their addresses in the default image, and the headers claim only one page.
        assert!(section_header(96).end <= 0x1200);
        for index in 0..97 {
            let at = section_header(index).start + 12;
            assert_eq!(get_u32(file, at), 0x2000 + 0x1000 * u32::try_from(index).unwrap());
            change_u32(file, at, |rva| rva - 0x1000);
        }
        change_u32(file, OPTIONAL + 56, |size| size - 0x1000);
        put_u32(file, OPTIONAL + 60, 0x1000);
        // The debug directory is removed, because its file offsets are wrong now.
        put_u32(file, directory(6), 0);
    })
}

/// Sections that share pages: aligned to 512 in memory and in the file, each at its file offset.
fn aligned_to_512() -> Vec<u8> {
    let bare = Driver { imports: vec![], exports: vec![], cookie: 0, relocations: vec![DATA_RVA], ..Driver::default() };
    bare.build_with(|file| {
        let mut next = 0x400;
        for index in 0..5 {
            let header = section_header(index).start;
            put_u32(file, header + 12, next);
            next += get_u32(file, header + 16);
        }
        put_u32(file, OPTIONAL + 16, 0x410);
        put_u32(file, OPTIONAL + 32, 0x200);
        put_u32(file, OPTIONAL + 56, next);
        for (index, moved) in [(5, next - 0x200), (6, 0), (10, 0)] {
            put_u32(file, directory(index), moved);
        }
        let fixup = usize::try_from(next - 0x200).unwrap();
        put_u32(file, fixup, 0);
    })
}

/// A 32-bit header for the same sections. What its directories would point to is omitted.
fn pe32() -> Vec<u8> {
    let bare = Driver { imports: vec![], exports: vec![], signed: true, ..Driver::default() };
    bare.build_with(|file| {
        let relocations = get_u32(file, directory(5));
        let relocations_size = get_u32(file, directory(5) + 4);
        let signature = [get_u32(file, directory(4)), get_u32(file, directory(4) + 4)];
        let sections = file[section_header(0).start..section_header(4).end].to_vec();
        let optional = &mut [0_u8; 224];
        put(optional, 0, &0x10b_u16.to_le_bytes());
        put_u32(optional, 16, TEXT + 0x10);
        put_u32(optional, 28, 0x0040_0000);
        // Both forms are identical from the alignments to the DLL characteristics.
        put(optional, 32, &file[OPTIONAL + 32..OPTIONAL + 72]);
        put_u32(optional, 92, 16);
        put_u32(optional, 96 + 8 * 5, relocations);
        put_u32(optional, 96 + 8 * 5 + 4, relocations_size);
        put_u32(optional, 96 + 8 * 4, signature[0]);
        put_u32(optional, 96 + 8 * 4 + 4, signature[1]);
        put(file, PE_OFFSET + 20, &224_u16.to_le_bytes());
        put(file, OPTIONAL, optional);
        put(file, OPTIONAL + 224, &sections);
        file[OPTIONAL + 224 + sections.len()..0x400].fill(0);
    })
}

/// A driver that uses the framework and supports an old Windows, so that only the framework matters.
fn kmdf(minor: u32, functions: u32, minimum: Option<u32>) -> Driver {
    let framework = Some(Client { major: 1, minor, functions, minimum });
    Driver { framework, subsystem_version: (6, 0), ..Driver::default() }
}

#[test]
fn the_framework_that_a_driver_asks_for_is_found() {
    for driver in [kmdf(33, 458, Some(25)), kmdf(33, 458, Some(33)), kmdf(15, 444, None), kmdf(9, 396, None)] {
        assert_eq!(Image::parse(&driver.build()).unwrap().framework, driver.framework);
    }
    assert_eq!(Image::parse(&Driver::default().build()).unwrap().framework, None);
}

#[test]
fn a_release_loads_what_its_framework_binds() {
    for (driver, oldest) in [
        (kmdf(33, 458, None), Some(Release::Server2022)),
        (kmdf(33, 458, Some(33)), Some(Release::Server2022)),
        (kmdf(33, 458, Some(25)), Some(Release::Win10_1803)),
        (kmdf(31, 458, None), Some(Release::Win10_2004)),
        (kmdf(9, 396, None), Some(Release::Win7)),
        (kmdf(1, 386, None), Some(Release::Win7)),
        (kmdf(33, 457, Some(25)), None),
        (kmdf(35, 470, None), None),
    ] {
        let image = Image::parse(&driver.build()).unwrap();
        assert_eq!(rules::oldest_release(&image), oldest, "{driver:?}");
        for release in Release::ALL {
            let verdict = Verdict::judge(&image, Target { release });
            assert_eq!(verdict.is_loadable(), oldest.is_some_and(|oldest| oldest <= release), "{release}: {verdict:?}");
            let refused: Vec<&str> = verdict.refusals().map(|finding| finding.rule.id).collect();
            assert!(refused.is_empty() || refused == ["kmdf-version"], "{refused:?}");
        }
    }
}

#[test]
fn a_release_loads_what_imports_only_its_own_routines() {
    for (routine, oldest) in [
        ("EtwSetInformation", Release::Win10_1507),
        ("ExAllocatePool2", Release::Win10_2004),
        ("ExAllocateTimer", Release::Win81),
        ("EtwRegister", Release::Win7),
    ] {
        let imports = vec![("NTOSKRNL.exe", vec![routine])];
        let driver = Driver { imports, subsystem_version: (6, 0), ..Driver::default() };
        let image = Image::parse(&driver.build()).unwrap();
        assert_eq!(rules::oldest_release(&image), Some(oldest), "{routine}");
        for release in Release::ALL.into_iter().filter(|release| *release < oldest) {
            let verdict = Verdict::judge(&image, Target { release });
            let finding = verdict.refusals().next().expect("a refusal");
            assert_eq!(finding.rule.id, "missing-import");
            assert!(finding.found.contains(routine), "{}", finding.found);
            assert!(finding.found.contains(oldest.name()), "{}", finding.found);
        }
    }
}
