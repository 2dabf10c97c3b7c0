//! The settings that a build adds to those of the driver: for cargo and for build scripts.

use std::env;
use std::fs;
use std::path::Path;

use crate::additions;
use crate::arch::Arch;
use crate::model::Model;
use crate::prepare::Plan;
use crate::workspace::Group;

/// The environment variables that build scripts read: those of the stand-in for `wdk-build`, those for the C compiler, and those
/// of the command prompt of a WDK.
pub(crate) fn environment(plan: &Plan, group: &Group) -> Vec<(String, String)> {
    let lower = plan.options.arch.triple().replace('-', "_");
    let mut variables = vec![
        (String::from("WDK_KIT_ROOT"), plan.kit.display().to_string()),
        (String::from("WDK_KIT_MODEL"), group.model.to_json()),
        (format!("CC_{lower}"), plan.tools.join("clang-cl").display().to_string()),
        (format!("AR_{lower}"), String::from("llvm-lib")),
    ];
    let headers: Vec<_> = additions::headers(group).map(|path| path.to_string_lossy()).collect();
    if !headers.is_empty() {
        variables.push((String::from("WDK_KIT_HEADERS"), headers.join("\n")));
    }
    let flags = format!("CFLAGS_{lower}");
    variables.extend(c_flags(&plan.kit, env::var(&flags).ok()).map(|value| (flags, value)));
    variables.extend(prompt(plan).into_iter().map(|(name, value)| (name.to_owned(), value)));
    variables
}

/// The variables of the command prompt of a WDK: the folder of the kit, and the search paths of the compiler and the linker.
fn prompt(plan: &Plan) -> Vec<(&'static str, String)> {
    let include = plan.kit.join("Include");
    let version = newest(&include);
    let headers = ["km/crt", "km", "shared"].map(|name| include.join(&version).join(name).display().to_string());
    let dir = if plan.options.arch == Arch::X64 { "x64" } else { "ARM64" };
    let libraries = plan.kit.join("Lib").join(&version).join("km").join(dir);
    vec![
        ("WDKContentRoot", plan.kit.display().to_string()),
        ("WindowsSdkDir", format!("{}/", plan.kit.display())),
        // With a separator at the end, as in the command prompt.
        ("WindowsSDKVersion", format!("{version}\\")),
        ("WindowsTargetPlatformVersion", version.clone()),
        ("INCLUDE", headers.join(";")),
        ("LIB", libraries.display().to_string()),
    ]
}

/// The flags for C code: the user's own, and an overlay that makes the file names of a WDK case-insensitive, because its headers
/// include one another in any spelling.
fn c_flags(root: &Path, own: Option<String>) -> Option<String> {
    let overlay = root.join("overlay.yaml");
    let flags = format!("-Xclang -ivfsoverlay -Xclang {}", overlay.display());
    overlay.is_file().then(|| own.map_or_else(|| flags.clone(), |own| format!("{own} {flags}")))
}

/// The newest version in a folder of headers, such as `10.0.26100.0`.
fn newest(include: &Path) -> String {
    let entries = fs::read_dir(include).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let parts = |name: &String| name.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    names.filter(|name| name.starts_with("10.")).max_by_key(parts).unwrap_or_default()
}

/// The variables of ntoskrnl.exe that code has to import, from the definition file of the kit's import library.
pub(crate) fn imported_variables(root: &Path) -> Vec<String> {
    let libraries = root.join("Lib").join(newest(&root.join("Include"))).join("km/x64");
    // A WDK has no such file; then the list is empty.
    let definition = fs::read_to_string(libraries.join("ntoskrnl.def")).unwrap_or_default();
    definition.lines().filter_map(|line| line.trim().strip_suffix(" DATA")).map(str::to_owned).collect()
}

/// The linker arguments for a driver that sets none, neither in a build script nor in cargo's configuration.
const AS_DRIVER: [&str; 4] = ["/DRIVER", "/NODEFAULTLIB", "/SUBSYSTEM:NATIVE", "/ENTRY:DriverEntry"];

/// Settings for cargo, each the value of a `--config`.
pub(crate) fn for_cargo(plan: &Plan, group: &Group) -> Vec<String> {
    let triple = plan.options.arch.triple();
    let mut settings = Vec::new();
    if !plan.replacements.is_empty() {
        let paths: Vec<String> = plan.replacements.iter().map(|path| format!("{:?}", path.to_string_lossy())).collect();
        settings.push(format!("paths=[{}]", paths.join(", ")));
    }
    let configurations = configurations(plan.dir());
    // Cargo uses the flags of `target` or those of `build`, never both; it joins flags of the same kind. The flags here must be of
    // the kind that the driver uses: otherwise one of the two is ignored.
    let is_general = configurations.iter().any(|text| has_key(text, "build.rustflags"))
        && !configurations.iter().any(|text| text.contains("[target.") && text.contains("rustflags"));
    let key = if is_general { String::from("build") } else { format!("target.{triple}") };
    // The flag makes cargo keep the bindings of each model and each kit apart; not every build script says what it depends on.
    let kit = plan.kit.file_name().unwrap_or_default().to_string_lossy();
    let model = format!("--cfg=wdk_kit_model=\"{} {kit}{}\"", group.model.name(), additions::name(group));
    // Windows checks the checksum of a driver's image. The linker computes it only with this argument.
    let mut arguments = vec!["/RELEASE"];
    if !plan.workspace.names_entry
        && group.model == Model::Unspecified
        && !configurations.iter().any(|text| text.to_ascii_lowercase().contains("/entry:"))
    {
        arguments.extend(AS_DRIVER);
    }
    let libraries = additions::of_group(&plan.libraries, group).map(|path| path.to_string_lossy().into_owned());
    let arguments = arguments.into_iter().map(str::to_owned).chain(libraries);
    let arguments: Vec<String> = arguments.map(|argument| format!("{:?}", format!("-Clink-arg={argument}"))).collect();
    settings.push(format!("{key}.rustflags=[\"-Ctarget-feature=+crt-static\", {}, {model:?}]", arguments.join(", ")));
    // Line numbers and inlined calls in the debug information, whatever the profile says. They do not change the code.
    let profile = plan.options.profile.as_str();
    let manifest = fs::read_to_string(plan.workspace.root.join("Cargo.toml")).unwrap_or_default();
    settings.extend(with_lines(profile, configurations.iter().chain([&manifest])));
    settings.push(format!("profile.{profile}.strip=\"none\""));
    settings.push(format!("profile.{profile}.split-debuginfo=\"packed\""));
    settings
}

/// Levels of debug information without inlined calls.
const WITHOUT_LINES: [&str; 4] = ["false", "0", "\"none\"", "\"line-directives-only\""];

/// Settings that keep lines and inlined calls: of the profile, and of packages that it has levels of their own for. What runs only
/// during the build has neither. `texts` are those that profiles are in, the one that counts most first.
fn with_lines<'a>(profile: &str, texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let all: Vec<(String, String)> = texts.flat_map(|text| keys(text)).collect();
    let packages = format!("profile.{profile}.package.");
    let is_without = is_without_lines(profile, &all);
    let mut settings: Vec<String> = is_without.then(|| format!("profile.{profile}.debug=1")).into_iter().collect();
    for (key, level) in &all {
        if key.starts_with(&packages) && key.strip_suffix(".debug").is_some() && WITHOUT_LINES.contains(&level.as_str())
        {
            settings.push(format!("{key}=1"));
        }
    }
    // Build scripts and macros have the profile's level too, unless there is one for them, and take longer to compile with it.
    let macros = format!("profile.{profile}.build-override.debug");
    if !all.iter().any(|(key, _)| *key == macros) {
        settings.push(macros + "=0");
    }
    settings
}

/// Whether a profile has neither lines nor inlined calls. A profile without a level has that of the profile that it inherits from.
fn is_without_lines(profile: &str, all: &[(String, String)]) -> bool {
    let mut profile = profile;
    // Cargo rejects a circle; here it only has to end.
    for _ in 0..=all.len() {
        let value = |key: &str| {
            let key = format!("profile.{profile}.{key}");
            all.iter().find(|(own, _)| *own == key).map(|(_, value)| value.as_str())
        };
        match (value("debug"), value("inherits")) {
            (Some(level), _) => return WITHOUT_LINES.contains(&level),
            (None, Some(parent)) => profile = parent.trim_matches(['"', '\'']),
            // Without a level the dev profile has everything, and the release profile nothing.
            (None, None) => return matches!(profile, "release" | "bench"),
        }
    }
    true
}

/// The keys of a TOML text with the names of their tables, and their values. Of tables that are written as values, one level is read.
fn keys(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut table = String::new();
    for line in text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name.trim_matches(['[', ']', ' ']).to_owned() + ".";
        } else if let Some((key, value)) = line.split_once('=') {
            let key = format!("{table}{}", key.trim());
            let value = value.trim();
            let inside = value.strip_prefix('{').and_then(|value| value.strip_suffix('}')).unwrap_or_default();
            for (inner, value) in inside.split(',').filter_map(|entry| entry.split_once('=')) {
                found.push((format!("{key}.{}", inner.trim()), value.trim().to_owned()));
            }
            found.push((key, value.to_owned()));
        }
    }
    found
}

/// The texts of the configuration files that cargo reads in a folder, the one that counts most first.
fn configurations(dir: &Path) -> Vec<String> {
    let names = [".cargo/config.toml", ".cargo/config"];
    let paths = dir.ancestors().flat_map(|dir| names.map(|name| dir.join(name)));
    paths.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Whether a TOML text has a key, given with the name of its table.
fn has_key(text: &str, key: &str) -> bool {
    keys(text).iter().any(|(found, _)| found == key)
}

#[cfg(test)]
mod tests {
    use super::{for_cargo, has_key, with_lines};
    use crate::additions;
    use crate::model::Model;
    use crate::options::Options;
    use crate::prepare::Plan;
    use crate::toolchain::WindowsToolchain;
    use crate::workspace::{Group, Workspace};

    const GROUP: Group = Group { model: Model::Unspecified, drivers: Vec::new() };

    fn plan() -> Plan {
        Plan {
            workspace: Workspace::default(),
            options: Options::new("/d/Cargo.toml".into()),
            toolchain: WindowsToolchain::rustup("cargo", "rust-lld"),
            kit: "/kit".into(),
            replacements: Vec::new(),
            libraries: additions::Libraries::new(),
            tools: "/tools".into(),
        }
    }

    #[test]
    fn flags_for_all_targets_are_detected() {
        let has = |text: &str| has_key(text, "build.rustflags");
        assert!(has("[build]\nrustflags = [\"-Cx\"]\n"));
        assert!(has("build.rustflags = [\"-Cx\"]\n"));
        assert!(!has("[build]\njobs = 2\n[target.x]\nrustflags = [\"-Cx\"]\n"));
        assert!(!has(""));
    }

    #[test]
    fn debug_information_has_inlined_calls_whatever_a_profile_says() {
        let settings = |profile: &str, text: &str| {
            let mut settings = with_lines(profile, [text.to_owned()].iter());
            assert_eq!(settings.pop(), Some(format!("profile.{profile}.build-override.debug=0")));
            settings
        };
        assert_eq!(settings("release", ""), ["profile.release.debug=1"]);
        assert_eq!(settings("dev", ""), [""; 0]);
        // The level of one profile does not affect the other.
        let both = "[profile.dev]\ndebug = true\n[profile.release]\ndebug = false # small\n";
        assert_eq!(settings("release", both), ["profile.release.debug=1"]);
        assert_eq!(settings("dev", both), [""; 0]);
        assert_eq!(settings("release", "[profile.release]\ndebug = \"full\"\n"), [""; 0]);
        assert_eq!(settings("dev", "[profile]\ndev = { panic = \"abort\", debug = 0 }\n"), ["profile.dev.debug=1"]);
        let packages = "[profile.release]\ndebug = 2\n[profile.release.package.\"*\"]\ndebug = \"none\"\n";
        assert_eq!(settings("release", packages), ["profile.release.package.\"*\".debug=1"]);
        let custom = "[profile.release]\ndebug = 2\n[profile.small]\ninherits = \"release\"\n";
        assert_eq!(settings("small", custom), [""; 0]);
        assert_eq!(settings("small", "[profile.small]\ninherits = \"release\"\n"), ["profile.small.debug=1"]);
        assert_eq!(settings("small", "[profile.small]\ninherits = \"small\"\n"), ["profile.small.debug=1"]);
        let own = String::from("[profile.dev]\nbuild-override = { debug = 2 }\n");
        assert_eq!(with_lines("dev", [own].iter()), [""; 0]);
    }

    #[test]
    fn paths_with_spaces_and_quotes_are_written_as_toml() {
        let plan = Plan { replacements: vec!["/a b/\"c\"".into()], ..plan() };
        assert_eq!(for_cargo(&plan, &GROUP)[0], r#"paths=["/a b/\"c\""]"#);
    }

    #[test]
    fn another_kit_changes_the_settings_of_cargo() {
        let flags = |kit: &str| for_cargo(&Plan { kit: kit.into(), ..plan() }, &GROUP);
        assert_ne!(flags("/kit/one"), flags("/kit/two"));
    }
}
