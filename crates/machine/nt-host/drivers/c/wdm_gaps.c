/* A Plug and Play driver whose device starts only if the registry has its port name. Its control requests fail, but
   reach it; it has no dispatch routine for reads. With BUG 1, AddDevice fails; with BUG 2, it attaches no device; with
   BUG 3, the device starts only if the bus has an interface; with BUG 4, the driver refuses the removal; with BUG 5, it
   refuses to be opened. */

#include "steps.h"

typedef struct {
    PDEVICE_OBJECT Lower;
    PDEVICE_OBJECT Physical;
} EXTENSION;

typedef NTSTATUS(NTAPI *SET_PROCESS_ROUTINE)(PVOID Routine, BOOLEAN Remove);

static SET_PROCESS_ROUTINE SetProcessRoutine;

static VOID NTAPI OnProcess(PVOID Process, HANDLE Id, PVOID Info)
{
    (void)Process, (void)Id, (void)Info;
}

static NTSTATUS FindPort(EXTENSION *Extension)
{
    UNICODE_STRING name;
    UCHAR room[64];
    ULONG length;
    HANDLE key;
    NTSTATUS status = IoOpenDeviceRegistryKey(Extension->Physical, 1, 0x20019, &key);

    if (status >= 0) {
        RtlInitUnicodeString(&name, L"PortName");
        status = ZwQueryValueKey(key, &name, 2, room, sizeof(room), &length);
        ZwClose(key);
    }
    return status;
}

#if BUG == 3
/* Asks the device below for BUS_INTERFACE_STANDARD, with a status that only the bus changes. */
static NTSTATUS FindBus(EXTENSION *Extension)
{
    static GUID standard = {0x496B8280, 0x6F25, 0x11D0, {0xBE, 0xAF, 0x08, 0x00, 0x2B, 0xE2, 0x09, 0x2F}};
    IO_STATUS_BLOCK block = {0};
    KEVENT event;
    PIRP irp;
    PIO_STACK_LOCATION next;

    KeInitializeEvent(&event, 0, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, Extension->Lower, NULL, 0, NULL, &event, &block);
    if (irp == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    next = IoGetCurrentIrpStackLocation(irp) - 1;
    next->MinorFunction = 8; /* IRP_MN_QUERY_INTERFACE */
    *(PVOID *)&next->Parameters = &standard;
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    if (IofCallDriver(Extension->Lower, irp) == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    return block.Status;
}
#else
#define FindBus(extension) ((void)(extension), 0)
#endif

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status;

    if (minor == IRP_MN_START_DEVICE) {
        status = FindPort(extension);
        if (status >= 0) {
            status = FindBus(extension);
        }
        if (status < 0) {
            return Finish(Irp, status, 0);
        }
    }
#if BUG == 4
    if (minor == 1) { /* IRP_MN_QUERY_REMOVE_DEVICE */
        return Finish(Irp, STATUS_DEVICE_BUSY, 0);
    }
#endif
    Irp->IoStatus.Status = 0;
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(extension->Lower, Irp);
    if (minor == IRP_MN_REMOVE_DEVICE) {
        IoDetachDevice(extension->Lower);
        IoDeleteDevice(Device);
    }
    return status;
}

static NTSTATUS NTAPI Open(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, BUG == 5 ? STATUS_ACCESS_DENIED : 0, 0);
}

static NTSTATUS NTAPI Close(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    PDEVICE_OBJECT device;
    EXTENSION *extension;
    NTSTATUS status;

    if (BUG == 1 || BUG == 2) {
        return BUG == 1 ? STATUS_NOT_SUPPORTED : 0;
    }
    status = IoCreateDevice(Driver, sizeof(EXTENSION), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;
    }
    extension = device->DeviceExtension;
    extension->Physical = Physical;
    extension->Lower = IoAttachDeviceToDeviceStack(device, Physical);
    if (extension->Lower == NULL) {
        IoDeleteDevice(device);
        return STATUS_UNSUCCESSFUL;
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    SetProcessRoutine(OnProcess, TRUE);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    SetProcessRoutine = (SET_PROCESS_ROUTINE)LookUp(L"PsSetCreateProcessNotifyRoutineEx");
    if (SetProcessRoutine == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_CREATE] = Open;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Close;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    return SetProcessRoutine(OnProcess, FALSE);
}
