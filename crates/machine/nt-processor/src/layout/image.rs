//! The headers of an image in memory, for code that parses them.

use super::layout;

layout! {
    IMAGE_DOS_HEADER: 0x40 {
        e_magic: u16,
        Unused: [u16; 29],
        e_lfanew: u32,
    }

    IMAGE_FILE_HEADER: 0x14 {
        Machine: u16,
        NumberOfSections: u16,
        TimeDateStamp: u32,
        PointerToSymbolTable: u32,
        NumberOfSymbols: u32,
        SizeOfOptionalHeader: u16,
        Characteristics: u16,
    }

    IMAGE_DATA_DIRECTORY: 8 {
        VirtualAddress: u32,
        Size: u32,
    }

    /// The headers follow a signature of four bytes, so 64-bit members are pairs of 32-bit words.
    IMAGE_OPTIONAL_HEADER64: 0xF0 {
        Magic: u16,
        LinkerVersion: [u8; 2],
        SizeOfCode: u32,
        SizeOfInitializedData: u32,
        SizeOfUninitializedData: u32,
        AddressOfEntryPoint: u32,
        BaseOfCode: u32,
        ImageBase: [u32; 2],
        SectionAlignment: u32,
        FileAlignment: u32,
        OperatingSystemVersion: [u16; 2],
        ImageVersion: [u16; 2],
        SubsystemVersion: [u16; 2],
        Win32VersionValue: u32,
        SizeOfImage: u32,
        SizeOfHeaders: u32,
        CheckSum: u32,
        Subsystem: u16,
        DllCharacteristics: u16,
        StackAndHeap: [u32; 8],
        LoaderFlags: u32,
        NumberOfRvaAndSizes: u32,
        DataDirectory: [IMAGE_DATA_DIRECTORY; 16],
    }

    IMAGE_NT_HEADERS64: 0x108 {
        Signature: u32,
        FileHeader: IMAGE_FILE_HEADER,
        OptionalHeader: IMAGE_OPTIONAL_HEADER64,
    }

    IMAGE_SECTION_HEADER: 0x28 {
        Name: [u8; 8],
        VirtualSize: u32,
        VirtualAddress: u32,
        SizeOfRawData: u32,
        PointerToRawData: u32,
        PointerToRelocations: u32,
        PointerToLinenumbers: u32,
        NumberOfRelocations: u16,
        NumberOfLinenumbers: u16,
        Characteristics: u32,
    }

    IMAGE_EXPORT_DIRECTORY: 0x28 {
        Characteristics: u32,
        TimeDateStamp: u32,
        MajorVersion: u16,
        MinorVersion: u16,
        Name: u32,
        Base: u32,
        NumberOfFunctions: u32,
        NumberOfNames: u32,
        AddressOfFunctions: u32,
        AddressOfNames: u32,
        AddressOfNameOrdinals: u32,
    }
}
