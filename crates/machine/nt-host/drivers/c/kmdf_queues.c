/* A KMDF driver with a queue of each kind. Some control requests stay pending, the others act on them. With BUG 1 its
   parallel queue, with BUG 2 its sequential queue has a wrong NumberOfPresentedRequests. With BUG 3 the sequential queue
   has no callback, with BUG 4 the manual queue has one. BUG 5 is none: the driver sets which requests go to which queue. */

#include "framework.h"

#define IOCTL(function) (0x222000 | (function) << 2)
/* Requests that stay pending: two in the driver, then in the manual, the sequential and the limited queue. */
#define HOLD IOCTL(0)
#define HOLD_PLAIN IOCTL(1)
#define TO_MANUAL IOCTL(2)
#define TO_SEQUENTIAL IOCTL(3)
#define TO_LIMITED IOCTL(4)
/* Requests that act on pending requests and on queues. */
#define RELEASE IOCTL(16)
#define RETRIEVE IOCTL(17)
#define REQUEUE IOCTL(18)
#define FINISH_SEQUENTIAL IOCTL(19)
#define STOP IOCTL(20)
#define START IOCTL(21)
#define DRAIN IOCTL(22)
#define PURGE IOCTL(23)
#define STOP_AND_PURGE IOCTL(24)
#define FIND IOCTL(25)
#define STATE IOCTL(26)
#define RETRIEVE_PARALLEL IOCTL(27)
#define FORWARD_MARKED IOCTL(28)
#define MARK_LATE IOCTL(29)
#define FAIL IOCTL(30)

static WDFQUEUE Manual, Sequential, Limited;
static WDFREQUEST Held, Current;

static ULONG Number(WDFREQUEST Request)
{
    PVOID buffer;
    NTSTATUS status =
        WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 1, &buffer, NULL);

    return status < 0 ? 0 : *(UCHAR *)buffer;
}

static VOID NTAPI Cancel(WDFREQUEST Request)
{
    LOG("cancel %u\n", Number(Request));
    if (Held == Request) {
        Held = NULL;
    }
    Complete(Request, STATUS_CANCELLED, 0);
}

static VOID NTAPI CanceledOnQueue(WDFQUEUE Queue, WDFREQUEST Request)
{
    LOG("canceled on queue %u\n", Number(Request));
    Complete(Request, STATUS_CANCELLED, 0);
}

static VOID NTAPI Ready(WDFQUEUE Queue, WDFCONTEXT Context)
{
    LOG("ready %u\n", (ULONG)(ULONG_PTR)Context);
}

static VOID NTAPI AtRest(WDFQUEUE Queue, WDFCONTEXT Context)
{
    LOG("at rest after %u\n", (ULONG)(ULONG_PTR)Context);
}

static VOID NTAPI SequentialControl(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    LOG("sequential %u\n", Number(Request));
    Current = Request;
}

static VOID NTAPI LimitedControl(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    LOG("limited %u\n", Number(Request));
    if (WDF(WDFREQUESTMARKCANCELABLEEX, WdfRequestMarkCancelableEx, Request, Cancel) < 0) {
        Complete(Request, STATUS_CANCELLED, 0);
    }
}

static NTSTATUS Pass(WDFREQUEST Request, WDFQUEUE Queue)
{
    return WDF(WDFREQUESTFORWARDTOIOQUEUE, WdfRequestForwardToIoQueue, Request, Queue);
}

/* Retrieves the oldest request of the manual queue. */
static NTSTATUS Retrieve(BOOLEAN Requeue)
{
    WDFREQUEST request;
    NTSTATUS status = WDF(WDFIOQUEUERETRIEVENEXTREQUEST, WdfIoQueueRetrieveNextRequest, Manual, &request);

    if (status < 0) {
        LOG("retrieves nothing: %x\n", status);
        return status;
    }
    LOG("retrieves %u\n", Number(request));
    if (Requeue) {
        status = WDF(WDFREQUESTREQUEUE, WdfRequestRequeue, request);
        if (status >= 0) {
            return status;
        }
    }
    Complete(request, status, 0);
    return status;
}

/* Finds all requests of the manual queue and retrieves the last one. */
static NTSTATUS Find(void)
{
    WDF_REQUEST_PARAMETERS parameters = {0};
    WDFREQUEST found = NULL, next, taken;
    NTSTATUS status;

    parameters.Size = sizeof(parameters);
    for (;;) {
        status = WDF(WDFIOQUEUEFINDREQUEST, WdfIoQueueFindRequest, Manual, found, NULL, &parameters, &next);
        if (status < 0) {
            break;
        }
        LOG("finds %u, %x\n", Number(next), parameters.Parameters.DeviceIoControl.IoControlCode);
        if (found != NULL) {
            WDF(WDFOBJECTDEREFERENCEACTUAL, WdfObjectDereferenceActual, found, NULL, 0, NULL);
        }
        found = next;
    }
    if (found == NULL) {
        return status;
    }
    status = WDF(WDFIOQUEUERETRIEVEFOUNDREQUEST, WdfIoQueueRetrieveFoundRequest, Manual, found, &taken);
    if (status >= 0) {
        LOG("takes %u\n", Number(taken));
        Complete(taken, 0, 0);
    }
    WDF(WDFOBJECTDEREFERENCEACTUAL, WdfObjectDereferenceActual, found, NULL, 0, NULL);
    return status;
}

static NTSTATUS Do(ULONG Code, ULONG Argument)
{
    WDFQUEUE queue = Argument == 0 ? Manual : Sequential;
    WDFREQUEST request;
    ULONG waiting, presented, state;

    switch (Code) {
    case RELEASE:
        request = Held;
        if (request == NULL) {
            return STATUS_UNSUCCESSFUL;
        }
        Held = NULL;
        LOG("unmark %x\n", WDF(WDFREQUESTUNMARKCANCELABLE, WdfRequestUnmarkCancelable, request));
        Complete(request, 0, 0);
        return 0;
    case RETRIEVE:
        return Retrieve(FALSE);
    case REQUEUE:
        return Retrieve(TRUE);
    case FINISH_SEQUENTIAL:
        request = Current;
        if (request == NULL) {
            return STATUS_UNSUCCESSFUL;
        }
        Current = NULL;
        Complete(request, 0, 0);
        return 0;
    case STOP:
        WDF(WDFIOQUEUESTOP, WdfIoQueueStop, queue, AtRest, (WDFCONTEXT)1);
        return 0;
    case START:
        WDF(WDFIOQUEUESTART, WdfIoQueueStart, queue);
        return 0;
    case DRAIN:
        WDF(WDFIOQUEUEDRAIN, WdfIoQueueDrain, queue, AtRest, (WDFCONTEXT)2);
        return 0;
    case PURGE:
        WDF(WDFIOQUEUEPURGE, WdfIoQueuePurge, queue, AtRest, (WDFCONTEXT)3);
        return 0;
    case STOP_AND_PURGE:
        WDF(WDFIOQUEUESTOPANDPURGESYNCHRONOUSLY, WdfIoQueueStopAndPurgeSynchronously, queue);
        LOG("stopped and purged\n");
        return 0;
    case FIND:
        return Find();
    case STATE:
        state = WDF(WDFIOQUEUEGETSTATE, WdfIoQueueGetState, queue, &waiting, &presented);
        LOG("state %x, %u waiting, %u presented\n", state, waiting, presented);
        return 0;
    case RETRIEVE_PARALLEL:
        return WDF(WDFIOQUEUERETRIEVENEXTREQUEST, WdfIoQueueRetrieveNextRequest, Limited, &request);
    case MARK_LATE:
        request = Held;
        if (request == NULL) {
            return STATUS_UNSUCCESSFUL;
        }
        LOG("is canceled %u\n", WDF(WDFREQUESTISCANCELED, WdfRequestIsCanceled, request));
        WDF(WDFREQUESTMARKCANCELABLE, WdfRequestMarkCancelable, request, Cancel);
        return 0;
    case FAIL:
        return (NTSTATUS)(0xC0200200 + Argument);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    ULONG number = Number(Request);
    NTSTATUS status;

    switch (Code) {
    case HOLD:
        LOG("holds %u\n", number);
        Held = Request;
        status = WDF(WDFREQUESTMARKCANCELABLEEX, WdfRequestMarkCancelableEx, Request, Cancel);
        if (status < 0) {
            Held = NULL;
        }
        break;
    case HOLD_PLAIN:
        LOG("holds %u\n", number);
        Held = Request;
        status = 0;
        break;
    case TO_MANUAL:
        status = Pass(Request, Manual);
        break;
    case TO_SEQUENTIAL:
        status = Pass(Request, Sequential);
        break;
    case TO_LIMITED:
        status = Pass(Request, Limited);
        break;
    default:
        Complete(Request, Do(Code, number), 0);
        return;
    }
    if (status < 0) {
        Complete(Request, status, 0);
    }
}

#if BUG == 5
static NTSTATUS Dispatch(WDFDEVICE Device, WDFQUEUE Queue, ULONGLONG Type)
{
    /* The type is an int. The upper half of its slot is garbage. */
    NTSTATUS(NTAPI *configure)(PWDF_DRIVER_GLOBALS, WDFDEVICE, WDFQUEUE, ULONGLONG) =
        (PVOID)WdfFunctions_01033[WdfDeviceConfigureRequestDispatchingTableIndex];
    NTSTATUS status = configure(WdfDriverGlobals, Device, Queue, Type | 0xA5A5A5A500000000);

    LOG("dispatching %x\n", status);
    return status;
}
#endif

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_IO_QUEUE_CONFIG config;
    WDFDEVICE device;
    NTSTATUS status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);

    Held = Current = NULL;
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchParallel);
    config.EvtIoDeviceControl = Control;
#if BUG == 1
    config.Settings.Parallel.NumberOfPresentedRequests = 0;
#endif
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, NULL);
    if (status >= 0) {
        WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
        config.EvtIoCanceledOnQueue = CanceledOnQueue;
        config.PowerManaged = WdfFalse;
#if BUG == 4
        config.EvtIoDeviceControl = Control;
#endif
        status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, &Manual);
    }
    if (status >= 0) {
        status = WDF(WDFIOQUEUEREADYNOTIFY, WdfIoQueueReadyNotify, Manual, Ready, (WDFCONTEXT)9);
    }
    if (status >= 0) {
        WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchSequential);
        config.EvtIoDeviceControl = SequentialControl;
#if BUG == 2
        config.Settings.Parallel.NumberOfPresentedRequests = 1;
#elif BUG == 3
        config.EvtIoDeviceControl = NULL;
#endif
        config.PowerManaged = WdfFalse;
        status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, &Sequential);
    }
    if (status >= 0) {
        WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchParallel);
        config.EvtIoDeviceControl = LimitedControl;
        config.PowerManaged = WdfFalse;
        config.Settings.Parallel.NumberOfPresentedRequests = 2;
        status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, &Limited);
    }
#if BUG == 5
    if (status >= 0) {
        Dispatch(device, Sequential, 2);
        Dispatch(device, WDF(WDFDEVICEGETDEFAULTQUEUE, WdfDeviceGetDefaultQueue, device), WdfRequestTypeDeviceControl);
        Dispatch(device, Sequential, WdfRequestTypeRead);
        Dispatch(device, Manual, WdfRequestTypeRead);
        Dispatch(device, Manual, WdfRequestTypeRead);
    }
#endif
    return status;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
