/* The format of images. The structures and constants in nt/image.h are generated. */
#pragma once

#include "nt/image.h"

typedef IMAGE_OPTIONAL_HEADER64 IMAGE_OPTIONAL_HEADER;
typedef PIMAGE_OPTIONAL_HEADER64 PIMAGE_OPTIONAL_HEADER;
typedef IMAGE_NT_HEADERS64 IMAGE_NT_HEADERS;
typedef PIMAGE_NT_HEADERS64 PIMAGE_NT_HEADERS;
typedef IMAGE_THUNK_DATA64 IMAGE_THUNK_DATA;
typedef PIMAGE_THUNK_DATA64 PIMAGE_THUNK_DATA;

#define IMAGE_FIRST_SECTION(header) \
    ((PIMAGE_SECTION_HEADER)((ULONG_PTR)(header) + __builtin_offsetof(IMAGE_NT_HEADERS, OptionalHeader) + \
                             (header)->FileHeader.SizeOfOptionalHeader))
