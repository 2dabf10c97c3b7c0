//! The plan that nt-host maps a driver by. Whatever it says to write, execute or adjust is inside the image; nothing can be
//! both written and executed. Nothing is mapped or run here.

/// Plans an image and follows the plan.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn run(bytes: &[u8]) {
    use nt_host::Layout;

    let layout = match Layout::parse(bytes) {
        Ok(layout) => layout,
        Err(error) => {
            assert!(!error.field().is_empty() && !error.reason().is_empty());
            return;
        }
    };
    let size = layout.bytes.len() as u64;
    assert!(u64::from(layout.headers) <= size, "the headers leave the image");
    let mut end = u64::from(layout.headers);
    for section in &layout.sections {
        assert!(u64::from(section.rva) >= end, "{} overlaps what is before it", section.name);
        end = u64::from(section.rva) + u64::from(section.size);
        assert!(end <= size, "{} leaves the image", section.name);
        assert!(!(section.writable && section.executable), "{} is writable code", section.name);
    }
    let entry = layout.section_of(layout.entry.into()).expect("the entry point is in no section");
    assert!(entry.executable, "the entry point is not in code");
    let guard = [layout.guard.cookie, layout.guard.check, layout.guard.dispatch];
    let pointers = layout.relocations.iter().copied().chain(guard.into_iter().flatten());
    for rva in pointers.chain(layout.imports.iter().map(|import| import.slot)) {
        assert!(u64::from(rva) + 8 <= size, "a pointer at {rva:#x} leaves the image");
    }
}

/// Driver images are loaded on Linux for x86-64 only.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn run(_: &[u8]) {}
