/* A KMDF driver that logs its callbacks and their order: Plug and Play, power, files and objects. With BUG 1 to 4, one of
   the callbacks that start the device fails; with BUG 5, the driver refuses the removal; with BUG 7 its device does not wake
   up; with BUG 8 it reports that its device failed. */

#include "framework.h"

#define IOCTL_PING 0x222000
#define IOCTL_KEEP 0x222004
#define IOCTL_TREE 0x222008
#define IOCTL_REGISTRY 0x22200C
#define IOCTL_COLLECTION 0x222010
#define IOCTL_MEMORY 0x222014
#define IOCTL_KEEP_CANCELABLE 0x222018

#define FAILS_IF(bug) (BUG == (bug) ? STATUS_UNSUCCESSFUL : 0)

typedef struct {
    const char *Name;
} NAMED;

static const WDF_OBJECT_CONTEXT_TYPE_INFO NamedType = {
    sizeof(WDF_OBJECT_CONTEXT_TYPE_INFO), "NAMED", sizeof(NAMED), &NamedType, NULL,
};

static NAMED *Name(WDFOBJECT Object)
{
    return WDF(WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker, Object, &NamedType);
}

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    LOG("cleanup %s\n", Name(Object)->Name);
}

static VOID NTAPI Destroy(WDFOBJECT Object)
{
    LOG("destroy %s\n", Name(Object)->Name);
}

static void Named(WDF_OBJECT_ATTRIBUTES *Attributes, WDFOBJECT Parent)
{
    InitAttributes(Attributes, Parent);
    Attributes->EvtCleanupCallback = Cleanup;
    Attributes->EvtDestroyCallback = Destroy;
    Attributes->ContextTypeInfo = &NamedType;
}

static NTSTATUS CreateNamed(const char *Text, WDFOBJECT Parent, WDFOBJECT *Object)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;

    Named(&attributes, Parent);
    status = WDF(WDFOBJECTCREATE, WdfObjectCreate, &attributes, Object);
    if (status >= 0) {
        Name(*Object)->Name = Text;
    }
    return status;
}

static NTSTATUS NTAPI PrepareHardware(WDFDEVICE Device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    LOG("PrepareHardware %u\n", WDF(WDFCMRESOURCELISTGETCOUNT, WdfCmResourceListGetCount, Translated));
    return FAILS_IF(1);
}

static NTSTATUS NTAPI ReleaseHardware(WDFDEVICE Device, WDFCMRESLIST Translated)
{
    LOG("ReleaseHardware\n");
    return 0;
}

static NTSTATUS NTAPI D0Entry(WDFDEVICE Device, WDF_POWER_DEVICE_STATE From)
{
    LOG("D0Entry from %u\n", From);
    /* WdfPowerDeviceD3 is the state of a device that sleeps. */
    if (BUG == 7 && From == 4)
        return STATUS_UNSUCCESSFUL;
    return FAILS_IF(2);
}

static NTSTATUS NTAPI D0EntryPost(WDFDEVICE Device, WDF_POWER_DEVICE_STATE From)
{
    LOG("D0EntryPostInterruptsEnabled\n");
#if BUG == 8
    WDF(WDFDEVICESETFAILED, WdfDeviceSetFailed, Device, 1);
#endif
    return FAILS_IF(3);
}

static NTSTATUS NTAPI D0Exit(WDFDEVICE Device, WDF_POWER_DEVICE_STATE To)
{
    LOG("D0Exit to %u\n", To);
    return 0;
}

static NTSTATUS NTAPI D0ExitPre(WDFDEVICE Device, WDF_POWER_DEVICE_STATE To)
{
    LOG("D0ExitPreInterruptsDisabled\n");
    return 0;
}

static NTSTATUS NTAPI IoInit(WDFDEVICE Device)
{
    LOG("SelfManagedIoInit\n");
    return FAILS_IF(4);
}

static NTSTATUS NTAPI IoSuspend(WDFDEVICE Device)
{
    LOG("SelfManagedIoSuspend\n");
    return 0;
}

static NTSTATUS NTAPI IoRestart(WDFDEVICE Device)
{
    LOG("SelfManagedIoRestart\n");
    return 0;
}

static VOID NTAPI IoFlush(WDFDEVICE Device)
{
    LOG("SelfManagedIoFlush\n");
}

static VOID NTAPI IoCleanup(WDFDEVICE Device)
{
    LOG("SelfManagedIoCleanup\n");
}

static NTSTATUS NTAPI QueryRemove(WDFDEVICE Device)
{
    LOG("QueryRemove\n");
    return FAILS_IF(5);
}

static VOID NTAPI SurpriseRemoval(WDFDEVICE Device)
{
    LOG("SurpriseRemoval\n");
}

static VOID NTAPI FileCreate(WDFDEVICE Device, WDFREQUEST Request, WDFFILEOBJECT File)
{
    LOG("FileCreate\n");
    Name(File)->Name = "file";
    WDF(WDFREQUESTCOMPLETE, WdfRequestComplete, Request, 0);
}

static VOID NTAPI FileCleanup(WDFFILEOBJECT File)
{
    LOG("FileCleanup\n");
}

static VOID NTAPI FileClose(WDFFILEOBJECT File)
{
    LOG("FileClose\n");
}

static VOID NTAPI Stop(WDFQUEUE Queue, WDFREQUEST Request, ULONG Action)
{
    LOG("IoStop %x\n", Action);
    if (Action & WdfRequestStopActionPurge) {
        Complete(Request, STATUS_CANCELLED, 0);
    } else {
        WDF(WDFREQUESTSTOPACKNOWLEDGE, WdfRequestStopAcknowledge, Request, FALSE);
    }
}

static VOID NTAPI Cancel(WDFREQUEST Request)
{
    LOG("cancel\n");
    Complete(Request, STATUS_CANCELLED, 0);
}

static VOID NTAPI Resume(WDFQUEUE Queue, WDFREQUEST Request)
{
    LOG("IoResume\n");
    Complete(Request, 0, 0);
}

/* A parent with two children. The first one has a child and an additional reference. */
static NTSTATUS Tree(WDFDEVICE Device)
{
    WDFOBJECT parent, first, second, leaf;
    WDF_OBJECT_ATTRIBUTES attributes;
    NTSTATUS status = CreateNamed("parent", Device, &parent);

    if (status < 0) {
        return status;
    }
    status = CreateNamed("first", parent, &first);
    if (status >= 0) {
        status = CreateNamed("second", parent, &second);
    }
    if (status >= 0) {
        status = CreateNamed("leaf", first, &leaf);
    }
    if (status >= 0) {
        Named(&attributes, NULL);
        if (WDF(WDFOBJECTALLOCATECONTEXT, WdfObjectAllocateContext, first, &attributes, NULL) != 0x40000000) {
            status = STATUS_UNSUCCESSFUL;
        }
    }
    if (status >= 0) {
        WDF(WDFOBJECTREFERENCEACTUAL, WdfObjectReferenceActual, first, NULL, 0, NULL);
    }
    WDF(WDFOBJECTDELETE, WdfObjectDelete, parent);
    if (status >= 0) {
        LOG("deleted\n");
        WDF(WDFOBJECTDEREFERENCEACTUAL, WdfObjectDereferenceActual, first, NULL, 0, NULL);
    }
    return status;
}

static NTSTATUS Registry(void)
{
    UNICODE_STRING name;
    WDFKEY key;
    ULONG value = 0;
    NTSTATUS status = WDF(WDFDRIVEROPENPARAMETERSREGISTRYKEY, WdfDriverOpenParametersRegistryKey,
                          WdfDriverGlobals->Driver, 0x20019, NULL, &key);

    if (status < 0) {
        return status;
    }
    RtlInitUnicodeString(&name, L"Depth");
    status = WDF(WDFREGISTRYQUERYULONG, WdfRegistryQueryULong, key, &name, &value);
    LOG("Depth %x %u\n", status, value);
    if (status >= 0) {
        RtlInitUnicodeString(&name, L"Nothing");
        status = WDF(WDFREGISTRYQUERYULONG, WdfRegistryQueryULong, key, &name, &value);
        LOG("Nothing %x\n", status);
        status = WDF(WDFREGISTRYASSIGNULONG, WdfRegistryAssignULong, key, &name, 7);
    }
    if (status >= 0) {
        status = WDF(WDFREGISTRYQUERYULONG, WdfRegistryQueryULong, key, &name, &value);
        LOG("Nothing %x %u\n", status, value);
    }
    WDF(WDFREGISTRYCLOSE, WdfRegistryClose, key);
    return status;
}

static NTSTATUS Collection(WDFDEVICE Device)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFCOLLECTION collection;
    WDFOBJECT item;
    ULONG index;
    NTSTATUS status;

    InitAttributes(&attributes, Device);
    status = WDF(WDFCOLLECTIONCREATE, WdfCollectionCreate, &attributes, &collection);
    if (status < 0) {
        return status;
    }
    for (index = 0; index < 3 && status >= 0; index++) {
        status = CreateNamed(index == 0 ? "zero" : index == 1 ? "one" : "two", collection, &item);
        if (status >= 0) {
            status = WDF(WDFCOLLECTIONADD, WdfCollectionAdd, collection, item);
        }
    }
    if (status >= 0) {
        WDF(WDFCOLLECTIONREMOVEITEM, WdfCollectionRemoveItem, collection, 1);
        LOG("%u items, %s and %s\n", WDF(WDFCOLLECTIONGETCOUNT, WdfCollectionGetCount, collection),
            Name(WDF(WDFCOLLECTIONGETFIRSTITEM, WdfCollectionGetFirstItem, collection))->Name,
            Name(WDF(WDFCOLLECTIONGETLASTITEM, WdfCollectionGetLastItem, collection))->Name);
    }
    WDF(WDFOBJECTDELETE, WdfObjectDelete, collection);
    return status;
}

/* Allocations that are larger than all memory. They must fail, and a context that was not allocated has no callbacks. */
static NTSTATUS TooLarge(WDFLOOKASIDE Small)
{
    const size_t size = (size_t)1 << 40;
    const NTSTATUS none = STATUS_INSUFFICIENT_RESOURCES;
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFLOOKASIDE list;
    WDFMEMORY memory;
    PVOID context = NULL;
    NTSTATUS status;

    Named(&attributes, NULL);
    attributes.ContextSizeOverride = size;
    status = WDF(WDFOBJECTALLOCATECONTEXT, WdfObjectAllocateContext, Small, &attributes, &context);
    if (status != none || context != NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    if (WDF(WDFMEMORYCREATE, WdfMemoryCreate, NULL, NonPagedPoolNx, 'tseT', size, &memory, NULL) != none) {
        return STATUS_UNSUCCESSFUL;
    }
    status = WDF(WDFLOOKASIDELISTCREATE, WdfLookasideListCreate, NULL, size, NonPagedPoolNx, NULL, 'tseT', &list);
    if (status >= 0) {
        status = WDF(WDFMEMORYCREATEFROMLOOKASIDE, WdfMemoryCreateFromLookaside, list, &memory);
        WDF(WDFOBJECTDELETE, WdfObjectDelete, list);
        status = status == none ? 0 : STATUS_UNSUCCESSFUL;
    }
    return status;
}

/* Memory from a lookaside list, and the MDL of a request's input. */
static NTSTATUS Memory(WDFDEVICE Device, WDFREQUEST Request)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFLOOKASIDE list;
    WDFMEMORY memory;
    size_t size = 0;
    UCHAR *buffer;
    PVOID input;
    NTSTATUS status;
    PMDL mdl;

    InitAttributes(&attributes, Device);
    status = WDF(WDFLOOKASIDELISTCREATE, WdfLookasideListCreate, &attributes, 48, NonPagedPoolNx, NULL, 'tseT', &list);
    if (status < 0) {
        return status;
    }
    status = WDF(WDFMEMORYCREATEFROMLOOKASIDE, WdfMemoryCreateFromLookaside, list, &memory);
    if (status >= 0) {
        buffer = WDF(WDFMEMORYGETBUFFER, WdfMemoryGetBuffer, memory, &size);
        buffer[size - 1] = 1;
        WDF(WDFOBJECTDELETE, WdfObjectDelete, memory);
        status = WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 1, &input, NULL);
    }
    if (status >= 0) {
        status = WDF(WDFREQUESTRETRIEVEINPUTWDMMDL, WdfRequestRetrieveInputWdmMdl, Request, &mdl);
    }
    if (status >= 0) {
        LOG("%u bytes, %u described, %s\n", (ULONG)size, mdl->ByteCount, mdl->MappedSystemVa == input ? "there" : "elsewhere");
    }
    if (status >= 0) {
        status = TooLarge(list);
    }
    WDF(WDFOBJECTDELETE, WdfObjectDelete, list);
    return status;
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDFDEVICE device = WDF(WDFIOQUEUEGETDEVICE, WdfIoQueueGetDevice, Queue);
    NTSTATUS status = 0;

    switch (Code) {
    case IOCTL_KEEP:
        LOG("keeps a request\n");
        return;
    case IOCTL_KEEP_CANCELABLE:
        WDF(WDFREQUESTMARKCANCELABLE, WdfRequestMarkCancelable, Request, Cancel);
        return;
    case IOCTL_PING:
        LOG("request of %s\n", Name(WDF(WDFREQUESTGETFILEOBJECT, WdfRequestGetFileObject, Request))->Name);
        break;
    case IOCTL_TREE:
        status = Tree(device);
        break;
    case IOCTL_REGISTRY:
        status = Registry();
        break;
    case IOCTL_COLLECTION:
        status = Collection(device);
        break;
    case IOCTL_MEMORY:
        status = Memory(device, Request);
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    Complete(Request, status, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS events = {0};
    WDF_FILEOBJECT_CONFIG files = {0};
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status;

    LOG("DeviceAdd\n");
    events.Size = sizeof(events);
    events.EvtDevicePrepareHardware = PrepareHardware;
    events.EvtDeviceReleaseHardware = ReleaseHardware;
    events.EvtDeviceD0Entry = D0Entry;
    events.EvtDeviceD0EntryPostInterruptsEnabled = D0EntryPost;
    events.EvtDeviceD0Exit = D0Exit;
    events.EvtDeviceD0ExitPreInterruptsDisabled = D0ExitPre;
    events.EvtDeviceSelfManagedIoInit = IoInit;
    events.EvtDeviceSelfManagedIoSuspend = IoSuspend;
    events.EvtDeviceSelfManagedIoRestart = IoRestart;
    events.EvtDeviceSelfManagedIoFlush = IoFlush;
    events.EvtDeviceSelfManagedIoCleanup = IoCleanup;
    events.EvtDeviceQueryRemove = QueryRemove;
    events.EvtDeviceSurpriseRemoval = SurpriseRemoval;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &events);
    files.Size = sizeof(files);
    files.EvtDeviceFileCreate = FileCreate;
    files.EvtFileCleanup = FileCleanup;
    files.EvtFileClose = FileClose;
    files.AutoForwardCleanupClose = WdfUseDefault;
    files.FileObjectClass = WdfFileObjectWdfCannotUseFsContexts;
    InitAttributes(&attributes, NULL);
    attributes.EvtCleanupCallback = Cleanup;
    attributes.ContextTypeInfo = &NamedType;
    WDF(WDFDEVICEINITSETFILEOBJECTCONFIG, WdfDeviceInitSetFileObjectConfig, Init, &files, &attributes);
    Named(&attributes, NULL);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, &attributes, &device);
    if (status < 0) {
        return status;
    }
    Name(device)->Name = "device";
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = Control;
    queue.EvtIoStop = Stop;
    queue.EvtIoResume = Resume;
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
