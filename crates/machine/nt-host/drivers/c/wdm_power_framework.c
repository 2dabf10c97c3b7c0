/* A WDM driver that lets the power framework manage two components of its device: the first one has the states F0 to F2. With BUG 1
   it does not unregister its device, with BUG 2 it registers no component. */

#include "plain.h"

#define USE 0x222000   /* activates a component and uses it: the input is its number */
#define IDLE 0x222004  /* no longer uses it */
#define WRONG 0x222008 /* uses what is not there */

#define BLOCKING 1

static PDEVICE_OBJECT Physical, Lower, Own;
static POHANDLE Handle;

static VOID NTAPI Active(PVOID Context, ULONG Component)
{
    LOG("active %u, context %u, irql %u\n", Component, (ULONG)(ULONG_PTR)Context, Irql());
}

static VOID NTAPI Idle(PVOID Context, ULONG Component)
{
    (void)Context;
    LOG("idle %u\n", Component);
    PoFxCompleteIdleCondition(Handle, Component);
}

static VOID NTAPI State(PVOID Context, ULONG Component, ULONG New)
{
    (void)Context;
    LOG("component %u: F%u\n", Component, New);
    PoFxCompleteIdleState(Handle, Component);
}

static VOID NTAPI Required(PVOID Context)
{
    (void)Context;
    LOG("power on\n");
    PoFxReportDevicePoweredOn(Handle);
}

static VOID NTAPI NotRequired(PVOID Context)
{
    (void)Context;
    LOG("power off\n");
    PoFxCompleteDevicePowerNotRequired(Handle);
}

static NTSTATUS Register(void)
{
    struct {
        PO_FX_DEVICE_V1 Device;
        PO_FX_COMPONENT_V1 Second;
    } both = {0};
    static PO_FX_COMPONENT_IDLE_STATE states[3];
    NTSTATUS status;

    both.Device.Version = 1;
    both.Device.ComponentCount = BUG == 2 ? 0 : 2;
    both.Device.ComponentActiveConditionCallback = Active;
    both.Device.ComponentIdleConditionCallback = Idle;
    both.Device.ComponentIdleStateCallback = State;
    both.Device.DevicePowerRequiredCallback = Required;
    both.Device.DevicePowerNotRequiredCallback = NotRequired;
    both.Device.DeviceContext = (PVOID)9;
    both.Device.Components[0].IdleStateCount = 3;
    both.Device.Components[0].IdleStates = states;
    both.Second.IdleStateCount = 1;
    both.Second.IdleStates = states;
    status = PoFxRegisterDevice(Physical, (PPO_FX_DEVICE)&both, &Handle);
    LOG("registered %x\n", status);
    if (status >= 0) {
        PoFxActivateComponent(Handle, 1, 0);
        PoFxSetDeviceIdleTimeout(Handle, 10 * 10000);
        PoFxStartDevicePowerManagement(Handle);
    }
    return status;
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status;

    (void)Device;
    if (minor == 0 && (status = Register()) < 0) {
        return Finish(Irp, status, 0);
    }
    if (minor == 2 && Handle != NULL && BUG != 1) {
        PoFxUnregisterDevice(Handle);
        Handle = NULL;
    }
    Irp->IoStatus.Status = 0;
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(Lower, Irp);
    if (minor == 2) {
        IoDetachDevice(Lower);
        IoDeleteDevice(Own);
    }
    return status;
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG component = *(ULONG *)Irp->AssociatedIrp.SystemBuffer;

    (void)Device;
    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case USE:
        PoFxActivateComponent(Handle, component, BLOCKING);
        LOG("uses %u\n", component);
        break;
    case IDLE:
        PoFxIdleComponent(Handle, component, 0);
        break;
    case WRONG:
        PoFxIdleComponent(Handle, 0, 0);
        PoFxActivateComponent(Handle, 7, 0);
        PoFxCompleteIdleState(Handle, 0);
        PoFxReportDevicePoweredOn(Handle);
        PoFxCompleteDirectedPowerDown(Handle);
        PoFxSetDeviceIdleTimeout((POHANDLE)&Handle, 1);
        break;
    }
    return Finish(Irp, 0, 0);
}

static NTSTATUS NTAPI Other(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Bus)
{
    NTSTATUS status = IoCreateDevice(Driver, 0, NULL, 0x22, 0, FALSE, &Own);

    if (status < 0) {
        return status;
    }
    Physical = Bus;
    Lower = IoAttachDeviceToDeviceStack(Own, Bus);
    Own->Flags &= ~0x80; /* DO_DEVICE_INITIALIZING */
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    Driver->MajorFunction[IRP_MJ_CREATE] = Other;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Other;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Other;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return 0;
}
