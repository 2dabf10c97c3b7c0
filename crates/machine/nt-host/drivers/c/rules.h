/* The frame of the drivers that break Microsoft's rules: a Plug and Play driver that handles every request correctly,
   unless the rule handles it. The registry value Rule names the rule. The driver breaks it if the value Broken is not
   0; otherwise it does the same correctly. */
#pragma once

#include "plain.h"

#define IRP_MJ_SYSTEM_CONTROL_ 0x17
#define IRP_MJ_SHUTDOWN_ 0x10
#define IRP_MN_SURPRISE_REMOVAL_ 0x17
#define ANY_MINOR 0xFF

typedef struct {
    PDEVICE_OBJECT Lower;
    PDEVICE_OBJECT Physical;
    IO_REMOVE_LOCK RemoveLock;
} EXTENSION;

/* Handles a request in place of the frame. */
typedef NTSTATUS HANDLER(PDEVICE_OBJECT Device, PIRP Irp);
/* Is called for a control request, which the frame then completes. */
typedef VOID ACTION(PDEVICE_OBJECT Device);

typedef struct {
    const char *Name;
    UCHAR Major, Minor;
    HANDLER *Handler;
    ACTION *Action;
} RULE;

/* A row of the table of rules: a rule that is broken by an action, or by the handler of a request. */
#define ACTION_OF(name, action) {#name, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, NULL, action}
#define HANDLER_OF(name, major, minor, handler) {#name, major, minor, handler, NULL}

extern const RULE Rules[];
extern const ULONG RuleCount;

static const RULE *Rule;
static ULONG Broken;
static PDRIVER_OBJECT TheDriver;

static EXTENSION *Extension(PDEVICE_OBJECT Device)
{
    return Device->DeviceExtension;
}

static void Acquire(PDEVICE_OBJECT Device, PVOID Tag)
{
    IoAcquireRemoveLockEx(&Extension(Device)->RemoveLock, Tag, "", 1, sizeof(IO_REMOVE_LOCK));
}

static void Release(PDEVICE_OBJECT Device, PVOID Tag)
{
    IoReleaseRemoveLockEx(&Extension(Device)->RemoveLock, Tag, sizeof(IO_REMOVE_LOCK));
}

static void ReleaseAndWait(PDEVICE_OBJECT Device, PVOID Tag)
{
    IoReleaseRemoveLockAndWaitEx(&Extension(Device)->RemoveLock, Tag, sizeof(IO_REMOVE_LOCK));
}

static NTSTATUS NTAPI SetEvent(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event)
{
    KeSetEvent((PKEVENT)Event, 0, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Copies the stack location for the driver below, and sets a completion routine for every result. */
static void CopyLocation(PIRP Irp, PIO_COMPLETION_ROUTINE Routine, PVOID Context)
{
    PIO_STACK_LOCATION next = IoGetCurrentIrpStackLocation(Irp) - 1;

    *next = *IoGetCurrentIrpStackLocation(Irp);
    next->CompletionRoutine = Routine;
    next->Context = Context;
    next->Control = Routine == NULL ? 0 : 0xE0;
}

static NTSTATUS PassOn(PDEVICE_OBJECT Device, PIRP Irp)
{
    IoSkipCurrentIrpStackLocation(Irp);
    return IofCallDriver(Extension(Device)->Lower, Irp);
}

/* Passes on a request while the remove lock is held. */
static NTSTATUS PassOnLocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    status = PassOn(Device, Irp);
    Release(Device, Irp);
    return status;
}

/* Sends a request to the driver below and waits until it is completed. The caller has the request again. */
static NTSTATUS ForwardAndWait(PDEVICE_OBJECT Device, PIRP Irp)
{
    KEVENT event;

    KeInitializeEvent(&event, 0, FALSE);
    CopyLocation(Irp, SetEvent, &event);
    if (IofCallDriver(Extension(Device)->Lower, Irp) == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    return Irp->IoStatus.Status;
}

static NTSTATUS Remove(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    NTSTATUS status;

    Acquire(Device, Irp);
    Irp->IoStatus.Status = 0;
    status = PassOn(Device, Irp);
    ReleaseAndWait(Device, Irp);
    IoDetachDevice(lower);
    IoDeleteDevice(Device);
    return status;
}

static NTSTATUS Start(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    status = ForwardAndWait(Device, Irp);
    if (status >= 0 && Rule->Major == IRP_MJ_SYSTEM_CONTROL_) {
        IoWMIRegistrationControl(Device, 1);
    }
    Finish(Irp, status, 0);
    Release(Device, Irp);
    return status;
}

static NTSTATUS PlugAndPlay(PDEVICE_OBJECT Device, PIRP Irp, UCHAR Minor)
{
    switch (Minor) {
    case IRP_MN_START_DEVICE:
        return Start(Device, Irp);
    case IRP_MN_REMOVE_DEVICE:
        if (Rule->Major == IRP_MJ_SYSTEM_CONTROL_) {
            IoWMIRegistrationControl(Device, 2);
        }
        return Remove(Device, Irp);
    case IRP_MN_QUERY_REMOVE_DEVICE:
    case IRP_MN_CANCEL_REMOVE_DEVICE:
    case IRP_MN_SURPRISE_REMOVAL_:
        Irp->IoStatus.Status = 0;
        break;
    }
    return PassOnLocked(Device, Irp);
}

/* Sends IRP_MJ_SHUTDOWN, which no client can send, to the driver's own device. */
static NTSTATUS ShutDown(PDEVICE_OBJECT Device)
{
    IO_STATUS_BLOCK block = {{0}};
    KEVENT event;
    PIRP irp;

    KeInitializeEvent(&event, 0, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_SHUTDOWN_, Device, NULL, 0, NULL, &event, &block);
    if (IofCallDriver(Device, irp) == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    return block.Status;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    UCHAR major = IoGetCurrentIrpStackLocation(Irp)->MajorFunction, minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;

    if (Rule->Major == major && (Rule->Minor == ANY_MINOR || Rule->Minor == minor)) {
        if (Rule->Handler != NULL) {
            return Rule->Handler(Device, Irp);
        }
        Rule->Action(Device);
        return Finish(Irp, 0, 0);
    }
    switch (major) {
    case IRP_MJ_PNP:
        return PlugAndPlay(Device, Irp, minor);
    case IRP_MJ_POWER:
    case IRP_MJ_SYSTEM_CONTROL_:
        return PassOnLocked(Device, Irp);
    case IRP_MJ_DEVICE_CONTROL:
        return Finish(Irp, Rule->Major == IRP_MJ_SHUTDOWN_ ? ShutDown(Device) : 0, 0);
    default:
        return Finish(Irp, 0, 0);
    }
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(Driver, sizeof(EXTENSION), NULL, 0x22, 0, FALSE, &device);

    if (status < 0) {
        return status;
    }
    IoInitializeRemoveLockEx(&Extension(device)->RemoveLock, TAG, 0, 0, sizeof(IO_REMOVE_LOCK));
    Extension(device)->Physical = Physical;
    Extension(device)->Lower = IoAttachDeviceToDeviceStack(device, Physical);
    device->Flags &= ~0x80; /* DO_DEVICE_INITIALIZING */
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

static BOOLEAN IsNamed(const RULE *Candidate, PUNICODE_STRING Name)
{
    USHORT length = 0;

    for (; Candidate->Name[length] != 0; length++) {
        if (length * 2 >= Name->Length || Name->Buffer[length] != (WCHAR)Candidate->Name[length]) {
            return FALSE;
        }
    }
    return length * 2 == Name->Length;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING RegistryPath)
{
    RTL_QUERY_REGISTRY_TABLE table[4] = {{0}};
    WCHAR room[80];
    UNICODE_STRING name = {0, sizeof(room), room};
    NTSTATUS status;
    ULONG index;

    table[0].Flags = 1; /* RTL_QUERY_REGISTRY_SUBKEY */
    table[0].Name = L"Parameters";
    table[1].Flags = table[2].Flags = 0x20; /* RTL_QUERY_REGISTRY_DIRECT */
    table[1].Name = L"Rule";
    table[1].EntryContext = &name;
    table[2].Name = L"Broken";
    table[2].EntryContext = &Broken;
    status = RtlQueryRegistryValues(0, RegistryPath->Buffer, table, NULL, NULL);
    for (index = 0; index < RuleCount && status >= 0; index++) {
        if (IsNamed(&Rules[index], &name)) {
            Rule = &Rules[index];
        }
    }
    if (Rule == NULL) {
        return STATUS_OBJECT_NAME_NOT_FOUND; /* STATUS_OBJECT_NAME_NOT_FOUND */
    }
    for (index = 0; index <= 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    TheDriver = Driver;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->DriverUnload = Unload;
    return 0;
}
