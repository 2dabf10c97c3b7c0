//! The contents of the file header and the optional header.

use std::fmt;

use object::LittleEndian as LE;
use object::pe::{
    IMAGE_DOS_SIGNATURE, IMAGE_NT_OPTIONAL_HDR32_MAGIC, IMAGE_NT_OPTIONAL_HDR64_MAGIC, IMAGE_NT_SIGNATURE,
    ImageDataDirectory, ImageDosHeader, ImageFileHeader, ImageNtHeaders32, ImageNtHeaders64, ImageSectionHeader,
};
use object::read::ReadRef;
use object::read::pe::{ImageNtHeaders, ImageOptionalHeader};

use crate::checksum::checksum;
use crate::error::Error;
use crate::sections::Section;
use crate::values::{Characteristics, DllCharacteristics, Machine, Subsystem};

/// Offset of `CheckSum` in the optional header, the same for both widths.
const CHECKSUM_OFFSET: u64 = 64;

/// A version with two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The part before the dot.
    pub major: u16,
    /// The part after the dot.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The checksum in the file and the correct one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The checksum in the header; zero if the linker wrote none.
    pub stored: u32,
    /// The correct checksum.
    pub computed: u32,
}

impl Checksum {
    /// Returns whether the checksum in the header is correct.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.stored == self.computed
    }
}

/// The headers, without the data directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The processor.
    pub machine: Machine,
    /// Whether the image is PE32+, the 64-bit format, rather than PE32.
    pub is_pe32_plus: bool,
    /// When the image was linked, in seconds since 1970, or a hash in reproducible builds.
    pub timestamp: u32,
    /// Flags of the file header.
    pub characteristics: Characteristics,
    /// Flags of the optional header.
    pub dll_characteristics: DllCharacteristics,
    /// The subsystem that the image runs in.
    pub subsystem: Subsystem,
    /// The minimum version of the subsystem.
    pub subsystem_version: Version,
    /// The minimum operating system version, which nothing checks.
    pub os_version: Version,
    /// Address of the entry point, relative to the image.
    pub entry_rva: u32,
    /// The preferred address of the image.
    pub image_base: u64,
    /// Alignment of sections in memory.
    pub section_alignment: u32,
    /// Alignment of sections in the file.
    pub file_alignment: u32,
    /// Size in memory.
    pub size_of_image: u32,
    /// Size of all headers in the file.
    pub size_of_headers: u32,
    /// The checksum in the file, and the correct one.
    pub checksum: Checksum,
}

/// The headers, the section table and the data directories.
pub(crate) struct Headers {
    pub(crate) header: Header,
    pub(crate) sections: Vec<Section>,
    directories: Vec<ImageDataDirectory>,
}

impl Headers {
    /// Parses everything up to the end of the section table.
    pub(crate) fn read(data: &[u8]) -> Result<Self, Error> {
        let cut = |field| move |()| Error::new(field, "the file is too short to contain it");
        let dos = data.read_at::<ImageDosHeader>(0).ok().filter(|dos| dos.e_magic.get(LE) == IMAGE_DOS_SIGNATURE);
        let missing = || Error::new("DOS header", "there is none: this is not a Windows image such as a .sys or .dll");
        let dos = dos.ok_or_else(missing)?;
        let start = u64::from(dos.e_lfanew.get(LE));
        let signature: &object::U32<LE> = data.read_at(start).map_err(cut("PE signature"))?;
        if signature.get(LE) != IMAGE_NT_SIGNATURE {
            return Err(Error::new("PE signature", format!("{:#010x} at {start:#x} is not \"PE\"", signature.get(LE))));
        }
        let _: &ImageFileHeader = data.read_at(start + 4).map_err(cut("file header"))?;
        let magic: &object::U16<LE> = data.read_at(start + 24).map_err(cut("optional header"))?;
        match magic.get(LE) {
            IMAGE_NT_OPTIONAL_HDR64_MAGIC => Self::read_as::<ImageNtHeaders64>(data, start),
            IMAGE_NT_OPTIONAL_HDR32_MAGIC => Self::read_as::<ImageNtHeaders32>(data, start),
            other => Err(Error::new("optional header", format!("its magic {other:#06x} is neither PE32 nor PE32+"))),
        }
    }

    fn read_as<Pe: ImageNtHeaders>(data: &[u8], start: u64) -> Result<Self, Error> {
        let mut offset = start;
        let (nt, directories) =
            Pe::parse(data, &mut offset).map_err(|error| Error::new("optional header", error.to_string()))?;
        let table = nt.sections(data, offset).map_err(|error| Error::new("section table", error.to_string()))?;
        let file = nt.file_header();
        let optional = nt.optional_header();
        let field = start + 24 + CHECKSUM_OFFSET;
        Ok(Self {
            header: Header {
                machine: Machine(file.machine.get(LE)),
                is_pe32_plus: nt.is_type_64(),
                timestamp: file.time_date_stamp.get(LE),
                characteristics: Characteristics(file.characteristics.get(LE)),
                dll_characteristics: DllCharacteristics(optional.dll_characteristics()),
                subsystem: Subsystem(optional.subsystem()),
                subsystem_version: Version {
                    major: optional.major_subsystem_version(),
                    minor: optional.minor_subsystem_version(),
                },
                os_version: Version {
                    major: optional.major_operating_system_version(),
                    minor: optional.minor_operating_system_version(),
                },
                entry_rva: optional.address_of_entry_point(),
                image_base: optional.image_base(),
                section_alignment: optional.section_alignment(),
                file_alignment: optional.file_alignment(),
                size_of_image: optional.size_of_image(),
                size_of_headers: optional.size_of_headers(),
                checksum: Checksum { stored: optional.check_sum(), computed: checksum(data, field) },
            },
            sections: table.iter().map(|header: &ImageSectionHeader| Section::read(header)).collect(),
            directories: directories.iter().copied().collect(),
        })
    }

    /// Returns the address and size of a data directory, if the image has it.
    pub(crate) fn directory(&self, index: usize) -> Option<(u32, u32)> {
        let (rva, size) = self.directories.get(index)?.address_range();
        (rva != 0).then_some((rva, size))
    }
}
