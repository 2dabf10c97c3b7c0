/* A WDM driver for a device with message or line interrupts. With BUG 1 it does not disconnect them; with BUG 2 it replaces the
   list of what the device requires. */

#include "plain.h"

static PDEVICE_OBJECT Physical, Lower, Own;
static PVOID Connection;
static ULONG Version;
static KDPC Later;

static VOID NTAPI Deferred(PKDPC Dpc, PVOID Context, PVOID First, PVOID Second)
{
    (void)Dpc, (void)Context, (void)First, (void)Second;
    LOG("dpc, irql %u\n", Irql());
}

static BOOLEAN NTAPI ByMessage(PKINTERRUPT Interrupt, PVOID Context, ULONG Message)
{
    (void)Interrupt;
    LOG("message %u, context %u, irql %u\n", Message, (ULONG)(ULONG_PTR)Context, Irql());
    KeInsertQueueDpc(&Later, NULL, NULL);
    return TRUE;
}

static BOOLEAN NTAPI ByLine(PKINTERRUPT Interrupt, PVOID Context)
{
    (void)Interrupt;
    LOG("line, context %u, irql %u\n", (ULONG)(ULONG_PTR)Context, Irql());
    return FALSE;
}

static BOOLEAN NTAPI Inside(PVOID Context)
{
    LOG("inside, irql %u, context %u\n", Irql(), (ULONG)(ULONG_PTR)Context);
    return TRUE;
}

static NTSTATUS Connect(void)
{
    IO_CONNECT_INTERRUPT_PARAMETERS params = {0};
    NTSTATUS status;

    params.Version = 3; /* CONNECT_MESSAGE_BASED */
    params.MessageBased.PhysicalDeviceObject = Physical;
    params.MessageBased.ConnectionContext.Generic = &Connection;
    params.MessageBased.MessageServiceRoutine = ByMessage;
    params.MessageBased.ServiceContext = (PVOID)5;
    params.MessageBased.FallBackServiceRoutine = ByLine;
    status = IoConnectInterruptEx(&params);
    Version = params.Version;
    LOG("connected: %x, version %u\n", status, Version);
    if (status >= 0 && Version == 2) {
        LOG("synchronised: %d, irql %u\n", KeSynchronizeExecution(Connection, Inside, (PVOID)4), Irql());
    }
    return status;
}

static void Disconnect(void)
{
    IO_DISCONNECT_INTERRUPT_PARAMETERS params = {0};

    if (Connection != NULL) {
        params.Version = Version;
        params.ConnectionContext.Generic = Connection;
        IoDisconnectInterruptEx(&params);
        Connection = NULL;
    }
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION place = IoGetCurrentIrpStackLocation(Irp);
    UCHAR minor = place->MinorFunction;
    NTSTATUS status;

    (void)Device;
    if (minor == 0) {
        ULONG *list = (ULONG *)place->Parameters.StartDevice.AllocatedResourcesTranslated;

        LOG("start: %u resources\n", list == NULL ? 0 : list[4]);
        if (list != NULL) {
            LOG("the first: %x, level %u, vector %x\n", list[5], list[6], list[7]);
        }
        if (list != NULL && Connect() < 0) {
            return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
        }
    }
#if BUG == 2
    if (minor == 0xD) { /* IRP_MN_FILTER_RESOURCE_REQUIREMENTS */
        ULONG *list = (ULONG *)Irp->IoStatus.Information;
        ULONG *copy = list == NULL ? NULL : ExAllocatePoolWithTag(PagedPool, list[0], TAG);

        LOG("filter: %u bytes\n", list == NULL ? 0 : list[0]);
        if (copy != NULL) {
            LOG("requires %u, type %u, vectors %x to %x\n", list[9], list[10] >> 8 & 0xFF, list[12], list[13]);
            RtlCopyMemory(copy, list, list[0]);
            ExFreePoolWithTag(list, 0);
            Irp->IoStatus.Information = (ULONG_PTR)copy;
        }
    }
#endif
#if BUG != 1
    if (minor == 2) {
        Disconnect();
    }
#else
    (void)Disconnect;
#endif
    Irp->IoStatus.Status = 0;
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(Lower, Irp);
    if (minor == 2) {
        IoDetachDevice(Lower);
        IoDeleteDevice(Own);
    }
    return status;
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
    KeInitializeDpc(&Later, Deferred, NULL);
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
    return 0;
}
