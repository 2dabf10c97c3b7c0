/* FxDriverEntry for a driver that is compiled with the headers of KMDF 1.33 and runs on KMDF 1.9.
 *
 * It binds as a client of 1.9, whose 396 functions are the first ones of 1.33. Structures that have grown since then get
 * the size of 1.9 while the framework uses them; the members of 1.9 come first. */

#define WDF_STUB
#include <ntddk.h>
#include <wdf.h>

#define COUNT 396

typedef struct {
    ULONG Size;
    PCWSTR Component;
    ULONG Version[3];
    ULONG FunctionCount;
    WDFFUNC *Functions;
    PVOID Module;
} BIND_INFO;

_Static_assert(sizeof(BIND_INFO) == 0x30, "size of the bind information");

NTSTATUS WdfVersionBind(PDRIVER_OBJECT Driver, PUNICODE_STRING Path, BIND_INFO *Info, PWDF_DRIVER_GLOBALS *Globals);
NTSTATUS WdfVersionUnbind(PUNICODE_STRING Path, BIND_INFO *Info, PWDF_DRIVER_GLOBALS Globals);
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);

static WDFFUNC Table[WdfFunctionTableNumEntries];
const WDFFUNC *WdfFunctions_01033 = Table;
PWDF_DRIVER_GLOBALS WdfDriverGlobals;
BOOLEAN WdfClientVersionHigherThanFramework;
ULONG WdfFunctionCount = COUNT;
ULONG WdfStructureCount;
WDF_STRUCT_INFO WdfStructures;

static BIND_INFO Bind = {sizeof(Bind), L"KmdfLibrary", {1, 9, 0}, COUNT, Table, NULL};

typedef ULONG64 (*ANY)(ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64);

/* Calls a function with the size of 1.9 in its structure. */
static ULONG64 Shrunk(ANY Function, ULONG *Size, ULONG New, ULONG Old, const ULONG64 *Argument)
{
    ULONG before = Size != NULL ? *Size : 0;
    if (before == New)
        *Size = Old;
    ULONG64 result = Function(Argument[0], Argument[1], Argument[2], Argument[3], Argument[4], Argument[5]);
    if (before == New)
        *Size = before;
    return result;
}

/* The name of a function, the number of the argument that is the structure, and its sizes in 1.33 and 1.9. */
#define ADAPTED(X)                                                                                                     \
    X(WdfTimerCreate, 1, 40, 32)                                                                                       \
    X(WdfIoQueueCreate, 2, 96, 88)                                                                                     \
    X(WdfInterruptCreate, 2, 104, 56)                                                                                  \
    X(WdfIoTargetOpen, 2, 136, 120)                                                                                    \
    X(WdfDeviceInitSetPnpPowerEventCallbacks, 2, 144, 136)                                                             \
    X(WdfDeviceAssignS0IdleSettings, 2, 36, 28)                                                                        \
    X(WdfDeviceSetDeviceState, 2, 32, 28)

#define DEFINE(name, place, new, old)                                                                                  \
    static ANY Original##name;                                                                                         \
    static ULONG64 name##As19(ULONG64 a, ULONG64 b, ULONG64 c, ULONG64 d, ULONG64 e, ULONG64 f)                         \
    {                                                                                                                  \
        ULONG64 arguments[] = {a, b, c, d, e, f};                                                                      \
        return Shrunk(Original##name, (ULONG *)arguments[place], new, old, arguments);                                 \
    }
ADAPTED(DEFINE)

#define REPLACE(name, place, new, old)                                                                                 \
    Original##name = (ANY)Table[name##TableIndex];                                                                     \
    Table[name##TableIndex] = (WDFFUNC)name##As19;

static PDRIVER_UNLOAD DriverUnload;
static UNICODE_STRING NoPath;

static VOID NTAPI Unload(PDRIVER_OBJECT DriverObject)
{
    if (DriverUnload != NULL)
        DriverUnload(DriverObject);
    WdfVersionUnbind(&NoPath, &Bind, WdfDriverGlobals);
}

NTSTATUS NTAPI FxDriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    NTSTATUS status = WdfVersionBind(DriverObject, RegistryPath, &Bind, &WdfDriverGlobals);
    if (status < 0)
        return status;
    ADAPTED(REPLACE)
    status = DriverEntry(DriverObject, RegistryPath);
    if (status < 0) {
        WdfVersionUnbind(&NoPath, &Bind, WdfDriverGlobals);
        return status;
    }
    if (WdfDriverGlobals->DisplaceDriverUnload) {
        DriverUnload = DriverObject->DriverUnload;
        DriverObject->DriverUnload = Unload;
    }
    return status;
}
