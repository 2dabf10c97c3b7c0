/* A KMDF driver whose device sleeps after it was idle for 100 ms. It logs its callbacks, and the states of the device. BUG 1:
   the device can wake itself and the system. BUG 2: the device is powered up when the system wakes. BUG 3: its D0Exit fails.
   BUG 4: it does not wake up. BUG 5: as BUG 1, but the device cannot be armed. */

#include "framework.h"

#define PING 0x222000    /* to a power-managed queue */
#define KEEP 0x222004    /* keeps the request until RELEASE */
#define RELEASE 0x222008 /* the others are handled in the caller's context, whatever the power state */
#define STOP 0x22200C
#define STOP_AND_WAIT 0x222010
#define RESUME 0x222014
#define STATE 0x222018
#define DISABLE 0x22201C
#define ENABLE 0x222020
#define CHILD 0x222024
#define FAIL 0x222028 /* goes to the queue, which completes it; then declares the device failed, waits and uses the device */


static WDFDEVICE Device;
static WDFQUEUE Managed;
static WDFREQUEST Kept;

static VOID Show(const char *Where)
{
    LOG("%s, pnp %x, power %x, policy %x\n", Where, WDF(WDFDEVICEGETDEVICEPNPSTATE, WdfDeviceGetDevicePnpState, Device),
        WDF(WDFDEVICEGETDEVICEPOWERSTATE, WdfDeviceGetDevicePowerState, Device),
        WDF(WDFDEVICEGETDEVICEPOWERPOLICYSTATE, WdfDeviceGetDevicePowerPolicyState, Device));
}

/* A callback that only shows the states. */
#define SHOWS(type, callback, name, result)                                                                           \
    static type NTAPI callback(WDFDEVICE device)                                                                      \
    {                                                                                                                 \
        (void)device;                                                                                                 \
        Show(name);                                                                                                   \
        result;                                                                                                       \
    }

static NTSTATUS NTAPI D0Entry(WDFDEVICE device, WDF_POWER_DEVICE_STATE From)
{
    LOG("D0Entry from %u\n", From);
    Show("D0Entry");
    (void)device;
    return BUG == 4 && From == WdfPowerDeviceD3 ? STATUS_UNSUCCESSFUL : 0;
}

static NTSTATUS NTAPI D0Exit(WDFDEVICE device, WDF_POWER_DEVICE_STATE To)
{
    LOG("D0Exit to %u\n", To);
    Show("D0Exit");
    (void)device;
    return BUG == 3 && To == WdfPowerDeviceD3 ? STATUS_UNSUCCESSFUL : 0;
}

SHOWS(NTSTATUS, IoSuspend, "SelfManagedIoSuspend", return 0)
SHOWS(NTSTATUS, IoRestart, "SelfManagedIoRestart", return 0)
SHOWS(NTSTATUS, IoInit, "SelfManagedIoInit", return 0)

static VOID NTAPI IoCleanup(WDFDEVICE device)
{
    (void)device;
    LOG("SelfManagedIoCleanup\n");
}

static VOID NTAPI IoFlush(WDFDEVICE device)
{
    (void)device;
    LOG("SelfManagedIoFlush\n");
}

static NTSTATUS NTAPI ReleaseHardware(WDFDEVICE device, WDFCMRESLIST Translated)
{
    (void)device, (void)Translated;
    LOG("ReleaseHardware\n");
    return 0;
}

static NTSTATUS NTAPI PrepareHardware(WDFDEVICE device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    (void)device, (void)Raw, (void)Translated;
    LOG("PrepareHardware\n");
    return 0;
}

SHOWS(NTSTATUS, QueryRemove, "QueryRemove", return 0)
SHOWS(NTSTATUS, QueryStop, "QueryStop", return 0)
SHOWS(VOID, SurpriseRemoval, "SurpriseRemoval", return)
SHOWS(NTSTATUS, ArmS0, "ArmWakeFromS0", return BUG == 5 ? STATUS_UNSUCCESSFUL : 0)
SHOWS(VOID, DisarmS0, "DisarmWakeFromS0", return)
SHOWS(VOID, TriggeredS0, "WakeFromS0Triggered", return)
SHOWS(NTSTATUS, ArmSx, "ArmWakeFromSx", return BUG == 5 ? STATUS_UNSUCCESSFUL : 0)
SHOWS(VOID, DisarmSx, "DisarmWakeFromSx", return)
SHOWS(VOID, TriggeredSx, "WakeFromSxTriggered", return)

static NTSTATUS AssignIdle(BOOLEAN Enabled)
{
    WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS settings = {sizeof(settings)};

    settings.IdleCaps = BUG == 1 || BUG == 5 ? IdleCanWakeFromS0 : IdleCannotWakeFromS0;
    settings.DxState = PowerDeviceMaximum;
    settings.IdleTimeout = 100;
    settings.UserControlOfIdleSettings = IdleDoNotAllowUserControl;
    settings.Enabled = Enabled ? WdfTrue : WdfFalse;
    settings.PowerUpIdleDeviceOnSystemWake = BUG == 2 ? WdfTrue : WdfUseDefault;
    return WDF(WDFDEVICEASSIGNS0IDLESETTINGS, WdfDeviceAssignS0IdleSettings, Device, &settings);
}

static NTSTATUS AssignWake(void)
{
    WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS settings = {sizeof(settings)};

    settings.DxState = PowerDeviceMaximum;
    settings.UserControlOfWakeSettings = WakeDoNotAllowUserControl;
    settings.Enabled = WdfTrue;
    return WDF(WDFDEVICEASSIGNSXWAKESETTINGS, WdfDeviceAssignSxWakeSettings, Device, &settings);
}

static NTSTATUS NTAPI ChildD0Entry(WDFDEVICE device, WDF_POWER_DEVICE_STATE From)
{
    (void)device;
    LOG("child: D0Entry from %u\n", From);
    return 0;
}

static NTSTATUS NTAPI ChildD0Exit(WDFDEVICE device, WDF_POWER_DEVICE_STATE To)
{
    (void)device;
    LOG("child: D0Exit to %u\n", To);
    return 0;
}

/* A child, which keeps its parent awake. */
static NTSTATUS AddChild(void)
{
    DECLARE_CONST_UNICODE_STRING(id, L"NtHost\\Child");
    DECLARE_CONST_UNICODE_STRING(number, L"0");
    WDF_PNPPOWER_EVENT_CALLBACKS events = {sizeof(events)};
    PWDFDEVICE_INIT init = WDF(WDFPDOINITALLOCATE, WdfPdoInitAllocate, Device);
    WDFDEVICE child;
    NTSTATUS status;

    events.EvtDeviceD0Entry = ChildD0Entry;
    events.EvtDeviceD0Exit = ChildD0Exit;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, init, &events);
    WDF(WDFPDOINITASSIGNDEVICEID, WdfPdoInitAssignDeviceID, init, &id);
    WDF(WDFPDOINITASSIGNINSTANCEID, WdfPdoInitAssignInstanceID, init, &number);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &init, NULL, &child);
    return status < 0 ? status : WDF(WDFFDOADDSTATICCHILD, WdfFdoAddStaticChild, Device, child);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS status = 0;

    (void)Queue, (void)Output, (void)Input;
    switch (Code) {
    case PING:
        Show("ping");
        break;
    case KEEP:
        LOG("kept\n");
        Kept = Request;
        return;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    Complete(Request, status, 0);
}

static VOID NTAPI InCallerContext(WDFDEVICE device, WDFREQUEST Request)
{
    WDF_REQUEST_PARAMETERS parameters = {sizeof(parameters)};
    LARGE_INTEGER wait = {.QuadPart = -50000}; /* 5 ms */
    NTSTATUS status = 0;

    WDF(WDFREQUESTGETPARAMETERS, WdfRequestGetParameters, Request, &parameters);
    switch (parameters.Parameters.DeviceIoControl.IoControlCode) {
    case RELEASE:
        Complete(Kept, 0, 0);
        break;
    case STOP:
    case STOP_AND_WAIT:
        status = WDF(WDFDEVICESTOPIDLENOTRACK, WdfDeviceStopIdleNoTrack, Device,
                     parameters.Parameters.DeviceIoControl.IoControlCode == STOP_AND_WAIT);
        LOG("stop: %x\n", status);
        status = 0;
        break;
    case RESUME:
        WDF(WDFDEVICERESUMEIDLENOTRACK, WdfDeviceResumeIdleNoTrack, Device);
        break;
    case STATE:
        Show("state");
        break;
    case DISABLE:
    case ENABLE:
        status = AssignIdle(parameters.Parameters.DeviceIoControl.IoControlCode == ENABLE);
        break;
    case CHILD:
        status = AddChild();
        break;
    default:
        status = WDF(WDFDEVICEENQUEUEREQUEST, WdfDeviceEnqueueRequest, device, Request);
        if (status >= 0) {
            if (parameters.Parameters.DeviceIoControl.IoControlCode == FAIL) {
                WDF(WDFDEVICESETFAILED, WdfDeviceSetFailed, device, WdfDeviceFailedNoRestart);
                KeDelayExecutionThread(0, FALSE, &wait);
                Show("end of the wait");
            }
            return;
        }
    }
    Complete(Request, status, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS events = {sizeof(events)};
    WDF_POWER_POLICY_EVENT_CALLBACKS policy = {sizeof(policy)};
    WDF_IO_QUEUE_CONFIG queue;
    NTSTATUS status;

    (void)Driver;
    events.EvtDevicePrepareHardware = PrepareHardware;
    events.EvtDeviceReleaseHardware = ReleaseHardware;
    events.EvtDeviceD0Entry = D0Entry;
    events.EvtDeviceD0Exit = D0Exit;
    events.EvtDeviceSelfManagedIoSuspend = IoSuspend;
    events.EvtDeviceSelfManagedIoRestart = IoRestart;
    events.EvtDeviceSelfManagedIoFlush = IoFlush;
    events.EvtDeviceSelfManagedIoInit = IoInit;
    events.EvtDeviceSelfManagedIoCleanup = IoCleanup;
    events.EvtDeviceQueryRemove = QueryRemove;
    events.EvtDeviceQueryStop = QueryStop;
    events.EvtDeviceSurpriseRemoval = SurpriseRemoval;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &events);
    policy.EvtDeviceArmWakeFromS0 = ArmS0;
    policy.EvtDeviceDisarmWakeFromS0 = DisarmS0;
    policy.EvtDeviceWakeFromS0Triggered = TriggeredS0;
    policy.EvtDeviceArmWakeFromSx = ArmSx;
    policy.EvtDeviceDisarmWakeFromSx = DisarmSx;
    policy.EvtDeviceWakeFromSxTriggered = TriggeredSx;
    WDF(WDFDEVICEINITSETPOWERPOLICYEVENTCALLBACKS, WdfDeviceInitSetPowerPolicyEventCallbacks, Init, &policy);
    WDF(WDFDEVICEINITSETIOINCALLERCONTEXTCALLBACK, WdfDeviceInitSetIoInCallerContextCallback, Init, InCallerContext);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, &Managed);
    if (status >= 0) {
        status = AssignIdle(TRUE);
    }
    if (status >= 0 && (BUG == 1 || BUG == 5)) {
        status = AssignWake();
    }
    return status;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
