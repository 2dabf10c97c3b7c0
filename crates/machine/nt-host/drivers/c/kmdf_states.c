/* A KMDF driver that shows what the framework stores in its driver object, the states of its device, and how a device
   fails. BUG 1 keeps the driver object for itself, BUG 2 fails while the device starts, and BUG 3 replaces AddDevice.
   BUG 4 and 5 log the states of Plug and Play and power, too; the power callbacks of BUG 5 cannot be paged. */

#include "framework.h"

#define PING 0x222000
#define STATE 0x222004 /* logs the state of power policy */
#define FAIL 0x222008  /* calls WdfDeviceSetFailed */
#define SELF 0x22200C  /* sends PING as an internal request to its own device object */

static WDFDEVICE Device;
static PDRIVER_ADD_DEVICE AddDevice;

static ULONG Policy(WDFDEVICE device)
{
    return WDF(WDFDEVICEGETDEVICEPOWERPOLICYSTATE, WdfDeviceGetDevicePowerPolicyState, device);
}

static VOID Show(WDFDEVICE device)
{
    if (BUG >= 4) {
        LOG("pnp %x, power %x\n", WDF(WDFDEVICEGETDEVICEPNPSTATE, WdfDeviceGetDevicePnpState, device),
            WDF(WDFDEVICEGETDEVICEPOWERSTATE, WdfDeviceGetDevicePowerState, device));
    }
}

static NTSTATUS NTAPI PrepareHardware(WDFDEVICE device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    (void)Raw, (void)Translated;
    LOG("PrepareHardware, policy %x\n", Policy(device));
    Show(device);
    return 0;
}

static NTSTATUS NTAPI ReleaseHardware(WDFDEVICE device, WDFCMRESLIST Translated)
{
    (void)Translated;
    LOG("ReleaseHardware\n");
    Show(device);
    return 0;
}

static NTSTATUS NTAPI D0Entry(WDFDEVICE device, WDF_POWER_DEVICE_STATE Previous)
{
    LOG("D0Entry from %u, policy %x\n", Previous, Policy(device));
    Show(device);
#if BUG == 2
    LARGE_INTEGER wait = {.QuadPart = MILLISECONDS(10)};

    WDF(WDFDEVICESETFAILED, WdfDeviceSetFailed, device, WdfDeviceFailedNoRestart);
    KeDelayExecutionThread(0, FALSE, &wait);
    LOG("D0Entry ends\n");
#endif
    return 0;
}

static NTSTATUS NTAPI D0Exit(WDFDEVICE device, WDF_POWER_DEVICE_STATE Next)
{
    LOG("D0Exit to %u\n", Next);
    Show(device);
    return 0;
}

static NTSTATUS NTAPI IoInit(WDFDEVICE device)
{
    LOG("SelfManagedIoInit\n");
    Show(device);
    return 0;
}

static VOID NTAPI SurpriseRemoval(WDFDEVICE device)
{
    LOG("SurpriseRemoval\n");
    Show(device);
}

/* IRP_MN_QUERY_PNP_DEVICE_STATE, before the framework receives it. */
static NTSTATUS NTAPI QueryState(WDFDEVICE device, PIRP Irp)
{
    LOG("asked for the state\n");
    IoSkipCurrentIrpStackLocation(Irp);
    return WDF(WDFDEVICEWDMDISPATCHPREPROCESSEDIRP, WdfDeviceWdmDispatchPreprocessedIrp, device, Irp);
}

static NTSTATUS SendToSelf(void)
{
    PDEVICE_OBJECT object = WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, Device);
    IO_STATUS_BLOCK block = {0};
    ULONG output = 0;
    NTSTATUS status;
    KEVENT event;
    PIRP irp;

    KeInitializeEvent(&event, 0, FALSE);
    irp = IoBuildDeviceIoControlRequest(PING, object, NULL, 0, &output, sizeof(output), TRUE, &event, &block);
    if (irp == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    status = IofCallDriver(object, irp);
    if (status == 0x103) { /* STATUS_PENDING */
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
        status = block.Status;
    }
    LOG("from its own device: %x, %u bytes, %x\n", status, (ULONG)block.Information, output);
    return status;
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS status = 0;
    ULONG *output;

    (void)Queue, (void)Output, (void)Input;
    switch (Code) {
    case PING:
    case PING | 3: /* METHOD_NEITHER */
        status = WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, 4, (PVOID *)&output, NULL);
        if (status >= 0) {
            *output = 0x1234;
            Complete(Request, 0, 4);
            return;
        }
        break;
    case STATE:
        LOG("policy %x\n", Policy(Device));
        Show(Device);
        break;
    case FAIL:
        LOG("failing\n");
        WDF(WDFDEVICESETFAILED, WdfDeviceSetFailed, Device, WdfDeviceFailedNoRestart);
        break;
    case SELF:
        status = SendToSelf();
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    Complete(Request, status, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS events = {sizeof(events)};
    WDF_IO_QUEUE_CONFIG queue;
    WDFQUEUE internal;
    UCHAR minor = 0x14; /* IRP_MN_QUERY_PNP_DEVICE_STATE */
    NTSTATUS status;

    (void)Driver;
    events.EvtDevicePrepareHardware = PrepareHardware;
    events.EvtDeviceReleaseHardware = ReleaseHardware;
    events.EvtDeviceD0Entry = D0Entry;
    events.EvtDeviceD0Exit = D0Exit;
    events.EvtDeviceSelfManagedIoInit = IoInit;
    events.EvtDeviceSurpriseRemoval = SurpriseRemoval;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &events);
    WDF(WDFDEVICEINITASSIGNWDMIRPPREPROCESSCALLBACK, WdfDeviceInitAssignWdmIrpPreprocessCallback, Init, QueryState,
        IRP_MJ_PNP, &minor, 1);
#if BUG == 5
    WDF(WDFDEVICEINITSETPOWERNOTPAGEABLE, WdfDeviceInitSetPowerNotPageable, Init);
#endif
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    LOG("created, policy %x\n", Policy(Device));
    Show(Device);
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.PowerManaged = WdfFalse;
    queue.EvtIoDeviceControl = Control;
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, NULL);
    if (status < 0) {
        return status;
    }
    /* A queue for the requests that the driver sends to itself. */
    WDF_IO_QUEUE_CONFIG_INIT(&queue, WdfIoQueueDispatchParallel);
    queue.PowerManaged = WdfFalse;
    queue.EvtIoInternalDeviceControl = Control;
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, &internal);
    if (status < 0) {
        return status;
    }
    return WDF(WDFDEVICECONFIGUREREQUESTDISPATCHING, WdfDeviceConfigureRequestDispatching, Device, internal,
               WdfRequestTypeDeviceControlInternal);
}

static VOID NTAPI EvtUnload(WDFDRIVER Driver)
{
    (void)Driver;
    LOG("EvtDriverUnload\n");
}

static VOID NTAPI OwnUnload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    LOG("own unload\n");
}

static NTSTATUS NTAPI OwnAddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    LOG("own AddDevice\n");
    return AddDevice == NULL ? STATUS_UNSUCCESSFUL : AddDevice(Driver, Physical);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {sizeof(config)};
    ULONG index, count = 0;
    NTSTATUS status;

    config.EvtDriverDeviceAdd = DeviceAdd;
    config.EvtDriverUnload = EvtUnload;
    config.DriverInitFlags = BUG == 1 ? WdfDriverInitNoDispatchOverride : 0;
    status = WDF(WDFDRIVERCREATE, WdfDriverCreate, Driver, Path, NULL, &config, NULL);
    for (index = 0; index < 28; index++) {
        count += Driver->MajorFunction[index] != NULL;
    }
    LOG("AddDevice %d, %u dispatch routines, unload %d\n", Driver->DriverExtension->AddDevice != NULL, count,
        Driver->DriverUnload != NULL);
#if BUG == 1
    Driver->DriverUnload = OwnUnload;
#else
    (void)OwnUnload;
#endif
#if BUG == 3
    AddDevice = Driver->DriverExtension->AddDevice;
#endif
    if (BUG == 1 || BUG == 3) {
        Driver->DriverExtension->AddDevice = OwnAddDevice;
    }
    return status;
}
