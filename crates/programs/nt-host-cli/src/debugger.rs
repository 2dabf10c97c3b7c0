//! `nt-host run --debug`: waits for a debugger, and prints the command that attaches one.
//!
//! LLDB reads images and PDBs; GDB reads neither. LLDB attaches to the driver's process, and is told where the image is.

use std::env;
use std::fs;
use std::path::Path;

use command_line::{escaped, message};
use pe_image::Image;

use nt_host::Builder;

/// Signals that the host handles itself: faults of the driver that it emulates or reports, and those between its threads.
const SIGNALS: &str = "SIGSEGV SIGBUS SIGILL SIGFPE SIGSYS SIGUSR1 SIGUSR2";

/// Makes the run wait for a debugger.
pub(super) fn wait(builder: Builder, image: &Path) -> Builder {
    let path = std::path::absolute(image).unwrap_or_else(|_| image.to_owned());
    let debugger = debugger(&programs());
    builder.debugger(move |base| {
        message("the driver is in memory and waits for a debugger; to attach one, run this in another terminal:");
        message(&escaped(&command(&debugger, std::process::id(), &path, base)));
    })
}

/// The names of all programs on the path.
fn programs() -> Vec<String> {
    let dirs = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let entries = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The newest LLDB: distributions have old ones without a version in their name, and newer ones with one.
fn debugger(programs: &[String]) -> String {
    let version = |name: &String| name.strip_prefix("lldb-")?.parse::<u32>().ok();
    let newest = programs.iter().filter_map(|name| Some((version(name)?, name))).max();
    newest.map_or_else(|| "lldb".to_owned(), |(_, name)| name.clone())
}

/// The command for an image at an address.
fn command(debugger: &str, process: u32, path: &Path, base: u64) -> String {
    // Addresses in the image's file begin at the address that the linker chose.
    let linked = fs::read(path).ok().and_then(|bytes| Some(Image::parse(&bytes).ok()?.header.image_base));
    let slide = base.wrapping_sub(linked.unwrap_or_default());
    // LLDB's command for modules takes only those of the process' own system.
    let module = format!("lldb.target.AddModule({:?}, \"x86_64-pc-windows-msvc\", None)", path.display().to_string());
    let commands = [
        format!("process handle --stop false --notify false --pass true {SIGNALS}"),
        format!("script error = lldb.target.SetModuleLoadAddress({module}, {slide:#x})"),
    ];
    let quoted = commands.map(|command| format!(" -o '{}'", command.replace('\'', r"'\''")));
    format!("{debugger} -p {process}{}", quoted.concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{command, debugger};

    #[test]
    fn the_newest_debugger_attaches_to_the_process_and_knows_the_image() {
        let names = ["lldb", "lldb-9", "lldb-19", "lldb-server-20", "lldb-argdumper"].map(String::from);
        assert_eq!(debugger(&names).as_str(), "lldb-19");
        assert_eq!(debugger(&[]).as_str(), "lldb");
        let line = command("lldb", 7, Path::new("/a's/b.sys"), 0x7000);
        assert!(line.starts_with("lldb -p 7 -o 'process handle "), "{line}");
        assert!(line.contains(r#"AddModule("/a'\''s/b.sys", "x86_64-pc-windows-msvc", None), 0x7000)'"#), "{line}");
    }
}
