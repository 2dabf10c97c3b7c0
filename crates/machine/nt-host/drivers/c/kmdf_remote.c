/* A KMDF driver that controls two I/O targets: the device below, and a remote target that it opens by name or device
   object. It creates two devices to open: a framework control device, and a WDM device that handles IRPs itself. */

#include "framework.h"

#define STATE 0x222000 /* logs the target's state */
#define STOP 0x222004  /* argument: WDF_IO_TARGET_SENT_IO_ACTION */
#define START 0x222008
#define PURGE 0x22200C  /* argument: WDF_IO_TARGET_PURGE_IO_ACTION */
#define SEND 0x222010   /* sends a new request; argument: timeout in milliseconds, 0 for none */
#define OPEN 0x222014   /* argument: WDF_IO_TARGET_OPEN_TYPE; a name may follow; with a code, callbacks are set */
#define CLOSE 0x222018  /* argument: whether to close for a query-remove */
#define ASK 0x22201C    /* sends a synchronous request; argument: timeout in milliseconds, 0 for none */
#define CANCEL 0x222020 /* cancels the request that SEND sent last */
#define QUERY 0x222024  /* queries for an interface */
#define NOTIFY 0x222028 /* registers a plug-and-play notification for the remote target; argument 0 removes it */
#define BELOW 0x222100  /* the control code of requests to the targets */
#define BELOW_SLOW 0x222104
#define BELOW_DIRECT 0x222109 /* METHOD_IN_DIRECT: adds 1 to the first byte of the output buffer */


typedef struct {
    ULONG Remote;
    ULONG Argument;
    ULONG Code;
    WCHAR Name[64];
} Order;

static WDFIOTARGET Local, Remote;
static WDFDEVICE ControlDevice;
static PDEVICE_OBJECT Packets;
static PDRIVER_OBJECT DriverObject;
static PDRIVER_DISPATCH Framework[28]; /* the framework's dispatch routines */
static WDFREQUEST Last;
static PFILE_OBJECT Watched;

static VOID NTAPI Done(WDFREQUEST Request, WDFIOTARGET From, PWDF_REQUEST_COMPLETION_PARAMS Params, WDFCONTEXT Context)
{
    LOG("back %u: %x, %u bytes, %s\n", (ULONG)(ULONG_PTR)Context, Params->IoStatus.Status,
        (ULONG)Params->IoStatus.Information, From == Local ? "local" : "remote");
    if (Last == Request) {
        Last = NULL;
    }
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Request);
}

static NTSTATUS Send(WDFIOTARGET Target, const Order *order)
{
    static ULONG number;
    WDF_REQUEST_SEND_OPTIONS options = {sizeof(options), order->Argument != 0, MILLISECONDS(order->Argument)};
    WDFREQUEST request;
    NTSTATUS status = WDF(WDFREQUESTCREATE, WdfRequestCreate, NULL, Target, &request);

    if (status < 0) {
        return status;
    }
    status = WDF(WDFIOTARGETFORMATREQUESTFORIOCTL, WdfIoTargetFormatRequestForIoctl, Target, request, order->Code, NULL,
                 NULL, NULL, NULL);
    if (status < 0) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)request);
        return status;
    }
    Last = request;
    WDF(WDFREQUESTSETCOMPLETIONROUTINE, WdfRequestSetCompletionRoutine, request, Done, (WDFCONTEXT)(ULONG_PTR)++number);
    if (!WDF(WDFREQUESTSEND, WdfRequestSend, request, Target, &options)) {
        status = WDF(WDFREQUESTGETSTATUS, WdfRequestGetStatus, request);
        Last = NULL;
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)request);
    }
    return status;
}

static NTSTATUS Ask(WDFIOTARGET Target, const Order *order)
{
    WDF_REQUEST_SEND_OPTIONS options = {sizeof(options), order->Argument != 0, MILLISECONDS(order->Argument)};
    WDF_MEMORY_DESCRIPTOR output = {0};
    UCHAR out[8] = {order->Code == BELOW_DIRECT ? 0x29 : 0};
    ULONG_PTR bytes = 0;
    NTSTATUS status;

    output.Type = WdfMemoryDescriptorTypeBuffer;
    output.u.BufferType.Buffer = out;
    output.u.BufferType.Length = sizeof(out);
    status = WDF(WDFIOTARGETSENDIOCTLSYNCHRONOUSLY, WdfIoTargetSendIoctlSynchronously, Target, NULL, order->Code, NULL,
                 &output, &options, &bytes);
    LOG("asked: %x, %u bytes, %x\n", status, (ULONG)bytes, *(ULONG *)out);
    return status;
}

/* Called before the device of the remote target is removed. Refuses the first time. */
static NTSTATUS NTAPI QueryRemove(WDFIOTARGET Target)
{
    static ULONG count;

    LOG("query remove, irql %u\n", Irql());
    if (count++ == 0) {
        return STATUS_UNSUCCESSFUL;
    }
    WDF(WDFIOTARGETCLOSEFORQUERYREMOVE, WdfIoTargetCloseForQueryRemove, Target);
    return STATUS_SUCCESS;
}

static VOID NTAPI RemoveCanceled(WDFIOTARGET Target)
{
    WDF_IO_TARGET_OPEN_PARAMS params = {0};

    params.Size = sizeof(params);
    params.Type = WdfIoTargetOpenReopen;
    LOG("remove canceled, opened: %x\n", WDF(WDFIOTARGETOPEN, WdfIoTargetOpen, Target, &params));
}

static VOID NTAPI RemoveComplete(WDFIOTARGET Target)
{
    LOG("remove complete\n");
    WDF(WDFIOTARGETCLOSE, WdfIoTargetClose, Target);
}

static NTSTATUS NTAPI Removal(PVOID Notification, PVOID Context)
{
    USHORT *sizes = Notification;

    LOG("notified: version %u, %u bytes, event %x, file %d, context %u\n", sizes[0], sizes[1], ((ULONG *)Notification)[1],
        ((PFILE_OBJECT *)Notification)[3] == Watched && Watched->DeviceObject != NULL,
        (ULONG)(ULONG_PTR)Context);
    return STATUS_SUCCESS;
}

static NTSTATUS Notify(const Order *order)
{
    static PVOID registration;

    if (order->Argument == 0) {
        return IoUnregisterPlugPlayNotificationEx(registration);
    }
    Watched = WDF(WDFIOTARGETWDMGETTARGETFILEOBJECT, WdfIoTargetWdmGetTargetFileObject, Remote);
    /* EventCategoryTargetDeviceChange */
    return IoRegisterPlugPlayNotification(3, 0, Watched, DriverObject, (PVOID)Removal, (PVOID)7, &registration);
}

static NTSTATUS Query(WDFIOTARGET Target)
{
    static const GUID type = {0x11223344};
    INTERFACE found = {0};
    NTSTATUS status = WDF(WDFIOTARGETQUERYFORINTERFACE, WdfIoTargetQueryForInterface, Target, &type, &found,
                          sizeof(found), 3, (PVOID)5);

    LOG("interface: %x, %u bytes, version %u\n", status, found.Size, found.Version);
    return status;
}

static NTSTATUS Open(const Order *order)
{
    WDF_IO_TARGET_OPEN_PARAMS params = {0};
    NTSTATUS status;
    USHORT length = 0;

    while (order->Name[length] != 0) {
        length++;
    }
    params.Size = sizeof(params);
    params.Type = order->Argument;
    params.TargetDeviceName.Length = length * sizeof(WCHAR);
    params.TargetDeviceName.MaximumLength = length * sizeof(WCHAR);
    params.TargetDeviceName.Buffer = (PWCHAR)order->Name;
    params.TargetDeviceObject = Packets;
    if (order->Code != 0) {
        params.EvtIoTargetQueryRemove = QueryRemove;
        params.EvtIoTargetRemoveCanceled = RemoveCanceled;
        params.EvtIoTargetRemoveComplete = RemoveComplete;
    }
    status = WDF(WDFIOTARGETOPEN, WdfIoTargetOpen, Remote, &params);
    LOG("opened: %x, device %d, file %d, physical %d\n", status,
        WDF(WDFIOTARGETWDMGETTARGETDEVICEOBJECT, WdfIoTargetWdmGetTargetDeviceObject, Remote) != NULL,
        WDF(WDFIOTARGETWDMGETTARGETFILEOBJECT, WdfIoTargetWdmGetTargetFileObject, Remote) != NULL,
        WDF(WDFIOTARGETWDMGETTARGETPHYSICALDEVICE, WdfIoTargetWdmGetTargetPhysicalDevice, Remote) != NULL);
    return status;
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS status = STATUS_SUCCESS;
    WDFIOTARGET target;
    Order *order;

    (void)Queue, (void)Output, (void)Input;
    status = WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, sizeof(*order), (PVOID *)&order, NULL);
    if (status < 0) {
        Complete(Request, status, 0);
        return;
    }
    target = order->Remote ? Remote : Local;
    switch (Code) {
    case STATE:
        break;
    case STOP:
        WDF(WDFIOTARGETSTOP, WdfIoTargetStop, target, order->Argument);
        break;
    case START:
        status = WDF(WDFIOTARGETSTART, WdfIoTargetStart, target);
        break;
    case PURGE:
        WDF(WDFIOTARGETPURGE, WdfIoTargetPurge, target, order->Argument);
        break;
    case SEND:
        status = Send(target, order);
        break;
    case OPEN:
        status = Open(order);
        break;
    case CLOSE:
        if (order->Argument) {
            WDF(WDFIOTARGETCLOSEFORQUERYREMOVE, WdfIoTargetCloseForQueryRemove, target);
        } else {
            WDF(WDFIOTARGETCLOSE, WdfIoTargetClose, target);
        }
        break;
    case ASK:
        status = Ask(target, order);
        break;
    case QUERY:
        status = Query(target);
        break;
    case NOTIFY:
        status = Notify(order);
        break;
    case CANCEL:
        LOG("canceled: %d\n", WDF(WDFREQUESTCANCELSENTREQUEST, WdfRequestCancelSentRequest, Last));
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    LOG("state %u\n", WDF(WDFIOTARGETGETSTATE, WdfIoTargetGetState, target));
    Complete(Request, status, 0);
}

/* The control device returns three bytes, or keeps a request pending until it is canceled. */
static VOID NTAPI Canceled(WDFREQUEST Request)
{
    LOG("the other device cancels\n");
    Complete(Request, STATUS_CANCELLED, 0);
}

static VOID NTAPI Other(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    UCHAR *out;

    (void)Queue, (void)Output, (void)Input;
    if (Code == BELOW_SLOW) {
        WDF(WDFREQUESTMARKCANCELABLE, WdfRequestMarkCancelable, Request, Canceled);
        return;
    }
    if (WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, 3, (PVOID *)&out, NULL) < 0) {
        Complete(Request, 0, 0);
        return;
    }
    if (Code == BELOW_DIRECT) {
        out[0]++;
    } else {
        out[0] = 0xA, out[1] = 0xB, out[2] = 0xC;
    }
    Complete(Request, 0, 3);
}

/* Handles the IRPs of the WDM device, and leaves those of other devices to the framework. */
static NTSTATUS NTAPI Packet(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION place = IoGetCurrentIrpStackLocation(Irp);
    NTSTATUS status = place->MajorFunction == IRP_MJ_PNP ? Irp->IoStatus.Status : 0;
    ULONG_PTR bytes = 0;

    if (Device != Packets) {
        return Framework[place->MajorFunction](Device, Irp);
    }
    if (place->MajorFunction == IRP_MJ_DEVICE_CONTROL && place->Parameters.DeviceIoControl.OutputBufferLength >= 2) {
        UCHAR *out = Irp->AssociatedIrp.SystemBuffer;

        if (place->Parameters.DeviceIoControl.IoControlCode == BELOW_DIRECT) {
            out = MmMapLockedPagesSpecifyCache(Irp->MdlAddress, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);
            out[0]++;
        } else {
            out[0] = 0xD, out[1] = 0xE;
        }
        bytes = 2;
    }
    LOG("packet %x, %x\n", place->MajorFunction, place->MinorFunction);
    if (place->MajorFunction == IRP_MJ_PNP && place->MinorFunction == 8) { /* IRP_MN_QUERY_INTERFACE */
        const GUID *type = ((PVOID *)&place->Parameters)[0];
        INTERFACE *interface = ((PVOID *)&place->Parameters)[2];

        LOG("interface %x, data %u\n", (ULONG)type->Data1, (ULONG)(ULONG_PTR)((PVOID *)&place->Parameters)[3]);
        interface->Size = ((USHORT *)&place->Parameters)[4];
        interface->Version = ((USHORT *)&place->Parameters)[5];
        status = 0;
    }
#if BUG == 1
    status = 0; /* a Plug and Play request that the driver does not know succeeds */
#endif
    Irp->IoStatus.Status = status;
    Irp->IoStatus.Information = bytes;
    IofCompleteRequest(Irp, 0);
    return status;
}

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    PDEVICE_OBJECT control;

    (void)Object;
    LOG("the device goes\n");
    if (ControlDevice != NULL) {
        control = WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, ControlDevice);
        ObfReferenceObject(control);
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)ControlDevice);
        /* The reference keeps the device object. */
        if (control->Type != 3) { /* IO_TYPE_DEVICE */
            LOG("the device object is gone\n");
        }
        ObfDereferenceObject(control);
    }
    IoDeleteDevice(Packets);
}

static NTSTATUS MakeOthers(WDFDRIVER Driver)
{
    UNICODE_STRING sddl, name, packets;
    WDF_IO_QUEUE_CONFIG queue;
    PWDFDEVICE_INIT init;
    NTSTATUS status;

    RtlInitUnicodeString(&sddl, L"D:P(A;;GA;;;SY)");
    RtlInitUnicodeString(&name, L"\\Device\\OwnControl");
    RtlInitUnicodeString(&packets, L"\\Device\\OwnPackets");
    status = IoCreateDevice(DriverObject, 0, &packets, 0x22, 0, FALSE, &Packets);
    if (status < 0) {
        return status;
    }
    Packets->Flags &= ~0x80; /* DO_DEVICE_INITIALIZING */
    init = WDF(WDFCONTROLDEVICEINITALLOCATE, WdfControlDeviceInitAllocate, Driver, &sddl);
    if (init == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    WDF(WDFDEVICEINITASSIGNNAME, WdfDeviceInitAssignName, init, &name);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &init, NULL, &ControlDevice);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Other;
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, ControlDevice, &queue, NULL, NULL);
    WDF(WDFCONTROLFINISHINITIALIZING, WdfControlFinishInitializing, ControlDevice);
    return status;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status;

    InitAttributes(&attributes, NULL);
    attributes.EvtCleanupCallback = Cleanup;
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, &attributes, &device);
    if (status < 0) {
        return status;
    }
    Local = WDF(WDFDEVICEGETIOTARGET, WdfDeviceGetIoTarget, device);
    status = WDF(WDFIOTARGETCREATE, WdfIoTargetCreate, device, NULL, &Remote);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &queue, NULL, NULL);
    return status < 0 ? status : MakeOthers(Driver);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {sizeof(config)};
    NTSTATUS status;

    DriverObject = Driver;
    config.EvtDriverDeviceAdd = DeviceAdd;
    status = WDF(WDFDRIVERCREATE, WdfDriverCreate, Driver, Path, NULL, &config, NULL);
    __builtin_memcpy(Framework, Driver->MajorFunction, sizeof(Framework));
    Driver->MajorFunction[IRP_MJ_CREATE] = Packet;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Packet;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Packet;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Packet;
    Driver->MajorFunction[IRP_MJ_PNP] = Packet;
    return status;
}
