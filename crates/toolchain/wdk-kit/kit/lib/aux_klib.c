/* The auxiliary library, written from Microsoft's documentation. Its routines call routines of the kernel. */

/* This source needs the constants of the headers; the other sources in this folder do not. */
#undef WDK_KIT_NO_CONSTANTS
#include "aux_klib.h"

#define SystemModuleInformation 11
#define TAG 'lxuA'

/* RTL_PROCESS_MODULE_INFORMATION and the kernel's list of them, RTL_PROCESS_MODULES. */
typedef struct {
    PVOID Section;
    PVOID MappedBase;
    PVOID ImageBase;
    ULONG ImageSize;
    ULONG Flags;
    USHORT LoadOrder;
    USHORT InitOrder;
    USHORT LoadCount;
    USHORT FileNameOffset;
    UCHAR FullPathName[AUX_KLIB_MODULE_PATH_LEN];
} MODULE;

typedef struct {
    ULONG Count;
    MODULE Modules[];
} MODULES;

_Static_assert(sizeof(MODULE) == 296, "size of a module");
_Static_assert(__builtin_offsetof(MODULES, Modules) == 8, "place of the modules");

NTSTATUS NTAPI ZwQuerySystemInformation(ULONG Class, PVOID Information, ULONG Length, PULONG ReturnLength);
PVOID NTAPI RtlImageDirectoryEntryToData(PVOID Base, BOOLEAN MappedAsImage, USHORT Entry, PULONG Size);

/* The symbol is the entry of the import table, to which the loader writes the address of the variable. */
extern ULONG_PTR *KiBugCheckData;

NTSTATUS NTAPI AuxKlibInitialize(VOID)
{
    return STATUS_SUCCESS;
}

/* Gets the kernel's list of modules. The caller must free it. */
static NTSTATUS Query(MODULES **List)
{
    ULONG Size = 0;
    NTSTATUS Status = ZwQuerySystemInformation(SystemModuleInformation, NULL, 0, &Size);

    while (Status == STATUS_INFO_LENGTH_MISMATCH) {
        /* Room for eight more modules, because modules can be loaded between the calls. */
        ULONG Length = Size + 8 * sizeof(MODULE);

        *List = ExAllocatePool2(POOL_FLAG_NON_PAGED, Length, TAG);
        if (*List == NULL) {
            return STATUS_INSUFFICIENT_RESOURCES;
        }
        Status = ZwQuerySystemInformation(SystemModuleInformation, *List, Length, &Size);
        if (NT_SUCCESS(Status)) {
            return Status;
        }
        ExFreePoolWithTag(*List, TAG);
    }
    return NT_SUCCESS(Status) ? STATUS_UNSUCCESSFUL : Status;
}

NTSTATUS NTAPI AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize, PVOID QueryInfo)
{
    MODULES *List;
    NTSTATUS Status;
    ULONG Needed;

    if (ElementSize != sizeof(AUX_MODULE_BASIC_INFO) && ElementSize != sizeof(AUX_MODULE_EXTENDED_INFO)) {
        return STATUS_INVALID_PARAMETER_2;
    }
    Status = Query(&List);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Needed = List->Count * ElementSize;
    if (QueryInfo != NULL && *BufferSize < Needed) {
        Status = STATUS_BUFFER_TOO_SMALL;
    } else if (QueryInfo != NULL) {
        for (ULONG At = 0; At < List->Count; At++) {
            const MODULE *From = &List->Modules[At];
            AUX_MODULE_EXTENDED_INFO *To = (AUX_MODULE_EXTENDED_INFO *)((PUCHAR)QueryInfo + At * ElementSize);

            To->BasicInfo.ImageBase = From->ImageBase;
            if (ElementSize == sizeof(AUX_MODULE_EXTENDED_INFO)) {
                To->ImageSize = From->ImageSize;
                To->FileNameOffset = From->FileNameOffset;
                for (ULONG Byte = 0; Byte < AUX_KLIB_MODULE_PATH_LEN; Byte++) {
                    To->FullPathName[Byte] = From->FullPathName[Byte];
                }
            }
        }
    }
    *BufferSize = Needed;
    ExFreePoolWithTag(List, TAG);
    return Status;
}

NTSTATUS AuxKlibGetBugCheckData(PKBUGCHECK_DATA BugCheckData)
{
    if (BugCheckData->BugCheckDataSize != sizeof(KBUGCHECK_DATA)) {
        return STATUS_INFO_LENGTH_MISMATCH;
    }
    BugCheckData->BugCheckCode = (ULONG)KiBugCheckData[0];
    BugCheckData->Parameter1 = KiBugCheckData[1];
    BugCheckData->Parameter2 = KiBugCheckData[2];
    BugCheckData->Parameter3 = KiBugCheckData[3];
    BugCheckData->Parameter4 = KiBugCheckData[4];
    return STATUS_SUCCESS;
}

PIMAGE_EXPORT_DIRECTORY AuxKlibGetImageExportDirectory(PVOID ImageBase)
{
    ULONG Size;

    return RtlImageDirectoryEntryToData(ImageBase, TRUE, IMAGE_DIRECTORY_ENTRY_EXPORT, &Size);
}

NTSTATUS NTAPI AuxKlibEnumerateSystemFirmwareTables(ULONG FirmwareTableProviderSignature, PVOID FirmwareTableBuffer, ULONG BufferLength, PULONG ReturnLength)
{
    return ExEnumerateSystemFirmwareTables(FirmwareTableProviderSignature, FirmwareTableBuffer, BufferLength, ReturnLength);
}

NTSTATUS NTAPI AuxKlibGetSystemFirmwareTable(ULONG FirmwareTableProviderSignature, ULONG FirmwareTableID, PVOID FirmwareTableBuffer, ULONG BufferLength, PULONG ReturnLength)
{
    return ExGetSystemFirmwareTable(FirmwareTableProviderSignature, FirmwareTableID, FirmwareTableBuffer, BufferLength, ReturnLength);
}
