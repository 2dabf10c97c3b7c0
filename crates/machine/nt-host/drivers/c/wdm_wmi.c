/* A WDM driver that passes WMI IRPs to the WMI library. BUG 1 has a name that needs a larger buffer. With BUG 2 and 3 it
   handles the query for its registration itself; BUG 3 forgets the reference to the physical device. */

#include "plain.h"

typedef struct {
    const GUID *Guid;
    ULONG InstanceCount, Flags;
} GUID_INFO;

typedef struct {
    ULONG GuidCount;
    GUID_INFO *GuidList;
    PVOID QueryWmiRegInfo, QueryWmiDataBlock, SetWmiDataBlock, SetWmiDataItem, ExecuteWmiMethod, WmiFunctionControl;
} CONTEXT_INFO;

NTSTATUS NTAPI WmiSystemControl(CONTEXT_INFO *Context, PDEVICE_OBJECT Device, PIRP Irp, ULONG *Disposition);
NTSTATUS NTAPI WmiCompleteRequest(PDEVICE_OBJECT Device, PIRP Irp, NTSTATUS Status, ULONG Used, CHAR Boost);
NTSTATUS NTAPI WmiFireEvent(PDEVICE_OBJECT Device, const GUID *Guid, ULONG Instance, ULONG Size, PVOID Data);

static const GUID Block = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
static WCHAR PathBuffer[256];
static UNICODE_STRING RegistryPath = {0, sizeof PathBuffer, PathBuffer};
static PDEVICE_OBJECT Physical, Lower, Own;
static ULONG Value = 5;

static NTSTATUS NTAPI RegInfo(PDEVICE_OBJECT Device, ULONG *Flags, PUNICODE_STRING Name, PUNICODE_STRING *Path,
                              PUNICODE_STRING Resource, PDEVICE_OBJECT *Bus)
{
    (void)Device, (void)Name;
    LOG("registration\n");
#if BUG == 1
    static WCHAR text[3000];

    Resource->Length = Resource->MaximumLength = sizeof(text);
    Resource->Buffer = text;
#else
    (void)Resource;
#endif
    *Flags = 0x20; /* WMIREG_FLAG_INSTANCE_PDO */
    *Path = &RegistryPath;
    *Bus = Physical;
    return 0;
}

static NTSTATUS NTAPI Query(PDEVICE_OBJECT Device, PIRP Irp, ULONG Guid, ULONG Instance, ULONG Count, ULONG *Lengths,
                            ULONG Room, UCHAR *Buffer)
{
    LOG("query %u.%u, %u, room %u\n", Guid, Instance, Count, Room);
    if (Room < sizeof(Value)) {
        return WmiCompleteRequest(Device, Irp, STATUS_BUFFER_TOO_SMALL, sizeof(Value), 0);
    }
    *(ULONG *)Buffer = Value;
    *Lengths = sizeof(Value);
    return WmiCompleteRequest(Device, Irp, 0, sizeof(Value), 0);
}

static NTSTATUS NTAPI Set(PDEVICE_OBJECT Device, PIRP Irp, ULONG Guid, ULONG Instance, ULONG Size, UCHAR *Buffer)
{
    LOG("set %u.%u, %u bytes\n", Guid, Instance, Size);
    Value = *(ULONG *)Buffer;
    return WmiCompleteRequest(Device, Irp, 0, 0, 0);
}

static NTSTATUS NTAPI Method(PDEVICE_OBJECT Device, PIRP Irp, ULONG Guid, ULONG Instance, ULONG Id, ULONG Input,
                             ULONG Output, UCHAR *Buffer)
{
    PVOID event = ExAllocatePool2(POOL_FLAG_NON_PAGED, 4, TAG);

    LOG("method %u.%u.%u, %u in, %u out\n", Guid, Instance, Id, Input, Output);
    if (event != NULL) {
        WmiFireEvent(Device, &Block, 0, 4, event);
    }
    Buffer[0] += 1;
    return WmiCompleteRequest(Device, Irp, 0, 1, 0);
}

static NTSTATUS NTAPI Switch(PDEVICE_OBJECT Device, PIRP Irp, ULONG Guid, ULONG Function, BOOLEAN On)
{
    LOG("control %u, function %u, %u\n", Guid, Function, On);
    return WmiCompleteRequest(Device, Irp, 0, 0, 0);
}

static GUID_INFO List[] = {{&Block, 1, 0}};
static CONTEXT_INFO Context = {1, List, RegInfo, Query, Set, NULL, Method, Switch};

/* Completes IRP_MN_REGINFO_EX: a large buffer is needed for one GUID. */
static NTSTATUS Register(PIRP Irp)
{
    ULONG_PTR *parameters = (ULONG_PTR *)&IoGetCurrentIrpStackLocation(Irp)->Parameters;
    ULONG size = (ULONG)parameters[2], *info = (ULONG *)parameters[3];

    LOG("size %u, path %u\n", size, (ULONG)parameters[1]);
    if (size < 5000) {
        info[0] = 5000;
        return Finish(Irp, 0, sizeof(ULONG));
    }
    info[0] = 5000;                       /* BufferSize */
    info[4] = 1;                          /* GuidCount */
    *(GUID *)(info + 6) = Block;
    info[10] = 0x20;                      /* Flags: WMIREG_FLAG_INSTANCE_PDO */
    info[11] = 1;                         /* InstanceCount */
    *(PDEVICE_OBJECT *)(info + 12) = Physical;
#if BUG != 3
    ObfReferenceObject(Physical); /* WMI releases it */
#endif
    return Finish(Irp, 0, 5000);
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG disposition = 9, flags;
    NTSTATUS status;

    if (BUG >= 2 && IoGetCurrentIrpStackLocation(Irp)->MinorFunction == 0xB) { /* IRP_MN_REGINFO_EX */
        return Register(Irp);
    }
    if (IoGetCurrentIrpStackLocation(Irp)->MinorFunction == 1) { /* IRP_MN_QUERY_SINGLE_INSTANCE */
        flags = (*(ULONG **)((ULONG_PTR *)&IoGetCurrentIrpStackLocation(Irp)->Parameters + 3))[11];
        LOG("node %x\n", flags);
    }
    status = WmiSystemControl(&Context, Device, Irp, &disposition);
    if (disposition == 1) { /* IrpNotCompleted */
        IofCompleteRequest(Irp, 0);
    } else if (disposition != 0) {
        IoSkipCurrentIrpStackLocation(Irp);
        status = IofCallDriver(Lower, Irp);
    }
    return status;
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status;

    if (minor == 0) {
        IoWMIRegistrationControl(Device, 1);
    } else if (minor == 2) {
        IoWMIRegistrationControl(Device, 2);
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
    RtlCopyUnicodeString(&RegistryPath, Path);
    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    Driver->MajorFunction[IRP_MJ_SYSTEM_CONTROL] = Control;
    return 0;
}
