/* A WDM driver that looks at what the kernel leaves in packets, threads and handles.
   A packet that it completes itself, and one that nobody frees, break rules on purpose. */

#include "steps.h"

static WCHAR DeviceName[] = L"\\Device\\CPackets";
static PDEVICE_OBJECT TheDevice;
static ULONG Completed;
static UCHAR Left;

#define ALL_RESULTS 0xE0

static NTSTATUS NTAPI OnCompletion(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    Completed++;
    /* The flags of the location that the packet has left. */
    Left = (IoGetCurrentIrpStackLocation(Irp) - 1)->Control;
    return Context != NULL ? STATUS_MORE_PROCESSING_REQUIRED : 0;
}

static void SetCompletion(PIRP Irp, PVOID Context)
{
    PIO_STACK_LOCATION next = IoGetCurrentIrpStackLocation(Irp) - 1;

    next->CompletionRoutine = OnCompletion;
    next->Context = Context;
    next->Control = ALL_RESULTS;
}

static NTSTATUS Allocated(void)
{
    PIRP irp = IoAllocateIrp(1, FALSE);

    CHECK(irp != NULL && irp->AllocationFlags == 4 && irp->CurrentLocation == 2);
    /* The driver reserves the only location for itself, and completes the packet there. */
    Completed = 0;
    SetCompletion(irp, irp);
    irp->CurrentLocation--;
    irp->Tail.Overlay.CurrentStackLocation--;
    IofCompleteRequest(irp, 0);
    CHECK(Completed == 1 && irp->CurrentLocation == 2 && Left == 0);
    IoReuseIrp(irp, 0);
    CHECK(irp->AllocationFlags == 4 && irp->CurrentLocation == 2);
    IoFreeIrp(irp);
    return 0;
}

static NTSTATUS Asynchronous(void)
{
    IO_STATUS_BLOCK block = {{1}, 1};
    PIRP irp = IoBuildAsynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, TheDevice, NULL, 0, NULL, &block);

    CHECK(irp != NULL);
    Completed = 0;
    SetCompletion(irp, NULL);
    CHECK(IofCallDriver(TheDevice, irp) == 0);
    CHECK(Completed == 1 && Left == 0 && block.Status == 0 && block.Information == 123);
    return 0;
}

static NTSTATUS Types(void)
{
    POBJECT_TYPE *files = LookUp(L"IoFileObjectType"), *threads = LookUp(L"PsThreadType");
    PVOID thread = KeGetCurrentThread();
    HANDLE handle;

    CHECK(ObOpenObjectByPointer(thread, 0x200, NULL, 0, *files, KernelMode, &handle) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(ObOpenObjectByPointer(thread, 0x200, NULL, 0, *threads, KernelMode, &handle) == 0);
    ZwClose(handle);
    CHECK(ObOpenObjectByPointer(thread, 0x200, NULL, 0, NULL, KernelMode, &handle) == 0);
    ZwClose(handle);
    return 0;
}

static NTSTATUS Affinity(void)
{
    /* Without a system affinity there is nothing to restore. */
    CALL(ANY, "KeRevertToUserAffinityThreadEx", (KAFFINITY)1);
    CHECK(CALL(ANY, "KeSetSystemAffinityThreadEx", (KAFFINITY)1) == 0);
    CALL(ANY, "KeRevertToUserAffinityThreadEx", (KAFFINITY)1);
    CHECK(CALL(ANY, "KeSetSystemAffinityThreadEx", (KAFFINITY)1) == 1);
    CALL(ANY, "KeRevertToUserAffinityThreadEx", (KAFFINITY)0);
    CHECK(CALL(ANY, "KeSetSystemAffinityThreadEx", (KAFFINITY)1) == 0);
    CALL(ANY, "KeRevertToUserAffinityThreadEx", (KAFFINITY)0);
    return 0;
}

static VOID NTAPI Look(PVOID Context)
{
    *(KPROCESSOR_MODE *)Context = ExGetPreviousMode();
    PsTerminateSystemThread(0);
}

static NTSTATUS Modes(void)
{
    KPROCESSOR_MODE mode = UserMode;
    HANDLE thread;

    /* The client is a program. */
    CHECK(ExGetPreviousMode() == UserMode);
    CHECK(PsCreateSystemThread(&thread, 0x1FFFFF, NULL, NULL, NULL, Look, &mode) == 0);
    ZwWaitForSingleObject(thread, FALSE, NULL);
    ZwClose(thread);
    CHECK(mode == KernelMode);
    return 0;
}

static const STEP Steps[] = {
    STEP(an_allocated_packet_is_completed_by_its_driver, Allocated),
    STEP(an_asynchronous_packet_has_its_parameters, Asynchronous),
    STEP(handles_know_the_type_of_their_object, Types),
    STEP(affinity_is_restored, Affinity),
    STEP(the_previous_mode_is_that_of_the_client, Modes),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction == IRP_MJ_FLUSH_BUFFERS) {
        return Finish(Irp, 0, 123);
    }
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    return RUN_STEPS(Irp);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->MajorFunction[IRP_MJ_FLUSH_BUFFERS] = Dispatch;
    return CreateDevice(Driver, DeviceName, Dispatch, &TheDevice);
}
