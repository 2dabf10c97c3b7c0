/* A KMDF driver that breaks Microsoft's rules about requests that it sends to the device below, and about locks. */

#include "kmdf_rules.h"

#define BELOW 0x222100

static WDFDEVICE Device;
static WDFIOTARGET Target;
static WDFINTERRUPT Interrupt;
static WDFREQUEST Own;

static VOID NTAPI Done(WDFREQUEST Request, WDFIOTARGET From, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    if (Is(L"ReqMarkCancelableSend") && Broken) {
        FX(WdfRequestUnmarkCancelable, Request);
    }
    Complete(Request, Params->IoStatus.Status, 0);
}

static VOID NTAPI OwnDone(WDFREQUEST Request, WDFIOTARGET From, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    Own = NULL;
    FX(WdfObjectDelete, Request);
}

static VOID NTAPI Cancel(WDFREQUEST Request)
{
    Complete(Request, STATUS_CANCELLED, 0);
}

static BOOLEAN Send(WDFREQUEST Request, ULONG Flags)
{
    WDF_REQUEST_SEND_OPTIONS options = {sizeof(options), Flags, 0};

    return (BOOLEAN)FX(WdfRequestSend, Request, Target, &options);
}

static void SetCompletionRoutine(WDFREQUEST Request, PVOID Routine)
{
    FX(WdfRequestSetCompletionRoutine, Request, Routine, NULL);
}

static void Format(WDFREQUEST Request)
{
    FX(WdfIoTargetFormatRequestForIoctl, Target, Request, BELOW, NULL, NULL, NULL, NULL);
}

/* Rules about requests that the driver creates. */
static void SendOwn(void)
{
    if ((NTSTATUS)FX(WdfRequestCreate, NULL, Target, &Own) < 0) {
        return;
    }
    if (Is(L"RequestGetStatusValid") && Broken) {
        FX(WdfRequestGetStatus, Own);
    }
    if (Is(L"ReqDelete") && Broken) {
        FX(WdfRequestComplete, Own, 0);
    }
    Format(Own);
    if (Is(L"NoCancelFromEvtSurpriseRemove")) {
        SetCompletionRoutine(Own, (PVOID)OwnDone);
        Send(Own, 0);
        return;
    }
    if (Is(L"RequestSendAndForgetNoFormatting2") && Broken) {
        Send(Own, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET);
    } else {
        Send(Own, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS);
    }
    if (Is(L"RequestGetStatusValid")) {
        FX(WdfRequestGetStatus, Own);
    }
    FX(WdfObjectDelete, Own);
}

/* Rules about the client's request. */
static void Forward(WDFREQUEST Request)
{
    ULONG flags = 0;

    if (Is(L"ReqMarkCancelableSend")) {
        FX(WdfRequestMarkCancelable, Request, Cancel);
        if (!Broken && (NTSTATUS)FX(WdfRequestUnmarkCancelable, Request) < 0) {
            return;
        }
    }
    if (Is(L"RequestSendAndForgetNoFormatting")) {
        flags = WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET;
        if (Broken) {
            Format(Request);
        }
    } else if (!(Is(L"RequestFormattedValid") && Broken)) {
        FX(WdfRequestFormatRequestUsingCurrentType, Request);
    }
    if (!(Is(L"ReqCompletionRoutine") && Broken)) {
        SetCompletionRoutine(Request, (PVOID)Done);
    }
    if (Is(L"ReqSendFail")) {
        FX(WdfIoTargetPurge, Target, 1);
    }
    if (!Send(Request, flags) && !(Is(L"ReqSendFail") && Broken)) {
        Complete(Request, (NTSTATUS)FX(WdfRequestGetStatus, Request), 0);
    }
}

static void Locks(void)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    static KSPIN_LOCK plain;
    KIRQL old = 0;
    WDFSPINLOCK spin;
    WDFWAITLOCK wait;

    InitAttributes(&attributes, (WDFOBJECT)Device);
    if (FX(WdfSpinLockCreate, &attributes, &spin) != 0 || FX(WdfWaitLockCreate, &attributes, &wait) != 0) {
        return;
    }
    if (Is(L"WdfSpinlock") || Is(L"WdfSpinlockRelease")) {
        if (!(Is(L"WdfSpinlock") && Broken)) {
            FX(WdfSpinLockAcquire, spin);
        }
        if (!(Is(L"WdfSpinlockRelease") && Broken)) {
            FX(WdfSpinLockRelease, spin);
        }
    }
    if (Is(L"Spinlock") || Is(L"SpinlockRelease")) {
        if (!(Is(L"Spinlock") && Broken)) {
            old = KeAcquireSpinLockRaiseToDpc(&plain);
        }
        if (!(Is(L"SpinlockRelease") && Broken)) {
            KeReleaseSpinLock(&plain, old);
        }
    }
    if (Is(L"SpinlockDpc")) {
        old = KfRaiseIrql(2);
        if (!Broken) {
            KeAcquireSpinLockAtDpcLevel(&plain);
        }
        KeReleaseSpinLockFromDpcLevel(&plain);
        KeLowerIrql(old);
    }
    if (Is(L"WdfWaitlock") || Is(L"WdfWaitlockRelease")) {
        if (!(Is(L"WdfWaitlock") && Broken)) {
            FX(WdfWaitLockAcquire, wait, NULL);
        }
        if (!(Is(L"WdfWaitlockRelease") && Broken)) {
            FX(WdfWaitLockRelease, wait);
        }
    }
    if (Is(L"WdfInterruptLock") || Is(L"WdfInterruptLockRelease")) {
        if (!(Is(L"WdfInterruptLock") && Broken)) {
            FX(WdfInterruptAcquireLock, Interrupt);
        }
        if (!(Is(L"WdfInterruptLockRelease") && Broken)) {
            FX(WdfInterruptReleaseLock, Interrupt);
        }
    }
    if (Is(L"ReqSendWhileSpinlock") && (NTSTATUS)FX(WdfRequestCreate, NULL, Target, &Own) >= 0) {
        Format(Own);
        SetCompletionRoutine(Own, (PVOID)OwnDone);
        if (Broken) {
            FX(WdfSpinLockAcquire, spin);
        }
        Send(Own, 0);
        if (Broken) {
            FX(WdfSpinLockRelease, spin);
        }
    }
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    if (Is(L"IoctlReqs")) {
        if (Broken) {
            FX(WdfIoTargetSendReadSynchronously, Target, Request, NULL, NULL, NULL, NULL);
        } else {
            FX(WdfIoTargetSendIoctlSynchronously, Target, Request, BELOW, NULL, NULL, NULL, NULL);
        }
    } else if (Is(L"RequestGetStatusValid") || Is(L"ReqDelete") || Is(L"RequestSendAndForgetNoFormatting2") ||
               Is(L"NoCancelFromEvtSurpriseRemove")) {
        SendOwn();
    } else if (Is(L"ReqMarkCancelableSend") || Is(L"RequestSendAndForgetNoFormatting") || Is(L"RequestFormattedValid") ||
               Is(L"ReqCompletionRoutine") || Is(L"ReqSendFail")) {
        Forward(Request);
        return;
    } else {
        Locks();
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI InternalControl(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    if (Broken) {
        FX(WdfIoTargetSendIoctlSynchronously, Target, Request, BELOW, NULL, NULL, NULL, NULL);
    } else {
        FX(WdfIoTargetSendInternalIoctlSynchronously, Target, Request, BELOW, NULL, NULL, NULL, NULL);
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI Read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    if (Broken) {
        FX(WdfIoTargetSendWriteSynchronously, Target, Request, NULL, NULL, NULL, NULL);
    } else {
        FX(WdfIoTargetSendReadSynchronously, Target, Request, NULL, NULL, NULL, NULL);
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI Write(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    if (Broken) {
        FX(WdfIoTargetSendReadSynchronously, Target, Request, NULL, NULL, NULL, NULL);
    } else {
        FX(WdfIoTargetSendWriteSynchronously, Target, Request, NULL, NULL, NULL, NULL);
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI SurpriseRemoval(WDFDEVICE Removed)
{
    if (Broken && Own != NULL && Is(L"NoCancelFromEvtSurpriseRemove")) {
        FX(WdfRequestCancelSentRequest, Own);
    }
}

static NTSTATUS NTAPI Suspend(WDFDEVICE Removed)
{
    if (Own != NULL && Is(L"NoCancelFromEvtSurpriseRemove")) {
        FX(WdfRequestCancelSentRequest, Own);
    }
    return 0;
}

static BOOLEAN NTAPI Isr(WDFINTERRUPT Source, ULONG Message)
{
    return FALSE;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks = {0};
    WDF_INTERRUPT_CONFIG interrupt = {0};
    WDF_IO_QUEUE_CONFIG queue;
    NTSTATUS status;

    callbacks.Size = sizeof(callbacks);
    callbacks.EvtDeviceSurpriseRemoval = SurpriseRemoval;
    callbacks.EvtDeviceSelfManagedIoSuspend = Suspend;
    FX(WdfDeviceInitSetPnpPowerEventCallbacks, Init, &callbacks);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    Target = WDF(WDFDEVICEGETIOTARGET, WdfDeviceGetIoTarget, Device);
    interrupt.Size = sizeof(interrupt);
    interrupt.ShareVector = WdfUseDefault;
    interrupt.EvtInterruptIsr = Isr;
    status = WDF(WDFINTERRUPTCREATE, WdfInterruptCreate, Device, &interrupt, NULL, &Interrupt);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    queue.EvtIoInternalDeviceControl = InternalControl;
    queue.EvtIoRead = Read;
    queue.EvtIoWrite = Write;
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ReadRule(Path);
    return CreateDriver(Driver, Path, DeviceAdd);
}
