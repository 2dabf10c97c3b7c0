//! Prepares the INF: stamps it, checks it against infverif's rules, and finds the other files that the package needs.

use std::path::{Component, Path};

use command_line::device_of_name;
use windows_releases::Release;

use super::texts::version_entry;
use super::{Request, read};
use crate::inf::lint::{Rule, lint};
use crate::inf::{Arch, DriverVersion, Fault, Inf, Stamp, Text, stamp};
use crate::pe::Image;
use crate::problem::{Level, Problem, Problems};

/// The class of Microsoft's samples, and the rules about classes that are Microsoft's.
const SAMPLE: &str = "Sample";
const CLASS_RULES: [u16; 2] = [1284, 1285];

/// The finished INF.
pub(super) struct Setup {
    pub(super) inf: Inf,
    pub(super) bytes: Vec<u8>,
    pub(super) version: DriverVersion,
    /// The other files, each with its line in `[SourceDisksFiles]` of the source.
    others: Vec<(String, usize)>,
}

pub(super) fn prepare(
    request: &Request,
    image: &Image,
    arch: Arch,
    warnings: &mut Vec<Problem>,
) -> Result<Setup, Problems> {
    let file = &request.inx;
    let text = Text::decode(&read(file)?).map_err(|fault| describe(file, &fault))?;
    let date = der::DateTime::from_unix_duration(request.time)
        .map_err(|error| Problem::error(file, "time", error.to_string()))?;
    let version = DriverVersion::from_time(date);
    let kmdf = request.kmdf.clone().or_else(|| image.framework.map(windows_releases::Client::version));
    let catalog = Some(request.named("cat"));
    let what = Stamp { arch: Some(arch), kmdf, umdf: None, section: "Version".into(), version, catalog };
    let stamped = stamp(&text, &what).map_err(|fault| describe(file, &fault))?;
    let inf = Inf::parse(&stamped.text.text).map_err(|fault| describe(file, &fault))?;

    // infverif has an option for this, too, which the build of Microsoft's samples uses.
    let is_sample = request.is_sample && version_entry(&inf, "Class").is_some_and(|c| c.eq_ignore_ascii_case(SAMPLE));
    let faults = lint(&inf, arch).into_iter().filter(|fault| !is_sample || !CLASS_RULES.contains(&fault.rule));
    let at_source = faults.map(|fault| Fault { line: stamped.source_line(fault.line), ..fault });
    let mut problems: Vec<Problem> = at_source.map(|fault| describe(file, &fault)).collect();
    // An INF without devices cannot name a build: [DefaultInstall] is decorated with an architecture only.
    if let Some((lowest_build, line)) = inf.lowest_build(arch)
        && let Some(oldest) = crate::rules::oldest_release(image).filter(|oldest| oldest.build() > lowest_build)
    {
        problems.push(too_low(request, arch, lowest_build, oldest).at(stamped.source_line(line)));
    }
    let image = request.image_name();
    let mut listed = false;
    let mut others = Vec::new();
    for (name, line) in sources(&inf, arch) {
        let line = stamped.source_line(line);
        if let Some(problem) = device_problem(file, &name) {
            problems.push(problem.at(line));
        } else if name.eq_ignore_ascii_case(&image) {
            listed = true;
        } else if is_plain(&name) {
            others.push((name, line));
        } else {
            problems.push(Problem::error(file, "package-file", format!("`{name}` is not a file name")).at(line));
        }
    }
    if !listed {
        let line = inf.section("SourceDisksFiles").map_or(1, |section| stamped.source_line(section.line));
        let text = format!("[SourceDisksFiles] does not list the driver, `{image}`");
        problems.push(Problem::error(file, "package-file", text).at(line));
    }
    if problems.iter().any(|problem| problem.level == Level::Error) {
        return Err(Problems(problems));
    }
    warnings.extend(problems);
    Ok(Setup { inf, bytes: stamped.text.encode(), version, others })
}

/// Returns the problem of a file that no Windows machine can hold.
pub(super) fn device_problem(file: &Path, name: &str) -> Option<Problem> {
    let device = device_of_name(name)?;
    let text = format!("`{name}` cannot be a file on Windows, where {device} is the name of a device: rename it");
    Some(Problem::error(file, "package-file", text))
}

/// Returns the warning that the INF allows the driver on a Windows that cannot load it.
fn too_low(request: &Request, arch: Arch, lowest_build: u32, oldest: Release) -> Problem {
    let name = arch.inf_name();
    let nt = oldest.nt_version();
    let build = oldest.build();
    let text = format!(
        "the INF allows Windows build {lowest_build} and later, but the driver needs {}: write `NT{name}.{nt}...{build}`",
        oldest.described()
    );
    Problem::warning(&request.inx, "minimum-build", text)
}

impl Setup {
    /// Reads the other files of the package, from the folder of the `.inx` or of the image.
    pub(super) fn read_others(&self, request: &Request) -> Result<Vec<(String, Vec<u8>)>, Problems> {
        let mut files = Vec::new();
        let mut problems = Vec::new();
        for (name, line) in &self.others {
            let places = [&request.inx, &request.image].map(|path| path.with_file_name(name));
            if let Some(path) = places.iter().find(|path| path.is_file()) {
                files.push((name.clone(), read(path)?));
            } else {
                let text = format!("`{name}` is neither in the folder of the .inx nor in that of the image");
                problems.push(Problem::error(&request.inx, "package-file", text).at(*line));
            }
        }
        if problems.is_empty() { Ok(files) } else { Err(Problems(problems)) }
    }
}

/// Returns the names and lines of the files in the package for an architecture.
pub(super) fn sources(inf: &Inf, arch: Arch) -> Vec<(String, usize)> {
    let decorated = format!("SourceDisksFiles.{}", arch.inf_name());
    let sections = [decorated.as_str(), "SourceDisksFiles"].into_iter().filter_map(|name| inf.section(name));
    let entries = sections.flat_map(|section| &section.entries);
    entries.filter_map(|entry| Some((inf.expand(entry.key.as_ref()?), entry.line))).collect()
}

/// Returns whether a name has no folder and no drive.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains(['\\', ':'])
}

pub(crate) fn describe(file: &Path, fault: &Fault) -> Problem {
    let level = Rule::from_number(fault.rule).map_or(Level::Error, |rule| rule.level);
    Problem { level, ..Problem::error(file, fault.rule.to_string(), &fault.text).at(fault.line) }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_file_of_a_package_is_named_without_a_folder_or_drive() {
        assert!(is_plain("driver.dat"));
        for name in
            ["", ".", "..", "/driver.dat", "folder/driver.dat", r"folder\driver.dat", r"..\driver.dat", "c:driver.dat"]
        {
            assert!(!is_plain(name), "{name}");
        }
    }
}
