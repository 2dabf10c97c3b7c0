/* A driver with the bind information of drivers before KMDF 1.25, and without the kit's entry stub.
 *
 * MINOR and COUNT are the requested version and number of functions. A driver before 1.15 has memory for the function
 * table, which the framework fills. A later driver gets a pointer to the framework's table. */

#include <ntddk.h>
#include <wdf.h>

typedef struct {
    ULONG Size;
    PCWSTR Component;
    ULONG Major;
    ULONG Minor;
    ULONG Build;
    ULONG FunctionCount;
    PVOID Functions;
    PVOID Module;
} BIND_INFO;

_Static_assert(sizeof(BIND_INFO) == 0x30, "size of the bind information");

NTSTATUS WdfVersionBind(PDRIVER_OBJECT Driver, PUNICODE_STRING Path, BIND_INFO *Info, PWDF_DRIVER_GLOBALS *Globals);
NTSTATUS WdfVersionUnbind(PUNICODE_STRING Path, BIND_INFO *Info, PWDF_DRIVER_GLOBALS Globals);

static PWDF_DRIVER_GLOBALS Globals;
static PDRIVER_UNLOAD FrameworkUnload;
static UNICODE_STRING NoPath;

#if MINOR < 15
/* One entry more than requested. The framework must not write to it. */
static WDFFUNC Table[COUNT + 1];
#define PLACE Table
#define FUNCTION(index) Table[index]
#else
static const WDFFUNC *Table;
#define PLACE &Table
#define FUNCTION(index) Table[index]
#endif

static BIND_INFO Bind = {sizeof(BIND_INFO), L"KmdfLibrary", 1, MINOR, 0, COUNT, PLACE, NULL};

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    FrameworkUnload(Driver);
    WdfVersionUnbind(&NoPath, &Bind, Globals);
}

#if BUG == 2
static VOID NTAPI Tick(WDFTIMER Timer)
{
    (void)Timer;
}

/* Creates timers with the sizes of WDF_TIMER_CONFIG in 1.7, 1.9 and 1.13. */
static void Timers(WDFDEVICE Device)
{
    static const ULONG sizes[] = {24, 32, 40};
    WDF_OBJECT_ATTRIBUTES attributes = {sizeof(attributes)};
    WDF_TIMER_CONFIG config = {0};
    WDFTIMER timer;

    attributes.ExecutionLevel = WdfExecutionLevelInheritFromParent;
    attributes.SynchronizationScope = WdfSynchronizationScopeInheritFromParent;
    attributes.ParentObject = Device;
    config.EvtTimerFunc = Tick;
    for (int i = 0; i < 3; i++) {
        config.Size = sizes[i];
        DbgPrint("timer %u: %08x\n", config.Size,
                 ((PFN_WDFTIMERCREATE)FUNCTION(WdfTimerCreateTableIndex))(Globals, &config, &attributes, &timer));
    }
}
#endif

/* Creates a control device and its queue, with the size of the queue configuration in this version. */
static NTSTATUS Queue(WDFDRIVER Driver)
{
    static const WCHAR text[] = L"D:P(A;;GA;;;SY)";
    UNICODE_STRING sddl = {sizeof(text) - sizeof(WCHAR), sizeof(text), (PWSTR)text};
    WDF_IO_QUEUE_CONFIG config = {0};
    WDFDEVICE device = NULL;
    WDFQUEUE queue = NULL;
    PWDFDEVICE_INIT init =
        ((PFN_WDFCONTROLDEVICEINITALLOCATE)FUNCTION(WdfControlDeviceInitAllocateTableIndex))(Globals, Driver, &sddl);
    NTSTATUS status =
        ((PFN_WDFDEVICECREATE)FUNCTION(WdfDeviceCreateTableIndex))(Globals, &init, NULL, &device);

    if (status < 0)
        return status;
    config.Size = MINOR < 9 ? 80 : MINOR < 11 ? 88 : 96;
    config.DispatchType = WdfIoQueueDispatchManual;
    config.PowerManaged = WdfUseDefault;
    status = ((PFN_WDFIOQUEUECREATE)FUNCTION(WdfIoQueueCreateTableIndex))(Globals, device, &config, NULL, &queue);
#if BUG == 2
    Timers(device);
#endif
    ((PFN_WDFOBJECTDELETE)FUNCTION(WdfObjectDeleteTableIndex))(Globals, device);
    return status;
}

#if BUG == 1
/* Binds the framework, creates no framework object, and handles IRPs itself. */
static PDEVICE_OBJECT Own;

static NTSTATUS NTAPI Packet(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    DbgPrint("packet %x\n", IoGetCurrentIrpStackLocation(Irp)->MajorFunction);
    Irp->IoStatus.Status = 0;
    Irp->IoStatus.Information = 0;
    IofCompleteRequest(Irp, 0);
    return 0;
}

static VOID NTAPI UnloadBound(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    IoDeleteDevice(Own);
    WdfVersionUnbind(&NoPath, &Bind, Globals);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    NTSTATUS status = WdfVersionBind(Driver, Path, &Bind, &Globals);

    (void)Queue, (void)Unload;
    RtlInitUnicodeString(&name, L"\\Device\\Bound");
    if (status >= 0) {
        status = IoCreateDevice(Driver, 0, &name, 0x22, 0, FALSE, &Own);
    }
    if (status < 0) {
        return status;
    }
    Own->Flags &= ~0x80; /* DO_DEVICE_INITIALIZING */
    Driver->DriverUnload = UnloadBound;
    for (int i = 0; i < 28; i++) {
        Driver->MajorFunction[i] = Packet;
    }
    return 0;
}
#else
/* Without this callback, a driver that is not for Plug and Play cannot be unloaded. */
static VOID NTAPI Unloading(WDFDRIVER Driver)
{
    (void)Driver;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {0};
    WDFDRIVER driver = NULL;
    NTSTATUS status = WdfVersionBind(Driver, Path, &Bind, &Globals);

    if (status < 0) {
        DbgPrint("bind %08x\n", status);
        return status;
    }
#if MINOR < 15
    DbgPrint("copied %d, behind %p\n", Table[0] != NULL && Table[COUNT - 1] != NULL, Table[COUNT]);
#endif
    config.Size = sizeof(config);
    config.DriverInitFlags = WdfDriverInitNonPnpDriver;
    config.EvtDriverUnload = Unloading;
    status = ((PFN_WDFDRIVERCREATE)FUNCTION(WdfDriverCreateTableIndex))(Globals, Driver, Path, NULL, &config, &driver);
    DbgPrint("create %08x\n", status);
    if (status < 0) {
        WdfVersionUnbind(&NoPath, &Bind, Globals);
        return status;
    }
    DbgPrint("queue %08x\n", Queue(driver));
    FrameworkUnload = Driver->DriverUnload;
    Driver->DriverUnload = Unload;
    return status;
}
#endif
