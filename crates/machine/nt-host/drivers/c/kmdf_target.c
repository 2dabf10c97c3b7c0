/* A KMDF driver that sends requests to the device below: synchronous, new and forwarded ones. With BUG 1 it is a filter. */

#include "framework.h"

#define ASK 0x222000     /* a synchronous ioctl with a timeout of 50 ms */
#define OWN 0x222004     /* a new request with a completion routine */
#define FORWARD 0x222008 /* the client's request with a completion routine */
#define FORGET 0x22200C  /* the client's request, sent and forgotten */
#define CANCEL 0x222010  /* a new request, canceled before it completes */

static WDFIOTARGET Target;
static WDFREQUEST Waiting;

static void Descriptor(WDF_MEMORY_DESCRIPTOR *descriptor, PVOID buffer, ULONG length)
{
    __builtin_memset(descriptor, 0, sizeof(*descriptor));
    descriptor->Type = WdfMemoryDescriptorTypeBuffer;
    descriptor->u.BufferType.Buffer = buffer;
    descriptor->u.BufferType.Length = length;
}

static NTSTATUS Ask(void)
{
    WDF_REQUEST_SEND_OPTIONS options = {sizeof(options), 1, MILLISECONDS(50)};
    WDF_MEMORY_DESCRIPTOR input, output;
    UCHAR in[2] = {1, 2}, out[8] = {0};
    ULONG_PTR bytes = 0;
    NTSTATUS status;

    Descriptor(&input, in, sizeof(in));
    Descriptor(&output, out, sizeof(out));
    status = WDF(WDFIOTARGETSENDIOCTLSYNCHRONOUSLY, WdfIoTargetSendIoctlSynchronously, Target, NULL, ASK, &input, &output,
                 &options, &bytes);
    LOG("asked: %x, %u bytes, %x\n", status, (ULONG)bytes, *(ULONG *)out);
    return status;
}

static VOID NTAPI OwnDone(WDFREQUEST Request, WDFIOTARGET From, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    LOG("own came back: %x, %u bytes, same target %d, context %u, irql %u\n", Params->IoStatus.Status,
        (ULONG)Params->IoStatus.Information, From == Target, (ULONG)(ULONG_PTR)Context, Irql());
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Request);
    if (Waiting != NULL) {
        WDFREQUEST waiting = Waiting;

        Waiting = NULL;
        Complete(waiting, 0, 0);
    }
}

static NTSTATUS Own(BOOLEAN Cancel)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFREQUEST request;
    NTSTATUS status;

    InitAttributes(&attributes, NULL);
    status = WDF(WDFREQUESTCREATE, WdfRequestCreate, &attributes, Target, &request);
    if (status < 0) {
        return status;
    }
    status = WDF(WDFIOTARGETFORMATREQUESTFORIOCTL, WdfIoTargetFormatRequestForIoctl, Target, request, OWN, NULL, NULL, NULL,
                 NULL);
    if (status < 0) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)request);
        return status;
    }
    WDF(WDFREQUESTSETCOMPLETIONROUTINE, WdfRequestSetCompletionRoutine, request, OwnDone, (WDFCONTEXT)5);
    LOG("sent: %d\n", WDF(WDFREQUESTSEND, WdfRequestSend, request, Target, NULL));
    if (Cancel) {
        LOG("canceled: %d\n", WDF(WDFREQUESTCANCELSENTREQUEST, WdfRequestCancelSentRequest, request));
    }
    return 0;
}

static VOID NTAPI Forwarded(WDFREQUEST Request, WDFIOTARGET From, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    (void)From, (void)Context;
    LOG("forwarded: %x, status %x\n", Params->IoStatus.Status, WDF(WDFREQUESTGETSTATUS, WdfRequestGetStatus, Request));
    Complete(Request, Params->IoStatus.Status, Params->IoStatus.Information);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDF_REQUEST_SEND_OPTIONS forget = {sizeof(forget), 8, 0};

    (void)Queue, (void)Output, (void)Input;
    switch (Code) {
    case ASK:
        Complete(Request, Ask(), 0);
        return;
    case OWN:
        Waiting = Request;
        if (Own(FALSE) < 0) {
            Complete(Request, STATUS_UNSUCCESSFUL, 0);
        }
        return;
    case CANCEL:
        Complete(Request, Own(TRUE), 0);
        return;
    case FORWARD:
        WDF(WDFREQUESTFORMATREQUESTUSINGCURRENTTYPE, WdfRequestFormatRequestUsingCurrentType, Request);
        WDF(WDFREQUESTSETCOMPLETIONROUTINE, WdfRequestSetCompletionRoutine, Request, Forwarded, NULL);
        WDF(WDFREQUESTSEND, WdfRequestSend, Request, Target, NULL);
        return;
    case FORGET:
        WDF(WDFREQUESTFORMATREQUESTUSINGCURRENTTYPE, WdfRequestFormatRequestUsingCurrentType, Request);
        WDF(WDFREQUESTSEND, WdfRequestSend, Request, Target, &forget);
        return;
    }
    Complete(Request, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
#if BUG == 1
    WDF(WDFFDOINITSETFILTER, WdfFdoInitSetFilter, Init);
#endif
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    Target = WDF(WDFDEVICEGETIOTARGET, WdfDeviceGetIoTarget, device);
    return CreateControlQueue(device, WdfIoQueueDispatchParallel, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
