//! `cargo xtask test`: runs all tests of the repository.

mod features;
mod hosts;
mod kmdf;
mod miri;
mod public_api;
mod toolchains;
mod wine;

use super::build::{DRIVER, SETUP, TOOLS};
use super::etwctl::GNU;
use super::lint::FORMAT;
use super::loom::{LOOM_CRATES, LOOM_FLAGS};
use crate::background::Background;
use crate::command::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, check_all};
use crate::verifiers;
use driver_build::setup::WindowsToolchain;
use driver_build::{Error, Tool, output};
use std::iter;

pub(super) const COMMAND: Command = Command {
    name: "test",
    summary: "Runs every test",
    details: "\
Installs what is missing, builds the sample driver (tests run it), then runs the
unit, integration and documentation tests of all crates (some of them build and
inspect images for Windows), and loom's models of the lock-free state, which are
built with --cfg loom in target/loom. What the workflows and the release build
is type-checked for Windows. With --all, also
- type-checks it for ARM64, macOS and musl
- checks crates with and without their Cargo features
- links the tests that run on Windows with MinGW, and runs them under Wine
- checks wdk-kmdf for its oldest framework, and its public API for raw types
- checks the crates that a driver links with the oldest supported Rust, and runs
  the tests that depend on the toolchain with Rust's beta, if rustup can install
  these toolchains
- runs Miri, if a nightly toolchain is installed
- runs the longest tests, among them those for arm64 and the tutorial
",
    flags: &[
        Flag { name: ALL, summary: "also features, other Rust versions, Miri, the longest tests" },
        Flag { name: QUICK, summary: "formatting and unit tests only" },
        Flag { name: LIST, summary: "prints the steps without running them" },
    ],
    only_lists: false,
    run,
};

const ALL: &str = "--all";
const QUICK: &str = "--quick";
const LIST: &str = "--list";

/// Tests run from what is built once, so the files for incremental builds would only take space: 3 GB of a first run.
fn build_once(cargo: Tool) -> Tool {
    cargo.hidden_env("CARGO_INCREMENTAL", "0")
}

/// Packages with `doctest = false`. `cargo test --doc` ignores that setting, so they are excluded.
const WITHOUT_DOCTESTS: [&str; 4] = ["--exclude", "tracelogging-oracle", "--exclude", "bench"];

/// The programs of integration tests, in two groups that run beside each other. Those of the second group wait for
/// compilers and for other programs, which keep only one processor busy.
const GROUPS: [&[&str]; 2] = [&["it"], &["builds", "macros", "stress_file"]];

/// The programs of integration tests that only `--all` runs, because each takes more than a minute: every routine of
/// nt-host with bad arguments, `cargo driver deploy` with each of its steps failing, and `cargo driver` as a user
/// installs it.
const MORE_PROGRAMS: &[&str] = &["bad_pointers", "deploy", "installed"];

/// The integration tests that only `--all` runs, because each takes more than ten seconds of processor time on its
/// own, or compiles Microsoft's bindings or nt-host again. Two names are the beginning of four tests each.
const LONG_TESTS: &[&str] = &[
    "additions::the_bindings_have_the_declarations_of_the_drivers_own_header",
    "fuzz::planted_bugs_are_found",
    "fuzz::two_jobs_share_what_they_find",
    "garbage::undefined_bits_change_nothing_in",
    "images::a_driver_on_an_older_release_of_microsofts_crates",
    "images::drivers_for_arm64_are_native_images_as_well",
    "kmdf::misuse::the_compiler_refuses_what_would_be_unsound",
    "kmdf::tour::the_tour_driver_is_clean_whatever_fails",
    "layouts::arm64_layouts_and_values_agree_with_microsofts_metadata",
    "layouts::x64_layouts_and_values_agree_with_microsofts_metadata",
    "limits::as_many_devices_as_possible_leave_room_for_the_host",
    "package::a_package_of_the_wdk_is_completed_with_etwctl",
    "page::pictures_are_taken_in_both_schemes_and_widths",
    "parquet::a_dataset_has_the_same_values_as_a_folder",
    "parquet::a_fleet_is_added_with_few_files_open_and_after_a_kill",
    "publish::every_package_builds_outside_of_its_workspace",
    "releases::a_driver_on_release",
    "sample::a_storm_over_a_thousand_loads_leaves_nothing_and_every_event_is_recorded_or_counted_as_lost",
    "shapes::a_driver_is_built_with_a_wdk_in_packages_of_nuget",
    "shapes::a_driver_with_settings_of_its_own",
    "tutorial::the_tutorial_leads_from_an_empty_folder_to_events",
    "verify::changes::a_change_that_stays_valid_in_a_timestamped_file_is_one_that_other_verifiers_accept",
    "verify::changes::every_byte_of_a_catalog_and_of_the_files_it_lists_counts",
    "verify::changes::every_byte_of_a_chain_counts_although_only_its_root_is_trusted",
    "verify::changes::every_byte_of_a_signed_image_counts",
    "wine::the_command_for_windows_does_what_wine_supports",
];

/// The steps of every run. Those that fail fastest come first.
const STEPS: [Step; 9] = [
    SETUP,
    FORMAT,
    UNIT,
    Step::new("targets", "Rust's targets that tests compile for", targets),
    TOOLS,
    DRIVER,
    Step::new("verifiers", "third-party programs that check signatures and scripts", verifiers),
    hosts::WINDOWS,
    Step::new("tests", "integration tests of all crates, their documentation, and loom's models", workspace),
];

/// The steps that only `--all` runs: each compiles much again.
const MORE_STEPS: [Step; 7] =
    [features::STEP, hosts::OTHERS, wine::STEP, kmdf::STEP, toolchains::OLDEST, toolchains::NEWEST, miri::STEP];

const UNIT: Step = Step::new("unit", "unit tests of all crates", unit);

fn run(context: &Context) -> Result<(), Error> {
    let quick = [SETUP, FORMAT, UNIT];
    let all = [&STEPS[..], &MORE_STEPS].concat();
    let steps = match (context.has_flag(QUICK), context.has_flag(ALL)) {
        (true, _) => &quick[..],
        (_, true) => &all,
        _ => &STEPS,
    };
    if context.has_flag(LIST) {
        for step in steps {
            output::print_line(&format!("{:<10} {}", step.name, step.what));
        }
        return Ok(());
    }
    check_all(context, steps)
}

/// Installs every target that tests compile for, so that no test depends on a target that another test installed.
#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn targets(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    let mut without = toolchain.ensure_driver_targets(context);
    if toolchain.ensure_target(context, GNU).is_err() {
        without.push(GNU);
    }
    let reason = format!("tests continue without {}", without.join(" and "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every step")]
fn verifiers(context: &Context) -> Result<Outcome, Error> {
    let without = verifiers::ensure(context);
    let reason = format!("tests continue without {}", without.join("; without "));
    Ok(if without.is_empty() { Outcome::Passed } else { Outcome::Skipped(reason) })
}

/// The result of a step whose target has no compiled library.
fn without_library() -> Outcome {
    Outcome::Skipped("the toolchain in use for Windows has no standard library for it".into())
}

/// Returns `cargo test` for all crates, with the environment variables that tests need to build images.
fn cargo_test(context: &Context) -> Tool {
    let to_env = |toolchain: &WindowsToolchain| toolchain.to_env(&toolchain.ensure_driver_targets(context));
    let windows = context.windows().ok().map(to_env);
    let cargo = windows.into_iter().flatten().fold(context.cargo(), |tool, (key, value)| tool.hidden_env(key, &value));
    let cargo = build_once(cargo).args(["test", "--workspace", "--no-fail-fast"]);
    // The feature that no default includes and that has tests.
    if context.has_flag(ALL) { cargo.args(["--features=etwctl/tls"]) } else { cargo }
}

fn unit(context: &Context) -> Result<Outcome, Error> {
    cargo_test(context).args(["--lib", "--bins", "--examples"]).run()?;
    Ok(Outcome::Passed)
}

fn workspace(context: &Context) -> Result<Outcome, Error> {
    let select =
        |programs: &[&str]| programs.iter().fold(cargo_test(context), |cargo, name| cargo.args(["--test", name]));
    let (more, skipped): (&[&str], &[&str]) =
        if context.has_flag(ALL) { (MORE_PROGRAMS, &[]) } else { (&[], LONG_TESTS) };
    let run = |programs: &[&str]| {
        let cargo = select(programs).hidden_env("PROGRAMS_ARE_BUILT", "1");
        cargo.hidden_args(iter::once("--").chain(skipped.iter().flat_map(|name| ["--skip", name])))
    };
    let [first, second] = GROUPS;
    select(&[first, second, more].concat()).args(["--no-run"]).run()?;
    if context.has_flag(ALL) {
        miri::start_beside(context);
    }
    // The step `unit` has run the unit tests. If integration tests fail, the others still run.
    let second = Background::start(context.target().file("tests.log"), run(&[second, more].concat()))?;
    let first = run(first).run();
    let documentation = cargo_test(context).args(["--doc"]).args(WITHOUT_DOCTESTS).run();
    let loom =
        build_once(context.cargo()).env("RUSTFLAGS", LOOM_FLAGS).args(["test"]).args(LOOM_CRATES).args(["models"]);
    let loom = loom.run();
    let second = second.wait();
    first.and(second).and(documentation).and(loom)?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, LONG_TESTS, MORE_PROGRAMS};
    use crate::context::Context;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn entries(dir: &Path) -> Vec<PathBuf> {
        fs::read_dir(dir).map_or(Vec::new(), |entries| entries.map(|entry| entry.unwrap().path()).collect())
    }

    #[test]
    fn every_program_of_integration_tests_is_in_a_group() {
        let crates = entries(&Context::new(Vec::new()).path("crates"));
        let packages = crates.iter().flat_map(|group| entries(group));
        let programs = packages.flat_map(|package| entries(&package.join("tests"))).filter(|path| {
            path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file()
        });
        let found: BTreeSet<String> =
            programs.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        let [first, second] = GROUPS;
        let listed: BTreeSet<String> = [first, second, MORE_PROGRAMS].concat().into_iter().map(str::to_owned).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn every_long_test_exists() {
        let context = Context::new(Vec::new());
        for name in LONG_TESTS {
            let (module, function) = name.rsplit_once("::").unwrap();
            let module = module.replace("::", "/");
            let programs = entries(&context.path("crates")).into_iter().flat_map(|group| entries(&group));
            let mut files =
                programs.flat_map(|package| entries(&package.join("tests"))).map(|program| program.join(&module));
            let is_found = files.any(|file| {
                fs::read_to_string(file.with_extension("rs")).is_ok_and(|text| text.contains(&format!("fn {function}")))
            });
            assert!(is_found, "{name}");
        }
    }
}
