//! Which code of a driver ran: lines, blocks, and that the driver does not notice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::built;
use crate::common::c::{build_at, build_with, temporary};
use nt_host::{Error, Finding, LineCoverage, NtHost, Rule};

const SOURCE: &str = include_str!("../../drivers/c/wdm_cover.c");
const BREAK: u32 = 0x0022_2010;

fn driver(level: &str) -> PathBuf {
    build_at(level, "wdm_cover", 0, "DriverEntry", &["ntoskrnl"])
}

/// Loads the driver, sends requests and unloads it.
fn run(image: &Path, requests: &[u32]) -> NtHost {
    let host = NtHost::builder().driver(image).measure_coverage().start().expect("DriverEntry");
    send(&host, requests);
    host.unload().expect("unload").assert_clean();
    host
}

fn send(host: &NtHost, requests: &[u32]) {
    let file = host.open(r"\\.\CCover").expect("the device");
    for code in requests {
        assert!(file.ioctl(*code, &[], 0).expect("a reply").status.is_success(), "{code:x}");
    }
    file.close().expect("closed");
}

/// The requests that reach all lines that are marked as such.
const REQUESTS: [u32; 3] = [0x0022_2000, 0x0022_2004, 0x0022_2008];

/// The numbers of the lines with a mark.
fn marked(mark: &str) -> BTreeSet<u32> {
    let mark = format!("/* {mark} */");
    (1..).zip(SOURCE.lines()).filter(|(_, line)| line.ends_with(&mark)).map(|(number, _)| number).collect()
}

/// The lines of the driver's source that were reached, or that were not. Braces have code at places that compilers choose.
fn lines(coverage: &LineCoverage, reached: bool) -> BTreeSet<u32> {
    let (file, _, _) =
        coverage.files().find(|(file, _, _)| file.ends_with("/wdm_cover.c")).expect("the driver's source");
    let is_brace =
        |line: u32| SOURCE.lines().nth(line as usize - 1).is_none_or(|text| text.trim_start().starts_with(['{', '}']));
    let wanted = coverage.lines(file).filter(|(line, count)| (*count != 0) == reached && !is_brace(*line));
    wanted.map(|(line, _)| line).collect()
}

#[test]
fn exactly_the_lines_that_ran_are_hit() {
    let coverage = run(&driver("-O0"), &REQUESTS).line_coverage();
    let hit = lines(&coverage, true);
    assert!(marked("hit").is_subset(&hit), "not hit: {:?}", marked("hit").difference(&hit));
    assert_eq!(lines(&coverage, false), marked("missed"));
    let others = coverage.files().filter(|(file, _, _)| !file.contains("/drivers/c/"));
    assert_eq!(others.count(), 0, "only the driver's own sources");
}

#[test]
fn optimised_lines_that_ran_are_hit() {
    for level in ["-O1", "-O2"] {
        let coverage = run(&driver(level), &REQUESTS).line_coverage();
        let hit = lines(&coverage, true);
        let missed = lines(&coverage, false);
        // The compiler may remove, merge and move code, but a line that ran is not missed, and one that did not is not hit.
        assert_eq!(missed.intersection(&marked("hit")).collect::<Vec<_>>(), [&0; 0], "{level}");
        assert_eq!(hit.intersection(&marked("missed")).collect::<Vec<_>>(), [&0; 0], "{level}");
        assert!(hit.len() > 20, "{level}: {hit:?}, {missed:?}");
        assert!(!missed.is_empty(), "{level}: {hit:?}, {missed:?}");
    }
}

#[test]
fn more_requests_reach_more_blocks_and_the_same_ones_reach_none() {
    let host = NtHost::builder().driver(driver("-O1")).measure_coverage().start().expect("DriverEntry");
    let coverage = host.coverage().expect("coverage");
    let entered = coverage.hits();
    send(&host, &REQUESTS[..1]);
    let hits = coverage.hits();
    assert!(0 < entered, "{entered}, {hits}");
    assert!(entered < hits, "{entered}, {hits}");
    send(&host, &REQUESTS[..1]);
    assert_eq!(coverage.hits(), hits);
    send(&host, &REQUESTS[1..2]);
    assert!(coverage.hits() > hits);
    for code in REQUESTS {
        assert!(coverage.constants().contains(&code.into()), "{code:x} of {:x?}", coverage.constants());
    }
    // The image that is loaded again has breakpoints only where no run came before.
    let hits = {
        host.unload().expect("unload").assert_clean();
        coverage.hits()
    };
    host.load().expect("DriverEntry");
    send(&host, &REQUESTS[..2]);
    host.unload().expect("unload").assert_clean();
    assert_eq!(coverage.hits(), hits);
}

#[test]
fn a_breakpoint_of_the_driver_stops_the_run_as_without_coverage() {
    for measured in [false, true] {
        let builder = NtHost::builder().driver(driver("-O0"));
        let builder = if measured { builder.measure_coverage() } else { builder };
        let host = builder.start().expect("DriverEntry");
        let file = host.open(r"\\.\CCover").expect("the device");
        let Err(Error::Stopped(report)) = file.ioctl(BREAK, &[], 0) else { panic!("not stopped") };
        let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
        let line = finding.location.as_ref().and_then(|location| location.line).expect("a line");
        assert!(SOURCE.lines().nth(line as usize - 1).is_some_and(|text| text.contains("__debugbreak")), "{line}");
        assert_eq!(finding.rule, Rule::BugCheck);
        assert_eq!(finding.detail.as_str(), "hits a breakpoint without a debugger");
        let switch =
            (1..).zip(SOURCE.lines()).find(|(_, text)| text.contains("switch (location->")).map(|(line, _)| line);
        assert!(
            !measured || switch.is_some_and(|switch| lines(&host.line_coverage(), true).contains(&switch)),
            "{switch:?}"
        );
    }
}

/// Without a PDB, the blocks are found from the exception directory and the code itself.
/// The code that `write_event!` generates belongs to the line of the driver that has the macro, although a macro of `wdk-etw` calls
/// the procedural one.
#[test]
fn events_belong_to_the_driver_that_writes_them() {
    let host = NtHost::builder().driver(built("driver_sample.sys")).measure_coverage().start().expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
    let coverage = host.line_coverage();
    let others: Vec<&str> =
        coverage.files().map(|(file, _, _)| file).filter(|file| !file.contains("/driver-sample/src/")).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(coverage.files().next().is_some(), "no files");
}

#[test]
fn without_lines_blocks_are_counted() {
    let image = build_with(&["-O1", "-DBARE"], "wdm_cover", 0, "DriverEntry", &["ntoskrnl"]);
    let with = run(&image, &REQUESTS);
    let pdb =
        fs::read_dir(image.parent().expect("a folder")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let stem = image.file_stem().expect("a name").to_owned();
    pdb.filter(|path| path.file_stem() == Some(&stem) && path.extension().is_some_and(|kind| kind == "pdb"))
        .for_each(|path| fs::remove_file(path).expect("the PDB is gone"));
    let host = run(&image, &REQUESTS);
    assert!(host.line_coverage().is_empty());
    let bare = host.coverage().expect("coverage");
    let full = with.coverage().expect("coverage");
    // Every block is also one of those that are found with the PDB, and was reached if it was.
    for (block, rva) in bare.blocks().iter().enumerate() {
        assert!(full.blocks().contains(rva), "{rva:#x}");
        assert_eq!(bare.is_hit(block), full.is_hit_at(*rva), "{rva:#x}");
    }
    let cases = bare.blocks().len() * 100 / full.blocks().len();
    assert!(cases >= 50, "{cases} % of the blocks");
    assert!(bare.functions().len() >= 5, "{:x?}", bare.functions());
}

#[test]
fn hosts_of_one_program_write_one_file() {
    let folder = temporary("coverage");
    for name in ["merged.info", "merged.html"] {
        let path = folder.join(name);
        for request in REQUESTS {
            let builder = NtHost::builder().driver(driver("-O0")).coverage(&path);
            let host = builder.start().expect("DriverEntry");
            send(&host, &[request]);
            host.unload().expect("unload").assert_clean();
        }
    }
    let merged = LineCoverage::read(folder.join("merged.info")).expect("lcov's format");
    assert_eq!(lines(&merged, false), marked("missed"));
    let (file, _, _) = merged.files().find(|(file, _, _)| file.ends_with("/wdm_cover.c")).expect("the source");
    let entry =
        (1..).zip(SOURCE.lines()).find(|(_, text)| text.contains("DriverUnload = Unload")).map(|(line, _)| line);
    let count = merged.lines(file).find(|(line, _)| Some(*line) == entry).map(|(_, count)| count);
    assert_eq!(count, Some(3), "each of the three runs reached DriverEntry");
    let page = fs::read_to_string(folder.join("merged.html")).expect("a page");
    assert!(page.contains("<tr class=\"missed\">"), "{page}");
    assert!(page.contains("case 0x22200C:"), "{page}");
    let folder = folder.join("no/such");
    assert!(NtHost::builder().driver(driver("-O0")).coverage(folder.join("x.info")).start().is_err());
}

/// What a driver does is the same with coverage: its output, its findings and their places.
#[test]
fn a_driver_does_not_notice() {
    let image = |level: &str, name: &str, bug: u32| build_at(level, name, bug, "DriverEntry", &["ntoskrnl"]);
    let mut images: Vec<PathBuf> = ["-O0", "-O1"].map(|level| image(level, "seh", 0)).to_vec();
    images.extend((1..=5).map(|bug| image("-O0", "seh", bug)));
    images.extend(["wdm_layer", "wdm_kernel", "wdm_shared"].map(|name| image("-O0", name, 0)));
    images.push(built("driver_sample.sys"));
    for path in images {
        let [without, with] = [false, true].map(|measured| {
            let builder = NtHost::builder().driver(&path);
            let host = if measured { builder.measure_coverage() } else { builder }.prepare().expect("the driver");
            let device = |host: &NtHost| match host.add_device() {
                Ok(device) => device.remove(),
                Err(Error::Status(_)) => Ok(()),
                Err(error) => Err(error),
            };
            let ended = host.load().and_then(|()| device(&host)).and_then(|()| host.unload().map(drop));
            assert_eq!(host.coverage().is_some_and(|coverage| coverage.hits() != 0), measured, "{}", path.display());
            let report = host.report();
            let place =
                |finding: &Finding| finding.location.as_ref().map(|location| (location.file.clone(), location.line));
            let findings: Vec<_> = report.findings().iter().map(|finding| (finding.rule, place(finding))).collect();
            (
                ended.map_err(|error| error.to_string().split(':').next().map(str::to_owned)),
                report.output().to_owned(),
                findings,
            )
        });
        assert_eq!(with, without, "{}", path.display());
    }
}

/// lcov's own program reads the file, if it is installed.
#[test]
fn genhtml_reads_the_file() {
    let folder = temporary("coverage-genhtml");
    let path = folder.join("run.info");
    run(&driver("-O0"), &REQUESTS).line_coverage().write(&path).expect("written");
    let mut genhtml = Command::new("genhtml");
    let Ok(output) = genhtml.arg("--output-directory").arg(folder.join("pages")).arg(&path).output() else {
        return println!("skipped: genhtml is not installed");
    };
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("lines"), "{text}");
}
