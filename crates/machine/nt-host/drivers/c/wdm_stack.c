/* A WDM function driver: Plug and Play, power, and a request that stays pending until it is canceled. BUG 1 creates a
   symbolic link to the physical device. */

#include "plain.h"

#define IOCTL_WAIT 0x222000
#define IOCTL_BELOW 0x222004
#define IOCTL_CANCEL_BELOW 0x222008 /* like IOCTL_BELOW, and cancels the request */
#define IOCTL_FAIL 0x22200C         /* reports that the device has failed */
#define IOCTL_EJECT 0x222010

typedef struct {
    PDEVICE_OBJECT Lower;
    PDEVICE_OBJECT Physical;
    IO_REMOVE_LOCK RemoveLock;
    PIRP Waiting;
    BOOLEAN Failed;
} EXTENSION;

#if BUG == 1
static WCHAR LinkName[] = L"\\DosDevices\\CStack";
#endif

static NTSTATUS NTAPI Synchronous(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event)
{
    KeSetEvent((PKEVENT)Event, 0, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Sends an IRP to the device below and waits until it completes. The caller then owns the IRP again. */
static NTSTATUS ForwardAndWait(EXTENSION *Extension, PIRP Irp)
{
    PIO_STACK_LOCATION next = IoGetCurrentIrpStackLocation(Irp) - 1;
    KEVENT event;
    NTSTATUS status;

    KeInitializeEvent(&event, 0, FALSE);
    *next = *IoGetCurrentIrpStackLocation(Irp);
    next->Control = 0;
    next->CompletionRoutine = Synchronous;
    next->Context = &event;
    next->Control = 0xE0;
    status = IofCallDriver(Extension->Lower, Irp);
    if (status == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    return Irp->IoStatus.Status;
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status = IoAcquireRemoveLockEx(&extension->RemoveLock, Irp, "", 1, sizeof(IO_REMOVE_LOCK));

    if (status < 0) {
        return Finish(Irp, status, 0);
    }
    LOG("pnp %x\n", minor);
    switch (minor) {
    case IRP_MN_START_DEVICE:
        status = ForwardAndWait(extension, Irp);
        LOG("started below: %x\n", status);
        Finish(Irp, status, 0);
        break;
    case IRP_MN_REMOVE_DEVICE:
        Irp->IoStatus.Status = 0;
        IoSkipCurrentIrpStackLocation(Irp);
        status = IofCallDriver(extension->Lower, Irp);
        IoReleaseRemoveLockAndWaitEx(&extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
        IoDetachDevice(extension->Lower);
#if BUG == 1
        UNICODE_STRING link;

        RtlInitUnicodeString(&link, LinkName);
        IoDeleteSymbolicLink(&link);
#endif
        IoDeleteDevice(Device);
        LOG("removed\n");
        return status;
    case 0x14: /* IRP_MN_QUERY_PNP_DEVICE_STATE */
        if (extension->Failed) {
            Irp->IoStatus.Information |= 4; /* PNP_DEVICE_FAILED */
            Irp->IoStatus.Status = 0;
        }
        IoSkipCurrentIrpStackLocation(Irp);
        status = IofCallDriver(extension->Lower, Irp);
        break;
    case IRP_MN_QUERY_REMOVE_DEVICE:
    case IRP_MN_CANCEL_REMOVE_DEVICE:
    case 0x17: /* IRP_MN_SURPRISE_REMOVAL */
        Irp->IoStatus.Status = 0;
        IoSkipCurrentIrpStackLocation(Irp);
        status = IofCallDriver(extension->Lower, Irp);
        break;
    default:
        /* Requests that this driver does not know keep their status. */
        IoSkipCurrentIrpStackLocation(Irp);
        status = IofCallDriver(extension->Lower, Irp);
        break;
    }
    IoReleaseRemoveLockEx(&extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
    return status;
}

static VOID NTAPI PowerDone(PDEVICE_OBJECT Device, UCHAR Minor, POWER_STATE State, PVOID Context, PIO_STATUS_BLOCK Status)
{
    LOG("device power %u done: %x\n", State.DeviceState, Status->Status);
}

static NTSTATUS NTAPI Power(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    NTSTATUS status = IoAcquireRemoveLockEx(&extension->RemoveLock, Irp, "", 1, sizeof(IO_REMOVE_LOCK));
    POWER_STATE state;

    if (status < 0) {
        return Finish(Irp, status, 0);
    }
    if (location->Parameters.Power.Type == DevicePowerState) {
        LOG("device power %x, %u\n", location->MinorFunction, location->Parameters.Power.State.DeviceState);
    } else {
        LOG("system power %x, %u\n", location->MinorFunction, location->Parameters.Power.State.SystemState);
        if (location->MinorFunction == IRP_MN_SET_POWER) {
            state.DeviceState = location->Parameters.Power.State.SystemState == 1 ? 1 : 4;
            PoRequestPowerIrp(Device, IRP_MN_SET_POWER, state, PowerDone, NULL, NULL);
        }
    }
    IoSkipCurrentIrpStackLocation(Irp);
    status = PoCallDriver(extension->Lower, Irp);
    IoReleaseRemoveLockEx(&extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
    return status;
}

static VOID NTAPI Cancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;

    extension->Waiting = NULL;
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    LOG("canceled at irql %u\n", Irql());
    Finish(Irp, STATUS_CANCELLED, 0);
    IoReleaseRemoveLockEx(&extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
}

static NTSTATUS Wait(EXTENSION *Extension, PIRP Irp)
{
    KIRQL irql;

    IoMarkIrpPending(Irp);
    IoAcquireCancelSpinLock(&irql);
    IoSetCancelRoutine(Irp, Cancel);
    if (Irp->Cancel && IoSetCancelRoutine(Irp, NULL) != NULL) {
        IoReleaseCancelSpinLock(irql);
        IoReleaseRemoveLockEx(&Extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
        Finish(Irp, STATUS_CANCELLED, 0);
        return STATUS_PENDING;
    }
    Extension->Waiting = Irp;
    IoReleaseCancelSpinLock(irql);
    return STATUS_PENDING;
}

/* Builds a request and sends it to the device below. */
static NTSTATUS Below(EXTENSION *Extension, BOOLEAN Cancel)
{
    IO_STATUS_BLOCK block = {0};
    KEVENT event;
    NTSTATUS status;
    PIRP irp;

    KeInitializeEvent(&event, 0, FALSE);
    irp = IoBuildDeviceIoControlRequest(0x222FFC, Extension->Lower, NULL, 0, NULL, 0, FALSE, &event, &block);
    if (irp == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = IofCallDriver(Extension->Lower, irp);
    if (status == STATUS_PENDING) {
        if (Cancel) {
            LOG("canceled: %u\n", IoCancelIrp(irp));
        }
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    LOG("below: %x, %x\n", status, block.Status);
    return 0;
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;
    NTSTATUS status = IoAcquireRemoveLockEx(&extension->RemoveLock, Irp, "", 1, sizeof(IO_REMOVE_LOCK));

    if (status < 0) {
        return Finish(Irp, status, 0);
    }
    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_WAIT:
        return Wait(extension, Irp);
    case IOCTL_BELOW:
        status = Below(extension, FALSE);
        break;
    case IOCTL_CANCEL_BELOW:
        status = Below(extension, TRUE);
        break;
    case IOCTL_FAIL:
        extension->Failed = TRUE;
        IoInvalidateDeviceState(extension->Physical);
        break;
    case IOCTL_EJECT:
        IoRequestDeviceEject(extension->Physical);
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    IoReleaseRemoveLockEx(&extension->RemoveLock, Irp, sizeof(IO_REMOVE_LOCK));
    return Finish(Irp, status, 0);
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Finish(Irp, 0, 0);
}

/* The last handle to the file object was closed. */
static NTSTATUS NTAPI Cleanup(PDEVICE_OBJECT Device, PIRP Irp)
{
    LOG("cleanup\n");
    return Finish(Irp, 0, 0);
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    EXTENSION *extension;
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(Driver, sizeof(EXTENSION), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    if (status < 0) {
        return status;
    }
    extension = device->DeviceExtension;
    extension->Physical = Physical;
    extension->Waiting = NULL;
    extension->Failed = FALSE;
    IoInitializeRemoveLockEx(&extension->RemoveLock, TAG, 0, 0, sizeof(IO_REMOVE_LOCK));
    extension->Lower = IoAttachDeviceToDeviceStack(device, Physical);
    if (extension->Lower == NULL) {
        IoDeleteDevice(device);
        return STATUS_NO_SUCH_DEVICE;
    }
#if BUG == 1
    UNICODE_STRING link, target = {0};
    WCHAR name[64] = {0};
    ULONG length = 0;

    RtlInitUnicodeString(&link, LinkName);
    /* DevicePropertyPhysicalDeviceObjectName */
    status = IoGetDeviceProperty(Physical, 11, sizeof(name), name, &length);
    RtlInitUnicodeString(&target, name);
    LOG("name: %x, %S\n", status, name);
    IoCreateSymbolicLink(&link, &target);
#endif
    LOG("added, %u locations\n", device->StackSize);
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    LOG("unloaded, %s\n", Driver->DeviceObject == NULL ? "no device" : "a device");
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Cleanup;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    Driver->MajorFunction[IRP_MJ_POWER] = Power;
    return 0;
}
