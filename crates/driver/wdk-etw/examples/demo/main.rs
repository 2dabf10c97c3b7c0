//! A driver's instrumentation, run on an ETW runtime in this process and printed.
//!
//! What runs is the crate as a driver uses it: the same provider, macros and routines by name. What answers is
//! `etw-engine` instead of the Windows kernel.

mod driver;
mod print;

use etw_engine::Enable;
use etw_symbols::Host;
use wdk_etw::{Level, NtStatus, Provider};

fn main() {
    let host = Host::new();
    let _here = host.enter();

    println!("Setting information, by mode:\n");
    statuses();

    println!("\nA session enables {} at level 0 (every level), then the driver starts:\n", driver::PROVIDER.name());
    let session = host.engine().start_session("demo");
    session.enable(*driver::PROVIDER.id(), Enable { level: Level::LogAlways, ..Enable::default() });
    driver::entry();
    driver::ioctl(0x0022_2004, b"hello", 5);
    driver::ioctl(0x0022_2008, b"", 4096);
    session.capture_state(*driver::PROVIDER.id());
    driver::unload();

    let events = session.take_events();
    print::events(&events);
    println!("\n{} events, {} lost, {} registrations left.", events.len(), session.events_lost(), left(&host));
    for finding in host.engine().findings() {
        println!("finding: {finding:?}");
    }
}

/// Registers a provider of each mode, and the looked-up one once more on a system without the routine.
fn statuses() {
    let rows = [
        ("Lookup", "with EtwSetInformation", status_of(&driver::LOOKUP)),
        ("Lookup", "without EtwSetInformation", without_the_routine(&driver::LOOKUP)),
        ("Direct", "with EtwSetInformation", status_of(&driver::DIRECT)),
        ("Off", "with or without", status_of(&driver::OFF)),
    ];
    for (mode, system, status) in rows {
        println!("  {mode:<8} {system:<27} set traits: {status}");
    }
}

fn status_of(provider: &'static Provider) -> NtStatus {
    // SAFETY: dropped at the end of this function; nobody writes through this provider.
    match unsafe { provider.register_scoped() } {
        Ok(_registration) => provider.traits_status().unwrap_or(NtStatus::Unsuccessful),
        Err(status) => status,
    }
}

fn without_the_routine(provider: &'static Provider) -> NtStatus {
    let older = Host::new();
    older.engine().hide_routine("EtwSetInformation");
    let _there = older.enter();
    status_of(provider)
}

fn left(host: &Host) -> usize {
    host.engine().registrations().len()
}
