/* A WDM driver that checks how long objects live: records of bug-check callbacks, devices that are deleted while they are
   in use, and files that it keeps. BUG adds one mistake. */

#include "steps.h"

#define KEEP 0x222004    /* references the client's file */
#define RELEASE 0x222008 /* releases it at DISPATCH_LEVEL */

typedef struct {
    LIST_ENTRY Entry;
    PVOID CallbackRoutine, Buffer;
    ULONG Length;
    PVOID Component;
    ULONG_PTR Checksum;
    UCHAR State;
} RECORD;

typedef struct {
    LIST_ENTRY Entry;
    PVOID CallbackRoutine, Component;
    ULONG_PTR Checksum;
    ULONG Reason;
    UCHAR State;
} REASON_RECORD;

static WCHAR DeviceName[] = L"\\Device\\CLifetime";
static WCHAR SecondName[] = L"\\Device\\CSecond";
static PDRIVER_OBJECT TheDriver;
static PDEVICE_OBJECT TheDevice;
static PFILE_OBJECT Kept;
static ULONG Closed;
static KEVENT Go, Done;

static VOID NTAPI Crashed(VOID)
{
}

static NTSTATUS BugCheckRecords(void)
{
    static RECORD record;
    static REASON_RECORD reason;
    static UCHAR component[] = "component", buffer[8];

    CHECK((BOOLEAN)CALL(ANY, "KeDeregisterBugCheckCallback", &record) == FALSE);
    CHECK((BOOLEAN)CALL(ANY, "KeRegisterBugCheckCallback", &record, Crashed, buffer, sizeof(buffer), component) == TRUE);
    CHECK(record.CallbackRoutine == (PVOID)Crashed && record.Buffer == buffer && record.Length == sizeof(buffer));
    CHECK(record.Component == component && record.State == 1);
    CHECK((BOOLEAN)CALL(ANY, "KeRegisterBugCheckCallback", &record, Crashed, buffer, sizeof(buffer), component) == FALSE);
    CHECK((BOOLEAN)CALL(ANY, "KeDeregisterBugCheckCallback", &record) == TRUE && record.State == 0);
    CHECK((BOOLEAN)CALL(ANY, "KeDeregisterBugCheckCallback", &record) == FALSE);

    /* A record that is not initialised. */
    reason.State = 9;
    CHECK((BOOLEAN)CALL(ANY, "KeRegisterBugCheckReasonCallback", &reason, Crashed, 2, component) == FALSE);
    reason.State = 0;
    /* KbCallbackSecondaryDumpData */
    CHECK((BOOLEAN)CALL(ANY, "KeRegisterBugCheckReasonCallback", &reason, Crashed, 2, component) == TRUE);
    CHECK(reason.CallbackRoutine == (PVOID)Crashed && reason.Component == component);
    CHECK(reason.Reason == 2 && reason.State == 1);
#if BUG != 3
    CHECK((BOOLEAN)CALL(ANY, "KeDeregisterBugCheckReasonCallback", &reason) == TRUE && reason.State == 0);
    CHECK((BOOLEAN)CALL(ANY, "KeDeregisterBugCheckReasonCallback", &reason) == FALSE);
#endif
    return 0;
}

static NTSTATUS New(PWSTR Name, PDEVICE_OBJECT *Device)
{
    UNICODE_STRING name;
    NTSTATUS status;

    RtlInitUnicodeString(&name, Name);
    status = IoCreateDevice(TheDriver, sizeof(ULONG), Name == NULL ? NULL : &name, 0x22, 0, FALSE, Device);
    if (status == 0) {
        *(ULONG *)(*Device)->DeviceExtension = 7;
        (*Device)->Flags &= ~0x80; /* DO_DEVICE_INITIALIZING */
    }
    return status;
}

/* Returns whether the memory of a device still exists. */
static BOOLEAN Lives(PDEVICE_OBJECT Device)
{
    return *(volatile ULONG *)Device->DeviceExtension == 7;
}

static NTSTATUS Referenced(void)
{
    PDEVICE_OBJECT device;

    CHECK(New(NULL, &device) == 0);
    ObfReferenceObject(device); /* leaked by BUG 1 */
    ObfReferenceObject(device);
    IoDeleteDevice(device);
    CHECK(Lives(device) && TheDriver->DeviceObject == TheDevice);
    ObfDereferenceObject(device);
    CHECK(Lives(device));
#if BUG != 1
    ObfDereferenceObject(device);
#endif
#if BUG == 2
    CHECK(Lives(device));
#endif
    return 0;
}

static NTSTATUS Attached(void)
{
    PDEVICE_OBJECT lower, upper, top;

    CHECK(New(NULL, &lower) == 0 && New(NULL, &upper) == 0);
    CHECK(IoAttachDeviceToDeviceStack(upper, lower) == lower);
    top = IoGetAttachedDeviceReference(lower);
    CHECK(top == upper);
    IoDetachDevice(lower);
    IoDeleteDevice(upper);
    CHECK(Lives(top));
    ObfDereferenceObject(top);
    IoDeleteDevice(lower);
    return 0;
}

static NTSTATUS Opened(void)
{
    PDEVICE_OBJECT second, device;
    UNICODE_STRING name;
    PFILE_OBJECT file;
    ULONG before = Closed;

    RtlInitUnicodeString(&name, SecondName);
    CHECK(New(SecondName, &second) == 0);
    CHECK(IoGetDeviceObjectPointer(&name, 0x80, &file, &device) == 0 && device == second);
    IoDeleteDevice(second);
    CHECK(Lives(second) && Closed == before);
    /* The name is free. The deleted device receives the close of its file. */
    CHECK(New(SecondName, &device) == 0);
    ObfDereferenceObject(file);
    CHECK(Closed == before + 1);
    IoDeleteDevice(device);
    return 0;
}

static NTSTATUS Late;

static VOID NTAPI Work(PDEVICE_OBJECT Device, PVOID Context)
{
    (void)Context;
    KeWaitForSingleObject(&Go, 0, 0, FALSE, NULL);
    Late = Lives(Device) ? 0 : STATUS_UNSUCCESSFUL;
    KeSetEvent(&Done, 0, FALSE);
}

static NTSTATUS Queued(void)
{
    PDEVICE_OBJECT device;
    PIO_WORKITEM item;

    CHECK(New(NULL, &device) == 0);
    item = IoAllocateWorkItem(device);
    CHECK(item != NULL);
    IoQueueWorkItem(item, Work, 1, NULL);
    IoDeleteDevice(device);
    KeSetEvent(&Go, 0, FALSE);
    KeWaitForSingleObject(&Done, 0, 0, FALSE, NULL);
    IoFreeWorkItem(item);
    return Late;
}

static const STEP Steps[] = {
    STEP(a_bug_check_record_is_registered_once, BugCheckRecords),
    STEP(a_deleted_device_lives_until_its_last_reference, Referenced),
    STEP(a_reference_to_an_attached_device_keeps_it, Attached),
    STEP(a_deleted_device_receives_the_close_of_its_file, Opened),
    STEP(a_queued_work_item_keeps_its_device, Queued),
};

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    KIRQL irql;
    ANY lower;

    (void)Device;
    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case KEEP:
        Kept = IoGetCurrentIrpStackLocation(Irp)->FileObject;
        ObfReferenceObject(Kept);
        return Finish(Irp, 0, 0);
    case RELEASE:
        lower = LookUp(L"KeLowerIrql");
        irql = (KIRQL)CALL(ANY, "KeRaiseIrqlToDpcLevel");
        ObfDereferenceObject(Kept);
        lower(irql);
        return Finish(Irp, 0, 0);
    default:
        break;
    }
    return RUN_STEPS(Irp);
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction == IRP_MJ_CLOSE) {
        Closed++;
    }
    if (Kept != NULL && IoGetCurrentIrpStackLocation(Irp)->FileObject == Kept) {
        LOG("function %x, irql %u\n", IoGetCurrentIrpStackLocation(Irp)->MajorFunction, Irql());
    }
    return Finish(Irp, 0, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    IoDeleteDevice(TheDevice);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    TheDriver = Driver;
    KeInitializeEvent(&Go, 0, FALSE);
    KeInitializeEvent(&Done, 0, FALSE);
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return New(DeviceName, &TheDevice);
}
