/* What library.c exports. */
#pragma once

#include "plain.h"

#ifdef LIBRARY
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __declspec(dllimport)
#endif

/* The control request to the library's device that makes the library's dispatch routine free memory with a wrong tag. */
#define LIBRARY_WRONG_TAG 0x222000

extern EXPORTED ULONG LibraryVersion;
EXPORTED ULONG LibraryAdd(ULONG First, ULONG Second);
EXPORTED PVOID LibraryAllocate(SIZE_T Size);
EXPORTED void LibraryFree(PVOID Memory);
EXPORTED void LibrarySleep(void);
EXPORTED ULONG LibraryHandle(ULONG *Address);
