/* Lets a driver that was built for KMDF 1.33 run on KMDF 1.9.
 *
 * It registers as a framework of version 1.33. When a driver binds, it binds the driver to the framework of version 1.9,
 * whose 396 functions are the first ones of 1.33. Structures that have grown since then get the size of 1.9 while the
 * framework uses them; the members of 1.9 come first. */
#define WDF_STUB
#include "small_framework.h"
#include <wdf.h>

#define COUNT 396

/* The members of the bind information that drivers since 1.25 have. */
typedef struct {
    BIND_INFO Info;
    ULONG *MinimumVersionRequired;
    BOOLEAN *ClientVersionHigherThanFramework;
    ULONG *FunctionCount;
    ULONG *StructureCount;
    PVOID *Structures;
} BIND_INFO2;

_Static_assert(sizeof(BIND_INFO2) == 0x58, "size of the bind information");

static PVOID Table[WdfFunctionTableNumEntries];
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
    static ULONG64 Adapted##name(ULONG64 a, ULONG64 b, ULONG64 c, ULONG64 d, ULONG64 e, ULONG64 f)                      \
    {                                                                                                                  \
        ULONG64 arguments[] = {a, b, c, d, e, f};                                                                      \
        return Shrunk(Original##name, (ULONG *)arguments[place], new, old, arguments);                                 \
    }
ADAPTED(DEFINE)

#define REPLACE(name, place, new, old)                                                                                 \
    Original##name = (ANY)Table[name##TableIndex];                                                                     \
    Table[name##TableIndex] = (PVOID)Adapted##name;

/* The driver takes the framework for the one that it was built for. */
static BOOLEAN IsVersionAvailable(PVOID Globals, WDFDRIVER Driver, PWDF_DRIVER_VERSION_AVAILABLE_PARAMS Version)
{
    (void)Globals, (void)Driver;
    return Version->MajorVersion == 1 && Version->MinorVersion <= 33;
}

static NTSTATUS Nothing(void)
{
    return 0;
}

static NTSTATUS RegisterClient(BIND_INFO *Info, PVOID *Globals, CLIENT_INFO **Context)
{
    CLIENT_INFO *client = *Context;
    NTSTATUS status = WdfVersionBind(client->DriverObject, client->RegistryPath, &Bind, Globals);
    if (status < 0)
        return status;
    ADAPTED(REPLACE)
    Table[WdfDriverIsVersionAvailableTableIndex] = (PVOID)IsVersionAvailable;
    *Info->Functions = Table;
    if (Info->Size == sizeof(BIND_INFO2)) {
        BIND_INFO2 *extended = (BIND_INFO2 *)Info;
        *extended->ClientVersionHigherThanFramework = FALSE;
        *extended->FunctionCount = COUNT;
    }
    return status;
}

static NTSTATUS UnregisterClient(BIND_INFO *Info, PVOID Globals)
{
    static UNICODE_STRING none;
    (void)Info;
    return WdfVersionUnbind(&none, &Bind, Globals);
}

static LIBRARY_INFO Library = {sizeof(Library), Nothing, Nothing, RegisterClient, UnregisterClient, {1, 33, 0}};

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    Driver->DriverUnload = Unload;
    RtlInitUnicodeString(&name, L"\\Device\\Adapter");
    return WdfRegisterLibrary(&Library, Path, &name);
}
