//! Rules about sections and the entry point.

use super::Severity::{MemoryIntegrity, Refused, Warning};
use super::{MEMORY_INTEGRITY, PE_FORMAT, Rule, Target, violation_if};
use pe_image::Image;

/// The maximum number of sections that the loader accepts.
const MAX_SECTIONS: usize = 96;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "section-count",
        severity: Refused,
        what: "there are at most 96 sections",
        why: "the loader does not accept more",
        source: PE_FORMAT,
        check: count,
    },
    Rule {
        id: "section-layout",
        severity: Refused,
        what: "sections are aligned, in ascending order and without gaps, and the last one ends at SizeOfImage",
        why: "the kernel maps the sections one after the other (STATUS_INVALID_IMAGE_FORMAT)",
        source: PE_FORMAT,
        check: layout,
    },
    Rule {
        id: "section-data",
        severity: Refused,
        what: "the data of every section is in the file and aligned",
        why: "the file is truncated or was changed after linking",
        source: PE_FORMAT,
        check: data,
    },
    Rule {
        id: "writable-code",
        severity: MemoryIntegrity,
        what: "no section is both writable and executable",
        why: "memory integrity, on by default in Windows 11, never makes a writable page executable",
        source: MEMORY_INTEGRITY,
        check: writable_code,
    },
    Rule {
        id: "entry-point",
        severity: Refused,
        what: "there is an entry point, inside a section",
        why: "the kernel has no routine to call",
        source: PE_FORMAT,
        check: entry_point,
    },
    Rule {
        id: "entry-rights",
        severity: Refused,
        what: "the entry point's section is executable",
        why: "the call of the entry point is a bug check (ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY)",
        source: MEMORY_INTEGRITY,
        check: entry_rights,
    },
    Rule {
        id: "init-discardable",
        severity: Warning,
        what: "a section named INIT is discardable",
        why: "initialisation code stays in memory until the driver is unloaded",
        source: "Microsoft Learn, \"Making Drivers Pageable\"",
        check: init_discardable,
    },
];

fn count(image: &Image, _: Target) -> Vec<String> {
    let count = image.sections.len();
    violation_if(count > MAX_SECTIONS, || format!("there are {count} sections"))
}

fn layout(image: &Image, _: Target) -> Vec<String> {
    let header = &image.header;
    let unit = u64::from(header.section_alignment.max(1));
    let round_up = |size: u64| size.div_ceil(unit).saturating_mul(unit);
    let mut next = round_up(header.size_of_headers.into());
    for section in &image.sections {
        if u64::from(section.rva) != next {
            return vec![format!("{} is at {:#x}, expected at {next:#x}", section.name, section.rva)];
        }
        next = round_up(section.end());
    }
    violation_if(u64::from(header.size_of_image) != next, || {
        format!("SizeOfImage is {:#x}, the sections end at {next:#x}", header.size_of_image)
    })
}

fn data(image: &Image, _: Target) -> Vec<String> {
    let unit = image.header.file_alignment.max(1);
    let mut found = Vec::new();
    for section in image.sections.iter().filter(|section| section.file_size != 0) {
        let end = u64::from(section.file_offset) + u64::from(section.file_size);
        if end > image.file_size {
            found.push(format!("{} ends at {end:#x}, the file ends at {:#x}", section.name, image.file_size));
        } else if !section.file_offset.is_multiple_of(unit) {
            found.push(format!("{} begins at {:#x}, not a multiple of {unit:#x}", section.name, section.file_offset));
        }
    }
    found
}

fn writable_code(image: &Image, _: Target) -> Vec<String> {
    let both = image.sections.iter().filter(|section| section.is_writable() && section.is_executable());
    both.map(|section| format!("{} is {}", section.name, section.rights())).collect()
}

fn entry_point(image: &Image, _: Target) -> Vec<String> {
    match image.entry.rva {
        0 => vec!["there is none".into()],
        rva => violation_if(image.entry.section.is_none(), || format!("{rva:#x} is in no section")),
    }
}

fn entry_rights(image: &Image, _: Target) -> Vec<String> {
    // Sections that are both writable and executable are found by `writable_code`.
    let section = image.entry_section().filter(|section| !section.is_executable() && image.entry.rva != 0);
    section.map(|section| format!("{} is {}", section.name, section.rights())).into_iter().collect()
}

fn init_discardable(image: &Image, _: Target) -> Vec<String> {
    let kept = image.sections.iter().find(|section| section.name == "INIT" && !section.is_discardable());
    kept.map(|section| format!("{} is not discardable", section.name)).into_iter().collect()
}
