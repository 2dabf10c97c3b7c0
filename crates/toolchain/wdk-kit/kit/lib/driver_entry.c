/* FxDriverEntry: the entry point of a KMDF driver.
 *
 * It calls the framework's loader to bind the driver to the framework, and then calls DriverEntry. It unbinds the driver
 * if DriverEntry fails, and when the driver is unloaded. Written from the public descriptions of the bind structures
 * (github.com/microsoft/Windows-Driver-Frameworks, fxldr.h and wdfglobals.h). */

#define WDF_STUB
#include "wdm.h"
#include "wdf.h"

typedef struct {
    ULONG Size;
    PCWSTR Component;
    ULONG Major;
    ULONG Minor;
    ULONG Build;
    ULONG FunctionCount;
    /* Where the framework stores the address of its function table. */
    const WDFFUNC **Functions;
    PVOID Module;
    /* The following fields let a driver run on an older framework than it was built for. */
    ULONG *MinimumVersionRequired;
    BOOLEAN *ClientVersionHigherThanFramework;
    ULONG *FunctionCountPointer;
    ULONG *StructureCountPointer;
    WDF_STRUCT_INFO *Structures;
} BIND_INFO;

_Static_assert(sizeof(BIND_INFO) == 0x58, "size of the bind information");
_Static_assert(__builtin_offsetof(BIND_INFO, Functions) == 32, "place of the function table");

NTSTATUS WdfVersionBind(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath, BIND_INFO *Info, PWDF_DRIVER_GLOBALS *Globals);
NTSTATUS WdfVersionUnbind(PUNICODE_STRING RegistryPath, BIND_INFO *Info, PWDF_DRIVER_GLOBALS Globals);
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);

/* The pointer to the function table. WDF_FUNCTIONS is a macro, because the version is part of the name: WdfFunctions_01033.
 * Before 1.15, the framework fills in a table of the driver. */
#if KMDF_VERSION_MINOR < 15
static WDFFUNC Table[WdfFunctionTableNumEntries];
const WDFFUNC *WDF_FUNCTIONS = Table;
#define FUNCTIONS ((const WDFFUNC **)Table)
#else
const WDFFUNC *WDF_FUNCTIONS;
#define FUNCTIONS (&WDF_FUNCTIONS)
#endif
PWDF_DRIVER_GLOBALS WdfDriverGlobals;
BOOLEAN WdfClientVersionHigherThanFramework;
ULONG WdfFunctionCount = WdfFunctionTableNumEntries;
ULONG WdfStructureCount;
WDF_STRUCT_INFO WdfStructures;

/* Defined by wdf.h when the driver is compiled, not in this file. */
extern ULONG WdfMinimumVersionRequired;

static BIND_INFO Bind = {
    /* The fields for older frameworks exist since 1.25. */
    .Size = KMDF_VERSION_MINOR >= 25 ? sizeof(BIND_INFO) : __builtin_offsetof(BIND_INFO, MinimumVersionRequired),
    .Component = L"KmdfLibrary",
    .Major = 1,
    .Minor = KMDF_VERSION_MINOR,
    .Build = 0,
    .FunctionCount = WdfFunctionTableNumEntries,
    .Functions = FUNCTIONS,
    .MinimumVersionRequired = &WdfMinimumVersionRequired,
    .ClientVersionHigherThanFramework = &WdfClientVersionHigherThanFramework,
    .FunctionCountPointer = &WdfFunctionCount,
    .StructureCountPointer = &WdfStructureCount,
    .Structures = &WdfStructures,
};

/* A copy of the registry path. Unload needs the path, and the caller's string is not valid any more at that time. The
 * path of a service's key has 52 characters before the name of the key, which has at most 255. */
static WCHAR RegistryPathBuffer[320];
static UNICODE_STRING RegistryPathCopy = {.MaximumLength = sizeof(RegistryPathBuffer), .Buffer = RegistryPathBuffer};

static PDRIVER_UNLOAD DriverUnload;

static VOID NTAPI Unload(PDRIVER_OBJECT DriverObject)
{
    if (DriverUnload != NULL) {
        DriverUnload(DriverObject);
    }
    WdfVersionUnbind(&RegistryPathCopy, &Bind, WdfDriverGlobals);
}

NTSTATUS NTAPI FxDriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    NTSTATUS status;

    RtlCopyUnicodeString(&RegistryPathCopy, RegistryPath);
    status = WdfVersionBind(DriverObject, &RegistryPathCopy, &Bind, &WdfDriverGlobals);
    if (status < 0) {
        return status;
    }
    status = DriverEntry(DriverObject, RegistryPath);
    if (status < 0) {
        WdfVersionUnbind(&RegistryPathCopy, &Bind, WdfDriverGlobals);
        return status;
    }
    if (WdfDriverGlobals->DisplaceDriverUnload) {
        DriverUnload = DriverObject->DriverUnload;
        DriverObject->DriverUnload = Unload;
    }
    return status;
}
