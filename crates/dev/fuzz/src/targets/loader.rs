//! The layout with which nt-host maps a driver. Guarantees: everything that is written, executed or relocated is
//! inside the image. No section is both writable and executable. Unwinding returns a caller or an error. The blocks that
//! coverage finds are in code. Nothing is mapped or run here.

/// Computes the layout of an image and checks it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn run(bytes: &[u8]) {
    let layout = match nt_host::plan(bytes) {
        Ok(layout) => layout,
        Err(error) => {
            assert!(!error.field().is_empty());
            assert!(!error.reason().is_empty());
            return;
        }
    };
    let size = layout.bytes.len() as u64;
    assert!(u64::from(layout.headers) <= size, "the headers leave the image");
    let mut end = u64::from(layout.headers);
    for section in &layout.sections {
        assert!(u64::from(section.rva) >= end, "{} overlaps the section before it", section.name);
        end = u64::from(section.rva) + u64::from(section.memory_size());
        assert!(end <= size, "{} leaves the image", section.name);
        assert!(section.rva.is_multiple_of(0x1000), "{} shares a page", section.name);
        assert!(!(section.is_writable() && section.is_executable()), "{} is writable code", section.name);
    }
    let entry = layout
        .sections
        .iter()
        .find(|section| section.contains(layout.entry))
        .expect("the entry point is in no section");
    assert!(entry.is_executable(), "the entry point is not in code");
    let guard = [layout.guard.cookie, layout.guard.check, layout.guard.dispatch];
    let pointers = layout.relocations.iter().copied().chain(guard.into_iter().flatten());
    for rva in pointers.chain(layout.imports.iter().map(|import| import.slot)) {
        assert!(u64::from(rva) + 8 <= size, "a pointer at {rva:#x} leaves the image");
    }
    unwind(&layout);
    let coverage = nt_host::Coverage::new(&layout, &[]).expect("memory");
    for rva in coverage.blocks() {
        let is_code = layout.sections.iter().any(|section| section.is_executable() && section.contains(*rva));
        assert!(is_code, "the block at {rva:#x} is not in code");
    }
}

/// Unwinds the first functions of an image, from the first and last address and from one in the middle.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn unwind(layout: &pe_image::Layout) {
    use pe_image::unwind::{Functions, Registers};

    let functions = Functions::from_layout(layout);
    for function in functions.iter().take(64) {
        for rva in [function.begin, function.begin / 2 + function.end / 2, function.end.wrapping_sub(1)] {
            let before = Registers { rip: layout.base.wrapping_add(rva.into()), ..Registers::default() };
            let mut registers = before;
            let result = functions.unwind(layout.base, &mut registers, &mut |address| Some(address ^ layout.base));
            assert!(result.is_ok() || registers == before, "an error changed the registers");
        }
    }
}

/// Driver images are loaded on Linux for x86-64 only.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn run(_: &[u8]) {}
