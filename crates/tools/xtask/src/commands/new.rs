//! `cargo xtask new`: creates a small driver to start from.

use std::path::Path;

use crate::command::{Command, Flag};
use crate::context::Context;
use driver_build::Error;
use driver_build::new::{Kind, NewDriver, Source};
use driver_build::setup::note;

pub(super) const COMMAND: Command = Command {
    name: "new",
    summary: "Creates a driver with tracing and tests",
    details: "\
Creates a folder with a small driver that traces what it does, tests that run
its .sys on Linux, an .inx and a README. NAME is the path of the folder; its
last part is the driver's name. The driver depends on this clone by its path.
",
    flags: &[
        Flag { name: "NAME", summary: "the driver's folder; it must not exist, or must be empty" },
        Flag { name: "--kmdf", summary: "with the Kernel-Mode Driver Framework (the default)" },
        Flag { name: "--wdm", summary: "without a framework" },
        Flag { name: "--minifilter", summary: "a file system minifilter" },
        Flag { name: "--wfp", summary: "a callout driver of the Windows Filtering Platform" },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    let mut names = context.words().iter().filter(|word| !word.starts_with("--"));
    let (Some(path), None) = (names.next(), names.next()) else {
        return Err(Error::Usage(String::from("`cargo xtask new` takes one NAME: the driver's folder")));
    };
    let kinds =
        [("--kmdf", Kind::Kmdf), ("--wdm", Kind::Wdm), ("--minifilter", Kind::Minifilter), ("--wfp", Kind::Wfp)];
    let chosen: Vec<Kind> =
        kinds.into_iter().filter(|(flag, _)| context.has_flag(flag)).map(|(_, kind)| kind).collect();
    let kind = match *chosen {
        [] => Kind::Kmdf,
        [kind] => kind,
        _ => {
            return Err(Error::Usage(String::from("a driver is one of `--kmdf`, `--wdm`, `--minifilter` and `--wfp`")));
        }
    };
    let new = NewDriver::at(Path::new(path), kind, Source::Path(context.path("")));
    new.write()?;
    let folder = new.dir.display();
    note(&format!("created a driver in {folder}. Next, install `cargo driver` once, here:"));
    note("cargo install --locked --path crates/tools/cargo-driver");
    note("Then, in the driver's folder:");
    note(match kind {
        Kind::Minifilter => "cargo driver run -- --file 'create:\\a.keep' --file delete",
        Kind::Wfp => "cargo driver run -- --connect 10.0.0.1:443",
        Kind::Kmdf | Kind::Wdm | Kind::Existing => "cargo driver run -- --ioctl 222000:05000000",
    });
    note("cargo driver test");
    note(&format!("Without installing it, here: cargo xtask build --manifest-path \"{folder}\""));
    Ok(())
}
