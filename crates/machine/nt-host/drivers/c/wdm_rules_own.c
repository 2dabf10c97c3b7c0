/* Breaks Microsoft's rules about requests that the driver makes itself. */

#include "rules.h"

#define FLUSH 9 /* IRP_MJ_FLUSH_BUFFERS: the driver below completes it at once. */

static PIRP Allocate(PDEVICE_OBJECT Device, UCHAR Major)
{
    PIRP irp = IoAllocateIrp(2, FALSE);

    (IoGetCurrentIrpStackLocation(irp) - 1)->MajorFunction = Major;
    return irp;
}

static PIRP BuildAsynchronous(PDEVICE_OBJECT Device, UCHAR Major)
{
    static CHAR byte;

    return IoBuildAsynchronousFsdRequest(Major, Extension(Device)->Lower, &byte, 1, NULL, NULL);
}

static NTSTATUS NTAPI Free(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event)
{
    IoFreeIrp(Irp);
    if (Event != NULL && !Broken) {
        KeSetEvent((PKEVENT)Event, 0, FALSE);
    }
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static NTSTATUS Send(PDEVICE_OBJECT Device, PIRP Irp, PIO_COMPLETION_ROUTINE Routine, PVOID Context)
{
    PIO_STACK_LOCATION next = IoGetCurrentIrpStackLocation(Irp) - 1;

    next->CompletionRoutine = Routine;
    next->Context = Context;
    next->Control = Routine == NULL ? 0 : 0xE0;
    return IofCallDriver(Extension(Device)->Lower, Irp);
}

static void CompleteOwn(PIRP Irp)
{
    if (Broken) {
        IofCompleteRequest(Irp, 0);
    }
    IoFreeIrp(Irp);
}

static VOID CompleteAllocated(PDEVICE_OBJECT Device)
{
    CompleteOwn(Allocate(Device, FLUSH));
}

static VOID CompleteAsynchronous(PDEVICE_OBJECT Device)
{
    CompleteOwn(BuildAsynchronous(Device, FLUSH));
}

/* Sends a request without a completion routine. */
static void SendBare(PDEVICE_OBJECT Device, PIRP Irp)
{
    Send(Device, Irp, Broken ? NULL : Free, NULL);
    if (Broken) {
        IoFreeIrp(Irp);
    }
}

static VOID SendAllocated(PDEVICE_OBJECT Device)
{
    SendBare(Device, Allocate(Device, FLUSH));
}

static VOID SendAsynchronous(PDEVICE_OBJECT Device)
{
    SendBare(Device, BuildAsynchronous(Device, FLUSH));
}

static NTSTATUS FreeReceived(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (Broken) {
        IoFreeIrp(Irp);
    }
    return Finish(Irp, 0, 0);
}

static NTSTATUS ReuseReceived(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (Broken) {
        IoReuseIrp(Irp, 0);
    }
    return Finish(Irp, 0, 0);
}

static VOID ReuseAsynchronous(PDEVICE_OBJECT Device)
{
    PIRP irp = Broken ? BuildAsynchronous(Device, FLUSH) : Allocate(Device, FLUSH);

    IoReuseIrp(irp, 0);
    IoFreeIrp(irp);
}

/* Sends a request whose completion routine does not set the event that the driver waits for. */
static void WaitForOwn(PDEVICE_OBJECT Device, PIRP Irp)
{
    KEVENT event;

    KeInitializeEvent(&event, 0, FALSE);
    if (Send(Device, Irp, Free, &event) == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
}

static VOID WaitForAllocated(PDEVICE_OBJECT Device)
{
    WaitForOwn(Device, Allocate(Device, IRP_MJ_READ));
}

static VOID WaitForAsynchronous(PDEVICE_OBJECT Device)
{
    WaitForOwn(Device, BuildAsynchronous(Device, IRP_MJ_READ));
}

/* What the driver does with a synchronous request, which the driver below completes later. */
enum { DO_NOT_WAIT, WAIT_FOR_ANOTHER, SET_EVENT, FREE };

static void Synchronous(PDEVICE_OBJECT Device, BOOLEAN IsControl, ULONG Mistake)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    IO_STATUS_BLOCK block;
    KEVENT event, other;
    CHAR byte;
    PIRP irp;
    NTSTATUS status;

    KeInitializeEvent(&event, 0, FALSE);
    KeInitializeEvent(&other, 0, FALSE);
    irp = IsControl ? IoBuildDeviceIoControlRequest(0x222000, lower, NULL, 0, NULL, 0, FALSE, &event, &block)
                    : IoBuildSynchronousFsdRequest(IRP_MJ_READ, lower, &byte, 1, NULL, &event, &block);
    if (irp == NULL) {
        return;
    }
    status = IofCallDriver(lower, irp);
    if (Broken && Mistake == DO_NOT_WAIT) {
        return;
    }
    if (Broken && Mistake == SET_EVENT) {
        KeSetEvent(&event, 0, FALSE);
    }
    if (status == STATUS_PENDING) {
        KeWaitForSingleObject(Broken && Mistake == WAIT_FOR_ANOTHER ? &other : &event, 0, 0, FALSE, NULL);
    }
    if (Broken && Mistake == FREE) {
        IoFreeIrp(irp);
    }
}

static VOID ControlWait(PDEVICE_OBJECT Device)
{
    Synchronous(Device, TRUE, DO_NOT_WAIT);
}

static VOID ControlTimeout(PDEVICE_OBJECT Device)
{
    Synchronous(Device, TRUE, WAIT_FOR_ANOTHER);
}

static VOID ControlSetEvent(PDEVICE_OBJECT Device)
{
    Synchronous(Device, TRUE, SET_EVENT);
}

static VOID ControlFree(PDEVICE_OBJECT Device)
{
    Synchronous(Device, TRUE, FREE);
}

static VOID SynchronousWait(PDEVICE_OBJECT Device)
{
    Synchronous(Device, FALSE, DO_NOT_WAIT);
}

static VOID SynchronousTimeout(PDEVICE_OBJECT Device)
{
    Synchronous(Device, FALSE, WAIT_FOR_ANOTHER);
}

static VOID SynchronousFree(PDEVICE_OBJECT Device)
{
    Synchronous(Device, FALSE, FREE);
}

static VOID RequestPower(PDEVICE_OBJECT Device)
{
    POWER_STATE state;
    PIRP irp;

    state.DeviceState = PowerDeviceD0;
    PoRequestPowerIrp(Device, 2, state, NULL, NULL, Broken ? &irp : NULL);
}

const RULE Rules[] = {
    ACTION_OF(IoAllocateComplete, CompleteAllocated),
    ACTION_OF(IoBuildFsdComplete, CompleteAsynchronous),
    ACTION_OF(IoAllocateForward, SendAllocated),
    ACTION_OF(IoBuildFsdForward, SendAsynchronous),
    HANDLER_OF(IoAllocateFree, IRP_MJ_READ, ANY_MINOR, FreeReceived),
    HANDLER_OF(IoBuildFsdFree, IRP_MJ_READ, ANY_MINOR, FreeReceived),
    ACTION_OF(IoReuseIrp, ReuseAsynchronous),
    HANDLER_OF(IoReuseIrp2, IRP_MJ_READ, ANY_MINOR, ReuseReceived),
    ACTION_OF(IoAllocateIrpSignalEventInCompletion, WaitForAllocated),
    ACTION_OF(IoAllocateIrpSignalEventInCompletion2, WaitForAllocated),
    ACTION_OF(IoAllocateIrpSignalEventInCompletion3, WaitForAllocated),
    ACTION_OF(IoAllocateIrpSignalEventInCompletionTimeout, WaitForAllocated),
    ACTION_OF(IoBuildFsdIrpSignalEventInCompletion, WaitForAsynchronous),
    ACTION_OF(IoBuildFsdIrpSignalEventInCompletion2, WaitForAsynchronous),
    ACTION_OF(IoBuildFsdIrpSignalEventInCompletion3, WaitForAsynchronous),
    ACTION_OF(IoBuildFsdIrpSignalEventInCompletionTimeout, WaitForAsynchronous),
    ACTION_OF(IoBuildDeviceControlNoFree, ControlFree),
    ACTION_OF(IoBuildDeviceControlWait, ControlWait),
    ACTION_OF(IoBuildDeviceControlWaitTimeout, ControlTimeout),
    ACTION_OF(IoBuildDeviceIoControlSetEvent, ControlSetEvent),
    ACTION_OF(IoBuildSynchronousFsdRequestNoFree, SynchronousFree),
    ACTION_OF(IoBuildSynchronousFsdRequestWait, SynchronousWait),
    ACTION_OF(IoBuildSynchronousFsdRequestWaitTimeout, SynchronousTimeout),
    ACTION_OF(RequestedPowerIrp, RequestPower),
};
const ULONG RuleCount = sizeof(Rules) / sizeof(Rules[0]);
