/* A KMDF driver that breaks Microsoft's rules about requests: completion, cancellation, queues, power and surprise removal.
   A request with the code GO is served by the rule; RELEASE completes the request that the driver keeps. */

#include "kmdf_rules.h"

#define GO 0x222000
#define RELEASE 0x222004

static WDFDEVICE Device;
static WDFQUEUE Default, Manual;
static WDFWORKITEM Later;
static WDFREQUEST Kept;
static PIRP Packet;

static void Mark(WDFREQUEST Request, PVOID Callback)
{
    FX(WdfRequestMarkCancelable, Request, Callback);
}

static NTSTATUS Unmark(WDFREQUEST Request)
{
    return (NTSTATUS)FX(WdfRequestUnmarkCancelable, Request);
}

static void Dereference(WDFREQUEST Request)
{
    FX(WdfObjectDereferenceActual, Request, NULL, 0, NULL);
}

/* The code that would complete the request, had it not been canceled. */
static void Finish(WDFREQUEST Request)
{
    NTSTATUS status = Unmark(Request);

    if (status != STATUS_CANCELLED || Broken) {
        Complete(Request, 0, 0);
    }
}

static VOID NTAPI Cancel(WDFREQUEST Request)
{
    if (Is(L"CompleteCanceledReq")) {
        Finish(Request);
    }
    if (!(Is(L"DeferredRequestCompleted") && Broken)) {
        Complete(Request, STATUS_CANCELLED, 0);
    }
    Kept = NULL;
}

static VOID NTAPI Work(WDFWORKITEM Item)
{
    WDFWAITLOCK lock;
    KIRQL old;

    if (Is(L"FwdIrpToIoQueueValid")) {
        FX(WdfDeviceWdmDispatchIrpToIoQueue, Device, Packet, Default, 0);
        return;
    }

    if (Is(L"KmdfIrql") && (NTSTATUS)FX(WdfWaitLockCreate, NULL, &lock) >= 0) {
        old = KfRaiseIrql(Broken ? 2 : 0);
        FX(WdfWaitLockAcquire, lock, NULL);
        FX(WdfWaitLockRelease, lock);
        KeLowerIrql(old);
        FX(WdfObjectDelete, lock);
    }
    if (Is(L"InvalidReqAccess") && !Broken) {
        FX(WdfRequestSetInformation, Kept, (ULONG_PTR)0);
    }
    Complete(Kept, 0, 0);
    if (Is(L"DoubleCompletion") && Broken) {
        Complete(Kept, 0, 0);
    }
    if (Is(L"InvalidReqAccess") && Broken) {
        FX(WdfRequestSetInformation, Kept, (ULONG_PTR)0);
    }
}

static NTSTATUS NTAPI Completed(PDEVICE_OBJECT Object, PIRP Irp, PVOID Context)
{
    return 0;
}

static NTSTATUS NTAPI Dispatch(WDFDEVICE To, UCHAR Major, UCHAR Minor, ULONG Code, PVOID Context, PIRP Irp, PVOID Inner)
{
    PIO_STACK_LOCATION current = IoGetCurrentIrpStackLocation(Irp);

    if (Is(L"FwdIrpToIoQueueValid") && Broken) {
        IoMarkIrpPending(Irp);
        Packet = Irp;
        FX(WdfWorkItemEnqueue, Later);
        return STATUS_PENDING; /* STATUS_PENDING */
    }
    if (Is(L"SetCompletionRoutineFromDispatch")) {
        if (Broken) {
            current[-1].CompletionRoutine = Completed;
        }
        return (NTSTATUS)FX(WdfDeviceWdmDispatchIrp, To, Irp, Inner);
    }
    return (NTSTATUS)FX(WdfDeviceWdmDispatchIrpToIoQueue, To, Irp, Default, 0);
}

static VOID NTAPI Changed(WDFQUEUE Queue, WDFCONTEXT Context)
{
}

static void ChangeQueueState(WDFQUEUE Queue, WDFREQUEST Request)
{
    FX(WdfIoQueueStop, Queue, Changed, NULL);
    if (Broken) {
        FX(WdfIoQueuePurge, Queue, Changed, NULL);
    }
    Complete(Request, 0, 0);
    FX(WdfIoQueueStart, Queue);
}

/* The manual queue has a request, except for WdfIoQueueFindRequestFailed. */
static void Find(void)
{
    WDFREQUEST found = NULL, taken = NULL;
    NTSTATUS status = (NTSTATUS)FX(WdfIoQueueFindRequest, Manual, NULL, NULL, NULL, &found);

    if (status < 0 && !(Is(L"WdfIoQueueFindRequestFailed") && Broken)) {
        return;
    }
    if (Is(L"WdfIoQueueRetrieveFoundRequest") && Broken) {
        Dereference(found);
    }
    if (Is(L"WdfIoQueueRetrieveNextRequest") && Broken) {
        status = (NTSTATUS)FX(WdfIoQueueRetrieveNextRequest, Manual, &taken);
    } else {
        status = (NTSTATUS)FX(WdfIoQueueRetrieveFoundRequest, Manual, found, &taken);
    }
    if (!(Is(L"WdfIoQueueRetrieveFoundRequest") && Broken)) {
        Dereference(found);
    }
    if (status >= 0) {
        Complete(taken, 0, 0);
    }
}

/* Creates an object for each request that lives too long. */
static void NoParent(void)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    PVOID object;

    InitAttributes(&attributes, Broken ? NULL : (WDFOBJECT)Device);
    if (Is(L"ParentObjectCheck")) {
        FX(WdfMemoryCreate, &attributes, 0x200, 0, (size_t)16, &object, NULL);
    } else {
        FX(WdfSpinLockCreate, &attributes, &object);
    }
}

static BOOLEAN Keeps(void)
{
    static const PCWSTR rules[] = {
        L"EvtIoStopGetParam",
        L"EvtIoResumeGetParam",
        L"EvtIoStopResume",
        L"EvtIoStopCompleteOrStopAck",
        L"EvtIoStopCancel",
        L"DrvAckIoStop",
        L"EvtSurpriseRemoveNoRequestComplete",
    };
    ULONG index;

    for (index = 0; index < sizeof(rules) / sizeof(rules[0]); index++) {
        if (Is(rules[index])) {
            return TRUE;
        }
    }
    return FALSE;
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    ULONG64 file;
    KIRQL old;

    if (Code == RELEASE) {
        if (Kept != NULL && (!Is(L"EvtIoStopCompleteOrStopAck") || Unmark(Kept) >= 0)) {
            Complete(Kept, 0, 0);
            Kept = NULL;
        }
        if (Is(L"WdfIoQueueFindRequestFailed") || Is(L"WdfIoQueueRetrieveFoundRequest") ||
            Is(L"WdfIoQueueRetrieveNextRequest")) {
            Find();
        }
        Complete(Request, 0, 0);
        return;
    }
    if (Keeps()) {
        Kept = Request;
        if (Is(L"EvtIoStopCompleteOrStopAck")) {
            Mark(Request, (PVOID)Cancel);
        }
        return;
    }
    if (Is(L"KmdfIrql") || Is(L"DoubleCompletion") || Is(L"InvalidReqAccess")) {
        Kept = Request;
        FX(WdfWorkItemEnqueue, Later);
        return;
    }
    if (Is(L"WdfIoQueueRetrieveFoundRequest") || Is(L"WdfIoQueueRetrieveNextRequest")) {
        FX(WdfRequestForwardToIoQueue, Request, Manual);
        return;
    }
    if (Is(L"CompleteCanceledReq") || Is(L"DeferredRequestCompleted")) {
        Mark(Request, (PVOID)Cancel);
        return;
    }
    if (Is(L"ChangeQueueState")) {
        ChangeQueueState(Queue, Request);
        return;
    }
    if (Is(L"MarkCancOnCancReqLocal") || Is(L"ReqNotCanceledLocal") || Is(L"ReqIsCancOnCancReq")) {
        if (Is(L"ReqIsCancOnCancReq") && !Broken) {
            FX(WdfRequestIsCanceled, Request);
        }
        Mark(Request, (PVOID)Cancel);
        if (Is(L"MarkCancOnCancReqLocal") && Broken) {
            Mark(Request, (PVOID)Cancel);
        }
        if (Is(L"ReqIsCancOnCancReq") && Broken) {
            FX(WdfRequestIsCanceled, Request);
        }
        if (Is(L"ReqNotCanceledLocal") && Broken) {
            Complete(Request, 0, 0);
            return;
        }
        if (Unmark(Request) < 0) {
            return;
        }
    }
    if (Is(L"StopAckWithinEvtIoStop") && Broken) {
        FX(WdfRequestStopAcknowledge, Request, FALSE);
    }
    if (Is(L"FileObjectConfigured")) {
        file = FX(WdfRequestGetFileObject, Request);
        FX(WdfFileObjectGetDevice, file);
    }
    if (Is(L"ParentObjectCheck") || Is(L"ParentObjectCheckLock")) {
        NoParent();
    }
    if (Is(L"KmdfIrql2")) {
        old = KfRaiseIrql(Broken ? 2 : 0);
        FX(WdfIoQueueStopSynchronously, Manual);
        FX(WdfIoQueueStart, Manual);
        KeLowerIrql(old);
    }
    if ((Is(L"RequestCompleted") || Is(L"RequestCompletedLocal")) && Broken) {
        return;
    }
    if (Is(L"InvalidReqAccessLocal") && !Broken) {
        FX(WdfRequestGetInformation, Request);
    }
    Complete(Request, 0, 0);
    if (Is(L"DoubleCompletionLocal") && Broken) {
        Complete(Request, 0, 0);
    }
    if (Is(L"InvalidReqAccessLocal") && Broken) {
        FX(WdfRequestGetInformation, Request);
    }
}

static VOID NTAPI Read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    PVOID buffer;

    if (Broken) {
        FX(WdfRequestRetrieveInputBuffer, Request, (size_t)1, &buffer, NULL);
    } else {
        FX(WdfRequestRetrieveOutputBuffer, Request, (size_t)1, &buffer, NULL);
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI Write(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    WDFMEMORY memory;

    if (Broken) {
        FX(WdfRequestRetrieveOutputMemory, Request, &memory);
    } else {
        FX(WdfRequestRetrieveInputMemory, Request, &memory);
    }
    Complete(Request, 0, 0);
}

static VOID NTAPI Stop(WDFQUEUE Queue, WDFREQUEST Request, ULONG Action)
{
    WDF_REQUEST_PARAMETERS parameters = {0};

    parameters.Size = sizeof(parameters);
    if (Is(L"EvtIoStopGetParam") && Broken) {
        FX(WdfRequestGetParameters, Request, &parameters);
    }
    if ((Is(L"EvtIoStopCompleteOrStopAck") || Is(L"EvtIoStopCancel")) && Broken) {
        return;
    }
    FX(WdfRequestStopAcknowledge, Request, FALSE);
}

static VOID NTAPI Resume(WDFQUEUE Queue, WDFREQUEST Request)
{
    WDF_REQUEST_PARAMETERS parameters = {0};

    parameters.Size = sizeof(parameters);
    if (Is(L"EvtIoResumeGetParam") && Broken) {
        FX(WdfRequestGetParameters, Request, &parameters);
    }
}

/* What must not be done in EvtDeviceSurpriseRemoval is done in EvtDeviceSelfManagedIoSuspend. */
static void Gone(void)
{
    if (Is(L"EvtSurpriseRemoveNoRequestComplete") && Kept != NULL) {
        Complete(Kept, STATUS_CANCELLED, 0);
        Kept = NULL;
    }
    if (Is(L"EvtSurpriseRemoveNoSuspendQueue")) {
        FX(WdfIoQueuePurge, Manual, NULL, NULL);
    }
}

static VOID NTAPI SurpriseRemoval(WDFDEVICE Removed)
{
    if (Broken) {
        Gone();
    }
}

static NTSTATUS NTAPI Suspend(WDFDEVICE Removed)
{
    if (!Broken) {
        Gone();
    }
    return 0;
}

static NTSTATUS CreateQueues(void)
{
    WDF_IO_QUEUE_CONFIG queue;
    NTSTATUS status;

    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    queue.EvtIoRead = Read;
    queue.EvtIoWrite = Write;
    if (!(Is(L"DrvAckIoStop") && Broken)) {
        queue.EvtIoStop = (PVOID)Stop;
    }
    if (!(Is(L"EvtIoStopResume") && Broken)) {
        queue.EvtIoResume = (PVOID)Resume;
    }
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, &Default);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT(&queue, WdfIoQueueDispatchManual);
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, &Manual);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks = {0};
    WDF_FILEOBJECT_CONFIG files = {0};
    WDF_WORKITEM_CONFIG work = {sizeof(work), (PVOID)Work, FALSE};
    WDF_OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;

    callbacks.Size = sizeof(callbacks);
    callbacks.EvtDeviceSurpriseRemoval = SurpriseRemoval;
    callbacks.EvtDeviceSelfManagedIoSuspend = Suspend;
    FX(WdfDeviceInitSetPnpPowerEventCallbacks, Init, &callbacks);
    if (Is(L"FileObjectConfigured") && !Broken) {
        files.Size = sizeof(files);
        files.FileObjectClass = 2; /* WdfFileObjectWdfCanUseFsContext */
        FX(WdfDeviceInitSetFileObjectConfig, Init, &files, NULL);
    }
    if (Is(L"RequestCompletedLocal")) {
        FX(WdfFdoInitSetFilter, Init);
    }
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    if (Is(L"FwdIrpToIoQueueValid") || Is(L"SetCompletionRoutineFromDispatch")) {
        FX(WdfDeviceConfigureWdmIrpDispatchCallback, Device, NULL, 0x0E, Dispatch, NULL);
    }
    InitAttributes(&attributes, (WDFOBJECT)Device);
    status = (NTSTATUS)FX(WdfWorkItemCreate, &work, &attributes, &Later);
    return status < 0 ? status : CreateQueues();
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ReadRule(Path);
    return CreateDriver(Driver, Path, DeviceAdd);
}
