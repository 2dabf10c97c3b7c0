//! The runtime library: strings, tables, error numbers of C.

constants! {
    "Flags of `RtlDuplicateUnicodeString`, ntifs.h."
    u32 {
        RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE = 1,
        RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING = 2,
    }

    "Algorithms of `RtlHashUnicodeString`, ntifs.h."
    u32 {
        HASH_STRING_ALGORITHM_DEFAULT = 0,
        HASH_STRING_ALGORITHM_X65599 = 1,
    }

    "`RTL_GENERIC_COMPARE_RESULTS`, ntddk.h."
    u64 {
        GenericLessThan = 0,
        GenericGreaterThan = 1,
    }

    "`TABLE_SEARCH_RESULT`, ntddk.h."
    u32 {
        TableEmptyTree = 0,
        TableFoundNode = 1,
        TableInsertAsLeft = 2,
        TableInsertAsRight = 3,
    }

    "Formats of compressed data, ntifs.h."
    u16 {
        COMPRESSION_FORMAT_LZNT1 = 2,
        COMPRESSION_FORMAT_XPRESS = 3,
        COMPRESSION_FORMAT_XPRESS_HUFF = 4,
    }

    "Error numbers of C, errno.h."
    i32 {
        EINVAL = 22,
        ERANGE = 34,
        STRUNCATE = 80,
    }

    "The count that asks the functions of C for truncation, crtdefs.h."
    u64 {
        _TRUNCATE = u64::MAX,
    }
}
