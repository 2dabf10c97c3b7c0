/* The function driver of a PCI device: reads and writes its configuration space in each way that there is. */
#include "plain.h"
#include <initguid.h>
#include <wdmguid.h>

#define IRP_MN_READ_CONFIG_ 0x0F
#define IRP_MN_WRITE_CONFIG_ 0x10

typedef struct {
    PDEVICE_OBJECT Lower, Physical;
} EXTENSION;

static NTSTATUS Send(EXTENSION *Extension, UCHAR Minor, PVOID First, PVOID Second, ULONG_PTR Third, ULONG_PTR Fourth, ULONG_PTR *Information)
{
    KEVENT event;
    IO_STATUS_BLOCK block = {0};
    PIRP irp;
    PIO_STACK_LOCATION next;

    KeInitializeEvent(&event, NotificationEvent, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, Extension->Lower, NULL, 0, NULL, &event, &block);
    if (irp == NULL)
        return STATUS_INSUFFICIENT_RESOURCES;
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    next = IoGetCurrentIrpStackLocation(irp) - 1;
    next->MinorFunction = Minor;
    next->Parameters.Others.Argument1 = First;
    next->Parameters.Others.Argument2 = Second;
    next->Parameters.Others.Argument3 = (PVOID)Third;
    next->Parameters.Others.Argument4 = (PVOID)Fourth;
    if (IofCallDriver(Extension->Lower, irp) == STATUS_PENDING)
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
    *Information = block.Information;
    return block.Status;
}

static NTSTATUS Explore(EXTENSION *Extension)
{
    BUS_INTERFACE_STANDARD bus = {0};
    ULONG id = 0, command = 7, back = 0, end = 0, count;
    WCHAR name[128] = {0};
    ULONG_PTR information = 0;
    NTSTATUS status;

    status = Send(Extension, IRP_MN_QUERY_INTERFACE, (PVOID)&GUID_BUS_INTERFACE_STANDARD,
                  (PVOID)(ULONG_PTR)(sizeof(bus) | 1 << 16), (ULONG_PTR)&bus, 0, &information);
    LOG("interface: %08x\n", status);
    if (status < 0)
        return status;
    bus.InterfaceReference(bus.Context);
    count = bus.GetBusData(bus.Context, 0, &id, 0, sizeof(id));
    LOG("identifier %08x, %u bytes\n", id, count);
    count = bus.SetBusData(bus.Context, 0, &command, 4, 2);
    bus.GetBusData(bus.Context, 0, &back, 4, 4);
    LOG("command %x, %u bytes; end %u\n", back, count, bus.GetBusData(bus.Context, 0, &end, 0xFFE, 4));
    bus.InterfaceDereference(bus.Context);
#if BUG != 1
    /* The reference that comes with the interface. */
    bus.InterfaceDereference(bus.Context);
#endif

    command = 0x40;
    status = Send(Extension, IRP_MN_WRITE_CONFIG_, NULL, &command, 0x3C, 1, &information);
    LOG("write: %08x, %u bytes\n", status, (ULONG)information);
    status = Send(Extension, IRP_MN_READ_CONFIG_, NULL, &back, 0x3C, 4, &information);
    LOG("read: %08x, %u bytes, %x\n", status, (ULONG)information, back);
    status = Send(Extension, IRP_MN_READ_CONFIG_, NULL, &back, 0x1000, 4, &information);
    LOG("beyond: %08x\n", status);

    count = HalGetBusDataByOffset(PCIConfiguration, 0, 0, &id, 0, 4);
    LOG("bus data: %08x, %u bytes; other slot: %u bytes\n", id, count, HalGetBusDataByOffset(PCIConfiguration, 0, 1, &end, 0, 4));
    if (IoGetDeviceProperty(Extension->Physical, DevicePropertyHardwareID, sizeof(name), name, &count) >= 0)
        LOG("hardware %ws\n", name);
    if (IoGetDeviceProperty(Extension->Physical, DevicePropertyClassName, sizeof(name), name, &count) >= 0)
        LOG("class %ws, %u bytes\n", name, count);
    return 0;
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Device->DeviceExtension;
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status;

    if (minor == IRP_MN_START_DEVICE && Explore(extension) < 0)
        return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
    Irp->IoStatus.Status = 0;
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(extension->Lower, Irp);
    if (minor == IRP_MN_REMOVE_DEVICE) {
        IoDetachDevice(extension->Lower);
        IoDeleteDevice(Device);
    }
    return status;
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    PDEVICE_OBJECT device;
    EXTENSION *extension;
    NTSTATUS status = IoCreateDevice(Driver, sizeof(EXTENSION), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    if (status < 0)
        return status;
    extension = device->DeviceExtension;
    extension->Physical = Physical;
    extension->Lower = IoAttachDeviceToDeviceStack(device, Physical);
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    return 0;
}
