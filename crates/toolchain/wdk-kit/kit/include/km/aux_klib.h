/* The auxiliary library. Its routines (kit/lib/aux_klib.c) are linked into the driver. */
#pragma once

#include "ntimage.h"

#define AUX_KLIB_MODULE_PATH_LEN 256

typedef struct _AUX_MODULE_BASIC_INFO {
    PVOID ImageBase;
} AUX_MODULE_BASIC_INFO, *PAUX_MODULE_BASIC_INFO;

typedef struct _AUX_MODULE_EXTENDED_INFO {
    AUX_MODULE_BASIC_INFO BasicInfo;
    ULONG ImageSize;
    USHORT FileNameOffset;
    UCHAR FullPathName[AUX_KLIB_MODULE_PATH_LEN];
} AUX_MODULE_EXTENDED_INFO, *PAUX_MODULE_EXTENDED_INFO;

typedef struct _KBUGCHECK_DATA {
    ULONG BugCheckDataSize;
    ULONG BugCheckCode;
    ULONG_PTR Parameter1;
    ULONG_PTR Parameter2;
    ULONG_PTR Parameter3;
    ULONG_PTR Parameter4;
} KBUGCHECK_DATA, *PKBUGCHECK_DATA;

NTSTATUS NTAPI AuxKlibInitialize(VOID);
NTSTATUS NTAPI AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize, PVOID QueryInfo);
NTSTATUS AuxKlibGetBugCheckData(PKBUGCHECK_DATA BugCheckData);
PIMAGE_EXPORT_DIRECTORY AuxKlibGetImageExportDirectory(PVOID ImageBase);
NTSTATUS NTAPI AuxKlibEnumerateSystemFirmwareTables(ULONG FirmwareTableProviderSignature, PVOID FirmwareTableBuffer, ULONG BufferLength, PULONG ReturnLength);
NTSTATUS NTAPI AuxKlibGetSystemFirmwareTable(ULONG FirmwareTableProviderSignature, ULONG FirmwareTableID, PVOID FirmwareTableBuffer, ULONG BufferLength, PULONG ReturnLength);
