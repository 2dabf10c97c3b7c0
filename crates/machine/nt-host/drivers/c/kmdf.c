/* A KMDF driver in C: a device with a parallel queue. A control request returns the sum of its input bytes. */

#include <ntddk.h>
#include <wdf.h>

#define CALL(type, name) ((type)WdfFunctions_01033[name##TableIndex])

typedef struct {
    ULONG Requests;
} CONTEXT_DATA;

static const WDF_OBJECT_CONTEXT_TYPE_INFO ContextType = {
    sizeof(WDF_OBJECT_CONTEXT_TYPE_INFO), "CONTEXT_DATA", sizeof(CONTEXT_DATA), &ContextType, NULL,
};

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    CONTEXT_DATA *context =
        CALL(PFN_WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker)(WdfDriverGlobals, Object, &ContextType);
    DbgPrint("c: device gone after %u requests\n", context->Requests);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDFDEVICE device = CALL(PFN_WDFIOQUEUEGETDEVICE, WdfIoQueueGetDevice)(WdfDriverGlobals, Queue);
    CONTEXT_DATA *context =
        CALL(PFN_WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker)(WdfDriverGlobals, device, &ContextType);
    PVOID buffer;
    NTSTATUS status;
    ULONG sum = 0;
    size_t index;

    (void)Output;
    (void)Code;
    context->Requests++;
    status = CALL(PFN_WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer)(
        WdfDriverGlobals, Request, 1, &buffer, NULL);
    if (status >= 0) {
        for (index = 0; index < Input; index++) {
            sum += ((UCHAR *)buffer)[index];
        }
        status = CALL(PFN_WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer)(
            WdfDriverGlobals, Request, sizeof(sum), &buffer, NULL);
    }
    if (status >= 0) {
        *(ULONG *)buffer = sum;
    }
    CALL(PFN_WDFREQUESTCOMPLETEWITHINFORMATION, WdfRequestCompleteWithInformation)(
        WdfDriverGlobals, Request, status, status >= 0 ? sizeof(sum) : 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtCleanupCallback = Cleanup;
    attributes.ContextTypeInfo = &ContextType;
    status = CALL(PFN_WDFDEVICECREATE, WdfDeviceCreate)(WdfDriverGlobals, &Init, &attributes, &device);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    return CALL(PFN_WDFIOQUEUECREATE, WdfIoQueueCreate)(WdfDriverGlobals, device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {0};

    config.Size = sizeof(config);
    config.EvtDriverDeviceAdd = DeviceAdd;
    return CALL(PFN_WDFDRIVERCREATE, WdfDriverCreate)(WdfDriverGlobals, Driver, Path, NULL, &config, NULL);
}
