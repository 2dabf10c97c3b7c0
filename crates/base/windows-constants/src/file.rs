//! Opening files, and information about them.

constants! {
    "Create dispositions, wdm.h."
    u32 {
        FILE_OPEN = 1,
        FILE_CREATE = 2,
        FILE_OPEN_IF = 3,
    }

    "Create options, wdm.h."
    u32 {
        FILE_DIRECTORY_FILE = 0x1,
        FILE_SYNCHRONOUS_IO_NONALERT = 0x20,
        FILE_NON_DIRECTORY_FILE = 0x40,
        FILE_DELETE_ON_CLOSE = 0x1000,
    }

    "Sharing of a file, wdm.h."
    u16 {
        FILE_SHARE_READ = 0x1,
        FILE_SHARE_WRITE = 0x2,
        FILE_SHARE_DELETE = 0x4,
    }

    "Attributes of a file system, ntifs.h."
    u32 {
        FILE_CASE_PRESERVED_NAMES = 0x2,
        FILE_UNICODE_ON_DISK = 0x4,
    }

    "Results of opening a file: `IO_STATUS_BLOCK.Information`, wdm.h."
    u64 {
        FILE_SUPERSEDED = 0,
        FILE_OPENED = 1,
        FILE_CREATED = 2,
        FILE_OVERWRITTEN = 3,
    }

    "Attributes of files, wdm.h."
    u32 {
        FILE_ATTRIBUTE_DIRECTORY = 0x10,
        FILE_ATTRIBUTE_NORMAL = 0x80,
    }

    "Low parts of special offsets of a read or write, wdm.h."
    u32 {
        FILE_WRITE_TO_END_OF_FILE = 0xFFFF_FFFF,
        FILE_USE_FILE_POINTER_POSITION = 0xFFFF_FFFE,
    }

    "Bits of `FILE_OBJECT.Flags`, wdm.h."
    u32 {
        FO_SYNCHRONOUS_IO = 0x2,
        FO_CLEANUP_COMPLETE = 0x4000,
    }

    "`FILE_INFORMATION_CLASS`, wdm.h and ntifs.h."
    u32 {
        FileDirectoryInformation = 1,
        FileFullDirectoryInformation = 2,
        FileBothDirectoryInformation = 3,
        FileBasicInformation = 4,
        FileStandardInformation = 5,
        FileInternalInformation = 6,
        FileEaInformation = 7,
        FileAccessInformation = 8,
        FileNameInformation = 9,
        FileRenameInformation = 10,
        FileLinkInformation = 11,
        FileNamesInformation = 12,
        FileDispositionInformation = 13,
        FilePositionInformation = 14,
        FileModeInformation = 16,
        FileAlignmentInformation = 17,
        FileAllInformation = 18,
        FileAllocationInformation = 19,
        FileEndOfFileInformation = 20,
        FileAlternateNameInformation = 21,
        FileStreamInformation = 22,
        FileNetworkOpenInformation = 34,
        FileAttributeTagInformation = 35,
        FileIdBothDirectoryInformation = 37,
        FileIdFullDirectoryInformation = 38,
        FileNormalizedNameInformation = 48,
        FileDispositionInformationEx = 64,
        FileRenameInformationEx = 65,
    }

    "Flags of `FILE_RENAME_INFORMATION_EX`, ntifs.h."
    u32 {
        FILE_RENAME_REPLACE_IF_EXISTS = 0x1,
    }

    "`FS_INFORMATION_CLASS`, wdm.h."
    u32 {
        FileFsVolumeInformation = 1,
        FileFsSizeInformation = 3,
        FileFsDeviceInformation = 4,
        FileFsAttributeInformation = 5,
        FileFsFullSizeInformation = 7,
    }
}
