/* METHOD_NEITHER requests. READ_TWICE: another thread reads the input twice, through a mapping of the locked pages. That thread may
   run before the dispatch routine has returned, or after it. The others access the page behind the client's buffer: with an
   exception handler, with a handler at DISPATCH_LEVEL, and without one. */

#include "plain.h"

#define READ_TWICE CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_NEITHER, 0)
#define READ_BEHIND CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_NEITHER, 0)
#define PROBE_BEHIND CTL_CODE(FILE_DEVICE_UNKNOWN, 0x802, METHOD_NEITHER, 0)
#define READ_BEHIND_AT_DISPATCH CTL_CODE(FILE_DEVICE_UNKNOWN, 0x803, METHOD_NEITHER, 0)
#define READ_BEHIND_UNGUARDED CTL_CODE(FILE_DEVICE_UNKNOWN, 0x804, METHOD_NEITHER, 0)

static WCHAR DeviceName[] = L"\\Device\\CNeither";
static WCHAR LinkName[] = L"\\DosDevices\\CNeither";

typedef struct {
    PIRP irp;
    PMDL list;
} JOB;

static VOID NTAPI Thread(PVOID Context)
{
    JOB job = *(JOB *)Context;
    volatile ULONG *input = MmGetSystemAddressForMdlSafe(job.list, NormalPagePriority);
    ULONG first = *input, second = *input;

    LOG("first %x, second %x, last %x\n", first, second, input[1]);
    MmUnlockPages(job.list);
    IoFreeMdl(job.list);
    ExFreePoolWithTag(Context, TAG);
    Finish(job.irp, 0, 0);
    PsTerminateSystemThread(0);
}

static NTSTATUS Start(PIRP Irp, PVOID Buffer, ULONG Length)
{
    JOB *job = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*job), TAG);
    HANDLE thread;
    NTSTATUS status;

    if (job == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    job->irp = Irp;
    job->list = IoAllocateMdl(Buffer, Length, FALSE, FALSE, NULL);
    if (job->list == NULL) {
        ExFreePoolWithTag(job, TAG);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    MmProbeAndLockPages(job->list, UserMode, IoReadAccess);
    IoMarkIrpPending(Irp);
    status = PsCreateSystemThread(&thread, 0, NULL, NULL, NULL, Thread, job);
    if (status < 0) {
        Finish(Irp, status, 0);
    } else {
        ZwClose(thread);
    }
    return STATUS_PENDING;
}

/* In a function of its own, because clang's __try guards calls. */
static __attribute__((noinline)) VOID Read(const volatile UCHAR *Byte)
{
    (void)*Byte; /* mark */
}

static __attribute__((noinline)) NTSTATUS ReadGuarded(PUCHAR Buffer)
{
    __try {
        Read(Buffer + PAGE_SIZE);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static __attribute__((noinline)) NTSTATUS ProbeGuarded(PUCHAR Buffer)
{
    __try {
        ProbeForWrite(Buffer, PAGE_SIZE + 1, 1);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    PUCHAR input;
    ULONG length;
    NTSTATUS status;
    KIRQL irql;

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    input = location->Parameters.DeviceIoControl.Type3InputBuffer;
    length = location->Parameters.DeviceIoControl.InputBufferLength;
    if (length != 8) {
        return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case READ_TWICE:
        status = Start(Irp, input, length);
        return status == STATUS_PENDING ? status : Finish(Irp, status, 0);
    case READ_BEHIND:
        return Finish(Irp, ReadGuarded(input), 0);
    case PROBE_BEHIND:
        return Finish(Irp, ProbeGuarded(Irp->UserBuffer), 0);
    case READ_BEHIND_AT_DISPATCH:
        KeRaiseIrql(DISPATCH_LEVEL, &irql);
        status = ReadGuarded(input);
        KeLowerIrql(irql);
        return Finish(Irp, status, 0);
    case READ_BEHIND_UNGUARDED:
        Read(input + PAGE_SIZE);
        return Finish(Irp, 0, 0);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);
    IoDeleteSymbolicLink(&link);
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name, link;
    PDEVICE_OBJECT device;
    NTSTATUS status;

    (void)Path;
    Driver->MajorFunction[IRP_MJ_CREATE] = Driver->MajorFunction[IRP_MJ_CLEANUP] = Driver->MajorFunction[IRP_MJ_CLOSE] =
        Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Dispatch;
    Driver->DriverUnload = Unload;
    RtlInitUnicodeString(&name, DeviceName);
    RtlInitUnicodeString(&link, LinkName);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return IoCreateSymbolicLink(&link, &name);
}
