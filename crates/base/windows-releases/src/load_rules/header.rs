//! Rules about the COFF header and the optional header.

use super::Severity::{MemoryIntegrity, Refused, Warning};
use super::{MEMORY_INTEGRITY, PE_FORMAT, Rule, Target, violation_if};
use pe_image::{Characteristics, DllCharacteristics, Image, Machine, Subsystem};

const PAGE: u32 = 0x1000;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "machine",
        severity: Refused,
        what: "the image is for x64 or ARM64",
        why: "the kernel loads only code for its processor architecture (STATUS_INVALID_IMAGE_FORMAT)",
        source: PE_FORMAT,
        check: machine,
    },
    Rule {
        id: "pe32-plus",
        severity: Refused,
        what: "the image is PE32+",
        why: "a 64-bit kernel does not load images with a 32-bit header",
        source: PE_FORMAT,
        check: pe32_plus,
    },
    Rule {
        id: "executable-image",
        severity: Refused,
        what: "EXECUTABLE_IMAGE is set",
        why: "an image without this flag is the output of a failed link",
        source: PE_FORMAT,
        check: executable_image,
    },
    Rule {
        id: "one-processor",
        severity: Refused,
        what: "UP_SYSTEM_ONLY is not set",
        why: "a multiprocessor kernel does not load a driver for machines with one processor",
        source: PE_FORMAT,
        check: one_processor,
    },
    Rule {
        id: "subsystem",
        severity: Refused,
        what: "the subsystem is native",
        why: "kernel-mode code needs no subsystem; link the driver with /DRIVER and /SUBSYSTEM:NATIVE",
        source: "Microsoft Learn, \"/SUBSYSTEM (Specify Subsystem)\"",
        check: subsystem,
    },
    Rule {
        id: "checksum",
        severity: Refused,
        what: "the checksum in the header matches the file",
        why: "Windows verifies the checksum of every driver that it loads (STATUS_IMAGE_CHECKSUM_MISMATCH)",
        source: PE_FORMAT,
        check: checksum,
    },
    Rule {
        id: "alignment",
        severity: Refused,
        what: "alignments are powers of two: 512 <= file <= 64 K and file <= section, or both equal and below 4 K",
        why: "the loader cannot find the sections in the file",
        source: PE_FORMAT,
        check: alignment,
    },
    Rule {
        id: "page-alignment",
        severity: MemoryIntegrity,
        what: "the section alignment is a multiple of 0x1000",
        why: "memory integrity, on by default in Windows 11, protects whole pages",
        source: MEMORY_INTEGRITY,
        check: page_alignment,
    },
    Rule {
        id: "dynamic-base-arm64",
        severity: Refused,
        what: "an ARM64 image has DYNAMIC_BASE",
        why: "Windows on ARM64 loads no image at a fixed address, and linkers do not create such images",
        source: "Microsoft Learn, \"/DYNAMICBASE (Use address space layout randomization)\"",
        check: |image, _| without(image, DllCharacteristics::DYNAMIC_BASE, &[Machine::Arm64]),
    },
    Rule {
        id: "dynamic-base",
        severity: Warning,
        what: "an x64 image has DYNAMIC_BASE",
        why: "Windows loads drivers at random addresses; an image without this flag was not linked as a driver",
        source: "Microsoft Learn, \"/DYNAMICBASE (Use address space layout randomization)\"",
        check: |image, _| without(image, DllCharacteristics::DYNAMIC_BASE, &[Machine::X64]),
    },
    Rule {
        id: "nx-compat",
        severity: Warning,
        what: "NX_COMPAT is set",
        why: "a driver must not execute data",
        source: MEMORY_INTEGRITY,
        check: |image, _| without(image, DllCharacteristics::NX_COMPAT, &[Machine::X64, Machine::Arm64]),
    },
    Rule {
        id: "force-integrity",
        severity: Warning,
        what: "FORCE_INTEGRITY is set",
        why: "PsSetCreateProcessNotifyRoutineEx and others return STATUS_ACCESS_DENIED without it; use /INTEGRITYCHECK",
        source: "Microsoft Learn, \"PsSetCreateProcessNotifyRoutineEx\"",
        check: |image, _| without(image, DllCharacteristics::FORCE_INTEGRITY, &[Machine::X64, Machine::Arm64]),
    },
];

fn machine(image: &Image, _: Target) -> Vec<String> {
    let machine = image.header.machine;
    violation_if(![Machine::X64, Machine::Arm64].contains(&machine), || {
        format!("it is for {machine} ({:#06x})", machine.0)
    })
}

fn pe32_plus(image: &Image, _: Target) -> Vec<String> {
    violation_if(!image.header.is_pe32_plus, || "it is PE32".into())
}

fn executable_image(image: &Image, _: Target) -> Vec<String> {
    let flags = image.header.characteristics;
    violation_if(!flags.contains(Characteristics::EXECUTABLE_IMAGE), || {
        format!("the characteristics are {:#06x}", flags.0)
    })
}

fn one_processor(image: &Image, _: Target) -> Vec<String> {
    let flags = image.header.characteristics;
    violation_if(flags.contains(Characteristics::UP_SYSTEM_ONLY), || {
        format!("the characteristics are {:#06x}", flags.0)
    })
}

fn subsystem(image: &Image, _: Target) -> Vec<String> {
    let subsystem = image.header.subsystem;
    violation_if(subsystem != Subsystem::Native, || format!("it is {subsystem} ({})", subsystem.0))
}

fn checksum(image: &Image, _: Target) -> Vec<String> {
    let sum = image.header.checksum;
    violation_if(!sum.is_right(), || match sum.stored {
        0 => format!("there is none; expected {:#010x}", sum.computed),
        stored => format!("{stored:#010x} is stored, expected {:#010x}", sum.computed),
    })
}

fn alignment(image: &Image, _: Target) -> Vec<String> {
    let section = image.header.section_alignment;
    let file = image.header.file_alignment;
    let equal_below_a_page = section == file && section < PAGE;
    let usual = file.is_power_of_two() && (512..=0x1_0000).contains(&file);
    let right = section.is_power_of_two() && section >= file && (usual || equal_below_a_page);
    violation_if(!right, || format!("sections are aligned to {section:#x} in memory, to {file:#x} in the file"))
}

fn page_alignment(image: &Image, _: Target) -> Vec<String> {
    let section = image.header.section_alignment;
    violation_if(!section.is_multiple_of(PAGE) || section == 0, || format!("sections are aligned to {section:#x}"))
}

fn without(image: &Image, flag: DllCharacteristics, machines: &[Machine]) -> Vec<String> {
    let flags = image.header.dll_characteristics;
    let concerned = machines.contains(&image.header.machine);
    violation_if(concerned && !flags.contains(flag), || format!("the DLL characteristics are {:#06x}", flags.0))
}
