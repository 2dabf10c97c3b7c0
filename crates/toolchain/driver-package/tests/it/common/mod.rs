//! A small linker: creates driver images with exactly the properties that a test needs.
//!
//! [`Driver::default`] creates an image that violates no rule. Tests change one field or patch the finished bytes. The
//! checksum is written last.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod inputs;
pub(crate) mod tools;
pub(crate) mod verifiers;

use std::ops::Range;

use windows_releases::Client;

pub(crate) const X64: u16 = 0x8664;
pub(crate) const ARM64: u16 = 0xaa64;

pub(crate) const READ: u32 = 0x4000_0000;
pub(crate) const WRITE: u32 = 0x8000_0000;
pub(crate) const EXECUTE: u32 = 0x2000_0000;
pub(crate) const DISCARDABLE: u32 = 0x0200_0000;
const CODE: u32 = 0x20;
const DATA: u32 = 0x40;

/// Offset of the PE header after the DOS header, and offsets of the fields that tests patch.
pub(crate) const PE_OFFSET: usize = 0x80;
pub(crate) const OPTIONAL: usize = PE_OFFSET + 24;
pub(crate) const CHECKSUM: usize = OPTIONAL + 64;
pub(crate) const DIRECTORIES: usize = OPTIONAL + 112;
pub(crate) const SECTION_TABLE: usize = OPTIONAL + 240;
pub(crate) const BASE: u64 = 0x1_4000_0000;

/// Addresses of the sections of an image with the usual alignment.
pub(crate) const TEXT: u32 = 0x1000;
pub(crate) const RDATA: u32 = 0x2000;
pub(crate) const DATA_RVA: u32 = 0x3000;
pub(crate) const INIT: u32 = 0x4000;
pub(crate) const RELOC: u32 = 0x5000;

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property that a test asks for by name")]
pub(crate) struct Driver {
    pub(crate) machine: u16,
    pub(crate) characteristics: u16,
    pub(crate) dll_characteristics: u16,
    pub(crate) subsystem: u16,
    pub(crate) subsystem_version: (u16, u16),
    pub(crate) entry: u32,
    pub(crate) imports: Vec<(&'static str, Vec<&'static str>)>,
    pub(crate) delayed: Vec<&'static str>,
    pub(crate) exports: Vec<(&'static str, u32)>,
    /// Addresses of pointers to relocate. Empty for an image without relocations.
    pub(crate) relocations: Vec<u32>,
    pub(crate) cookie: u64,
    pub(crate) pdb: &'static str,
    pub(crate) signed: bool,
    pub(crate) rights: [u32; 5],
    /// Number of empty sections after the others.
    pub(crate) more_sections: u32,
    /// Whether import addresses are in `.text`.
    pub(crate) addresses_in_code: bool,
    pub(crate) tls: bool,
    pub(crate) clr: bool,
    /// The information for the framework's loader.
    pub(crate) framework: Option<Client>,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            machine: X64,
            characteristics: 0x0022,
            dll_characteristics: 0x41e0,
            subsystem: 1,
            subsystem_version: (10, 0),
            entry: TEXT + 0x10,
            imports: vec![
                ("ntoskrnl.exe", vec!["EtwRegister", "EtwUnregister", "KeBugCheckEx"]),
                ("WDFLDR.SYS", vec!["WdfVersionBind", "WdfVersionUnbind"]),
            ],
            delayed: vec![],
            exports: vec![("FxDriverEntry", TEXT + 0x10)],
            relocations: vec![RDATA + 88 + 0x400],
            cookie: BASE + u64::from(DATA_RVA),
            pdb: "driver_sample.pdb",
            signed: true,
            rights: [
                CODE | READ | EXECUTE,
                DATA | READ,
                DATA | READ | WRITE,
                CODE | READ | EXECUTE | DISCARDABLE,
                DATA | READ | DISCARDABLE,
            ],
            more_sections: 0,
            addresses_in_code: false,
            tls: false,
            clr: false,
            framework: None,
        }
    }
}

impl Driver {
    /// Returns the file with a valid checksum.
    pub(crate) fn build(&self) -> Vec<u8> {
        self.build_with(|_| {})
    }

    /// Returns the file after a change to its bytes, with a valid checksum.
    pub(crate) fn build_with(&self, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut file = self.link();
        change(&mut file);
        write_checksum(&mut file);
        file
    }

    /// `.data`: the cookie and, for a driver that uses the framework, its bind information, the minimum version and the
    /// name.
    fn data(&self) -> Vec<u8> {
        let mut data = vec![0x11; 0x40];
        let Some(client) = self.framework else { return data };
        let size: u32 = if client.minimum.is_some() { 0x58 } else { 0x30 };
        let mut info = vec![0; 0x58];
        put(&mut info, 0, &size.to_le_bytes());
        put(&mut info, 8, &(BASE + u64::from(DATA_RVA) + 0xa0).to_le_bytes());
        put(&mut info, 16, &client.major.to_le_bytes());
        put(&mut info, 20, &client.minor.to_le_bytes());
        put(&mut info, 28, &client.functions.to_le_bytes());
        if let Some(minimum) = client.minimum {
            put(&mut info, 48, &(BASE + u64::from(DATA_RVA) + 0x98).to_le_bytes());
            data.extend(info);
            data.extend(minimum.to_le_bytes());
            data.extend([0; 4]);
        } else {
            data.extend(info);
            data.extend([0; 8]);
        }
        data.extend("KmdfLibrary\0".encode_utf16().flat_map(u16::to_le_bytes));
        data
    }

    fn link(&self) -> Vec<u8> {
        let names = [".text", ".rdata", ".data", "INIT", ".reloc"];
        let mut directories = [(0_u32, 0_u32); 16];
        let mut text = vec![0xcc_u8; 0x200];
        let rdata = self.read_only_data(&mut text, &mut directories);
        let bodies = [text, rdata, self.data(), vec![0xcc; 0x20], self.relocation_blocks()];
        if !self.relocations.is_empty() {
            directories[5] = (RELOC, u32_of(bodies[4].len()));
        }

        let count = 5 + self.more_sections;
        let headers = align(SECTION_TABLE + 40 * count as usize, 0x200);
        let mut file = vec![0; headers];
        let mut last = u32_of(align(headers, 0x1000)) - 0x1000;
        let shift = last; // With many sections the headers need more than a page.
        assert!(shift == 0 || self.more_sections > 0, "addresses of the usual image are constants");
        for (index, (name, body)) in names.iter().zip(&bodies).enumerate() {
            last += 0x1000;
            let offset = file.len();
            let size = align(body.len(), 0x200);
            let header = section(name, (last, body.len()), (offset, size), self.rights[index]);
            put(&mut file, SECTION_TABLE + 40 * index, &header);
            file.extend_from_slice(body);
            file.resize(offset + size, 0);
        }
        for index in 5..count as usize {
            last += 0x1000;
            put(&mut file, SECTION_TABLE + 40 * index, &section("more", (last, 0x10), (0, 0), DATA | READ));
        }
        if self.signed {
            let certificate = certificate();
            directories[4] = (u32_of(file.len()), u32_of(certificate.len()));
            file.extend_from_slice(&certificate);
        }
        self.headers(&mut file, headers, last + 0x1000, count, &directories);
        file
    }

    fn headers(&self, file: &mut [u8], size: usize, image: u32, sections: u32, directories: &[(u32, u32); 16]) {
        put(file, 0, b"MZ");
        put(file, 0x3c, &u32_of(PE_OFFSET).to_le_bytes());
        put(file, PE_OFFSET, b"PE\0\0");
        put(file, PE_OFFSET + 4, &self.machine.to_le_bytes());
        put(file, PE_OFFSET + 6, &u16::try_from(sections).unwrap().to_le_bytes());
        put(file, PE_OFFSET + 8, &0x6540_0000_u32.to_le_bytes());
        put(file, PE_OFFSET + 20, &240_u16.to_le_bytes());
        put(file, PE_OFFSET + 22, &self.characteristics.to_le_bytes());
        put(file, OPTIONAL, &0x20b_u16.to_le_bytes());
        put(file, OPTIONAL + 16, &self.entry.to_le_bytes());
        put(file, OPTIONAL + 20, &TEXT.to_le_bytes());
        put(file, OPTIONAL + 24, &BASE.to_le_bytes());
        put(file, OPTIONAL + 32, &0x1000_u32.to_le_bytes());
        put(file, OPTIONAL + 36, &0x200_u32.to_le_bytes());
        put(file, OPTIONAL + 40, &10_u16.to_le_bytes());
        put(file, OPTIONAL + 48, &self.subsystem_version.0.to_le_bytes());
        put(file, OPTIONAL + 50, &self.subsystem_version.1.to_le_bytes());
        put(file, OPTIONAL + 56, &image.to_le_bytes());
        put(file, OPTIONAL + 60, &u32_of(size).to_le_bytes());
        put(file, OPTIONAL + 68, &self.subsystem.to_le_bytes());
        put(file, OPTIONAL + 70, &self.dll_characteristics.to_le_bytes());
        put(file, OPTIONAL + 108, &16_u32.to_le_bytes());
        for (index, (rva, size)) in directories.iter().enumerate() {
            put(file, DIRECTORIES + 8 * index, &rva.to_le_bytes());
            put(file, DIRECTORIES + 8 * index + 4, &size.to_le_bytes());
        }
    }

    /// `.rdata`: import addresses first, then tables and names. The load configuration is at 0x400.
    fn read_only_data(&self, text: &mut [u8], directories: &mut [(u32, u32); 16]) -> Vec<u8> {
        let thunks: usize = self.imports.iter().map(|(_, routines)| routines.len() + 1).sum();
        let mut area = Area { bytes: vec![0; 8 * thunks], base: RDATA };
        let mut descriptors = Vec::new();
        let mut first = 0;
        for (module, routines) in &self.imports {
            let hints: Vec<u32> =
                routines.iter().map(|name| area.add(&[b"\0\0", name.as_bytes(), b"\0"].concat())).collect();
            let list: Vec<u8> = hints.iter().chain(&[0]).flat_map(|&hint| u64::from(hint).to_le_bytes()).collect();
            let names = area.add(&list);
            let name = area.add(&[module.as_bytes(), b"\0"].concat());
            let addresses = if self.addresses_in_code { &mut *text } else { &mut area.bytes };
            put(addresses, first + if self.addresses_in_code { 0x100 } else { 0 }, &list);
            let place = if self.addresses_in_code { TEXT + 0x100 } else { RDATA } + u32_of(first);
            descriptors.extend([names, 0, 0, name, place].map(u32::to_le_bytes).concat());
            first += list.len();
        }
        if !self.imports.is_empty() {
            descriptors.extend([0; 20]);
            directories[1] = (area.add(&descriptors), u32_of(descriptors.len()));
            directories[12] = (if self.addresses_in_code { TEXT + 0x100 } else { RDATA }, u32_of(8 * thunks));
        }
        if !self.delayed.is_empty() {
            let names: Vec<u32> =
                self.delayed.iter().map(|name| area.add(&[name.as_bytes(), b"\0"].concat())).collect();
            let table: Vec<u8> = names
                .iter()
                .flat_map(|&name| [1, name, 0, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat())
                .chain([0; 32])
                .collect();
            directories[13] = (area.add(&table), u32_of(table.len()));
        }
        if !self.exports.is_empty() {
            directories[0] = self.export_directory(&mut area);
        }
        if self.tls {
            directories[9] = (area.add(&[0; 40]), 40);
        }
        if self.clr {
            directories[14] = (area.add(&[0; 72]), 72);
        }
        assert!(area.bytes.len() <= 0x400, "the tables reach into the load configuration: {:#x}", area.bytes.len());
        area.bytes.resize(0x400, 0);
        let mut config = [0; 0x140];
        put(&mut config, 0, &0x140_u32.to_le_bytes());
        put(&mut config, 88, &self.cookie.to_le_bytes());
        put(&mut config, 136, &1_u64.to_le_bytes());
        put(&mut config, 144, &0x500_u32.to_le_bytes());
        directories[10] = (area.add(&config), u32_of(config.len()));
        directories[6] = self.debug_directory(&mut area);
        area.bytes
    }

    fn export_directory(&self, area: &mut Area) -> (u32, u32) {
        let names: Vec<u32> =
            self.exports.iter().map(|(name, _)| area.add(&[name.as_bytes(), b"\0"].concat())).collect();
        let count = u32_of(self.exports.len());
        let module = area.add(b"driver_sample.dll\0");
        let functions = area.add(&self.exports.iter().flat_map(|(_, rva)| rva.to_le_bytes()).collect::<Vec<_>>());
        let name_table = area.add(&names.iter().flat_map(|name| name.to_le_bytes()).collect::<Vec<_>>());
        let ordinals = area.add(&(0..u16::try_from(count).unwrap()).flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        let directory =
            [0, 0, 0, module, 1, count, count, functions, name_table, ordinals].map(u32::to_le_bytes).concat();
        (area.add(&directory), u32_of(directory.len()))
    }

    fn debug_directory(&self, area: &mut Area) -> (u32, u32) {
        let guid: Vec<u8> = (0..16).collect();
        let record = [b"RSDS", guid.as_slice(), &1_u32.to_le_bytes(), self.pdb.as_bytes(), b"\0"].concat();
        let rva = area.add(&record);
        // `.rdata` is the second section, after 0x400 bytes of headers and 0x200 bytes of code.
        let entry = [0, 0, 0, 2, u32_of(record.len()), rva, rva - RDATA + 0x600].map(u32::to_le_bytes).concat();
        (area.add(&entry), u32_of(entry.len()))
    }

    fn relocation_blocks(&self) -> Vec<u8> {
        // A section cannot be empty.
        let mut blocks = if self.relocations.is_empty() { vec![0; 8] } else { Vec::new() };
        for rva in &self.relocations {
            // Type 10, then a padding entry of type 0.
            let entry = 0xa000 | (rva & 0xfff);
            blocks.extend([rva & !0xfff, 12, entry].map(u32::to_le_bytes).concat());
        }
        blocks
    }
}

struct Area {
    bytes: Vec<u8>,
    base: u32,
}

impl Area {
    /// Appends bytes, aligned to eight, and returns their address.
    fn add(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(align(self.bytes.len(), 8), 0);
        let rva = self.base + u32_of(self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        rva
    }
}

fn section(name: &str, (rva, size): (u32, usize), (offset, file_size): (usize, usize), rights: u32) -> Vec<u8> {
    let mut header = vec![0; 40];
    put(&mut header, 0, name.as_bytes());
    put(&mut header, 8, &u32_of(size).to_le_bytes());
    put(&mut header, 12, &rva.to_le_bytes());
    put(&mut header, 16, &u32_of(file_size).to_le_bytes());
    put(&mut header, 20, &u32_of(offset).to_le_bytes());
    put(&mut header, 36, &rights.to_le_bytes());
    header
}

/// Returns bytes that have the layout of a signature but are not a valid one.
fn certificate() -> Vec<u8> {
    let mut entry = vec![0x30; 24];
    put(&mut entry, 0, &24_u32.to_le_bytes());
    put(&mut entry, 4, &0x0200_u16.to_le_bytes());
    put(&mut entry, 6, &2_u16.to_le_bytes());
    entry
}

/// Writes the checksum. This is a second implementation, made from the documentation of the format, so that the code
/// under test is not compared with itself.
pub(crate) fn write_checksum(file: &mut [u8]) {
    put(file, CHECKSUM, &[0; 4]);
    let mut sum: u64 = 0;
    for (index, byte) in file.iter().enumerate() {
        sum += u64::from(*byte) << (8 * (index % 2));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = u32::try_from(sum).unwrap() + u32_of(file.len());
    put(file, CHECKSUM, &sum.to_le_bytes());
}

pub(crate) fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

pub(crate) fn put_u32(file: &mut [u8], at: usize, value: u32) {
    put(file, at, &value.to_le_bytes());
}

pub(crate) fn get_u32(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

pub(crate) fn change_u32(file: &mut [u8], at: usize, change: impl FnOnce(u32) -> u32) {
    put_u32(file, at, change(get_u32(file, at)));
}

/// Returns the range of a header in the section table.
pub(crate) fn section_header(index: usize) -> Range<usize> {
    SECTION_TABLE + 40 * index..SECTION_TABLE + 40 * (index + 1)
}

pub(crate) fn directory(index: usize) -> usize {
    DIRECTORIES + 8 * index
}

fn align(size: usize, unit: usize) -> usize {
    size.div_ceil(unit) * unit
}

fn u32_of(value: usize) -> u32 {
    u32::try_from(value).unwrap()
}
