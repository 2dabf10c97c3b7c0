/* A KMDF driver that creates objects with attributes that the framework refuses. A control request tries them all, and returns
   the status of each. */

#include "framework.h"

typedef struct {
    ULONG Values[8];
} MARK;
WDF_DECLARE_CONTEXT_TYPE(MARK)

static WDFDEVICE Device;
static ULONG Count;
static NTSTATUS Results[64];

static VOID NTAPI OnWork(WDFWORKITEM Item)
{
    (void)Item;
}

static VOID NTAPI OnDpc(WDFDPC Dpc)
{
    (void)Dpc;
}

static VOID NTAPI OnTimer(WDFTIMER Timer)
{
    (void)Timer;
}

static VOID NTAPI OnControl(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    (void)Queue, (void)Request, (void)Output, (void)Input, (void)Code;
}

/* Keeps a status, and deletes the object if there is one. */
static VOID Keep(NTSTATUS Status, WDFOBJECT *Object)
{
    Results[Count++] = Status;
    if (Status >= 0) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, *Object);
    }
}

static VOID WorkItem(WDF_OBJECT_ATTRIBUTES *Attributes, PFN_WDF_WORKITEM Function, BOOLEAN Serialized)
{
    WDF_WORKITEM_CONFIG config;
    WDFWORKITEM item = NULL;

    WDF_WORKITEM_CONFIG_INIT(&config, Function);
    config.AutomaticSerialization = Serialized;
    Keep(WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &config, Attributes, &item), (WDFOBJECT *)&item);
}

static VOID Dpc(WDF_OBJECT_ATTRIBUTES *Attributes)
{
    WDF_DPC_CONFIG config;
    WDFDPC dpc = NULL;

    WDF_DPC_CONFIG_INIT(&config, OnDpc);
    Keep(WDF(WDFDPCCREATE, WdfDpcCreate, &config, Attributes, &dpc), (WDFOBJECT *)&dpc);
}

static VOID Timer(WDF_OBJECT_ATTRIBUTES *Attributes, ULONG Period)
{
    WDF_TIMER_CONFIG config;
    WDFTIMER timer = NULL;

    WDF_TIMER_CONFIG_INIT(&config, OnTimer);
    config.Period = Period;
    Keep(WDF(WDFTIMERCREATE, WdfTimerCreate, &config, Attributes, &timer), (WDFOBJECT *)&timer);
}

static VOID General(WDF_OBJECT_ATTRIBUTES *Attributes)
{
    WDFOBJECT object = NULL;

    Keep(WDF(WDFOBJECTCREATE, WdfObjectCreate, Attributes, &object), (WDFOBJECT *)&object);
}

static WDF_OBJECT_ATTRIBUTES *With(WDF_OBJECT_ATTRIBUTES *Attributes, WDFOBJECT Parent)
{
    InitAttributes(Attributes, Parent);
    return Attributes;
}

static VOID Parents(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFOBJECT device = (WDFOBJECT)Device;
    WDFKEY key = NULL;

    WorkItem(NULL, OnWork, FALSE);
    WorkItem(With(&attributes, NULL), OnWork, FALSE);
    WorkItem(With(&attributes, (WDFOBJECT)WdfGetDriver()), OnWork, FALSE);
    WorkItem(With(&attributes, device), NULL, FALSE);
    WorkItem(With(&attributes, device), OnWork, FALSE);
    Dpc(NULL);
    Dpc(With(&attributes, device));
    Timer(NULL, 0);
    Timer(With(&attributes, (WDFOBJECT)WdfGetDriver()), 0);
    Timer(With(&attributes, device), 0);
    Timer(With(&attributes, device), 0x80000000);
    Keep(WDF(WDFDEVICEOPENREGISTRYKEY, WdfDeviceOpenRegistryKey, Device, PLUGPLAY_REGKEY_DEVICE, KEY_READ,
             With(&attributes, device), &key),
         (WDFOBJECT *)&key);
    Keep(WDF(WDFDEVICEOPENREGISTRYKEY, WdfDeviceOpenRegistryKey, Device, PLUGPLAY_REGKEY_DEVICE, KEY_READ, NULL, &key),
         (WDFOBJECT *)&key);
}

static VOID Constraints(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    WDFQUEUE queue = NULL;
    WDFOBJECT device = (WDFOBJECT)Device;

    With(&attributes, device)->ExecutionLevel = WdfExecutionLevelPassive;
    Timer(&attributes, 100);
    Timer(&attributes, 0);
    WorkItem(&attributes, OnWork, FALSE);
    General(&attributes);
    attributes.ExecutionLevel = (WDF_EXECUTION_LEVEL)7;
    General(&attributes);
    attributes.ExecutionLevel = (WDF_EXECUTION_LEVEL)0;
    General(&attributes);
    With(&attributes, device)->SynchronizationScope = WdfSynchronizationScopeQueue;
    General(&attributes);
    attributes.SynchronizationScope = WdfSynchronizationScopeNone;
    General(&attributes);
    attributes.SynchronizationScope = (WDF_SYNCHRONIZATION_SCOPE)9;
    General(&attributes);

    /* The callbacks of the queue run at DISPATCH_LEVEL, and those of the work item cannot. */
    With(&attributes, NULL)->SynchronizationScope = WdfSynchronizationScopeQueue;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchSequential);
    config.EvtIoDeviceControl = OnControl;
    Results[Count++] = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &config, &attributes, &queue);
    WorkItem(With(&attributes, (WDFOBJECT)queue), OnWork, TRUE);
    WorkItem(With(&attributes, (WDFOBJECT)queue), OnWork, FALSE);
}

static VOID Contexts(VOID)
{
    WDF_OBJECT_CONTEXT_TYPE_INFO type = *WDF_GET_CONTEXT_TYPE_INFO(MARK);
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFOBJECT object = NULL;

    With(&attributes, NULL)->ContextSizeOverride = 64;
    General(&attributes);
    attributes.ContextTypeInfo = WDF_GET_CONTEXT_TYPE_INFO(MARK);
    General(&attributes);
    attributes.ContextSizeOverride = sizeof(MARK) - 1;
    General(&attributes);
    attributes.ContextSizeOverride = 0;
    attributes.ContextTypeInfo = &type;
    type.ContextName = NULL;
    General(&attributes);
    type.ContextName = "MARK";
    type.Size = 7;
    General(&attributes);
    Keep(WDF(WDFOBJECTALLOCATECONTEXT, WdfObjectAllocateContext, (WDFOBJECT)Device, NULL, NULL), &object);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, MARK);
    attributes.ParentObject = (WDFOBJECT)Device;
    Keep(WDF(WDFOBJECTALLOCATECONTEXT, WdfObjectAllocateContext, (WDFOBJECT)Device, &attributes, NULL), &object);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS *results;
    NTSTATUS status = WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, sizeof(Results),
                          (PVOID *)&results, NULL);

    (void)Queue, (void)Output, (void)Input, (void)Code;
    if (status < 0) {
        Complete(Request, status, 0);
        return;
    }
    Parents();
    Constraints();
    Contexts();
    RtlCopyMemory(results, Results, Count * sizeof(NTSTATUS));
    Complete(Request, 0, Count * sizeof(NTSTATUS));
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;

    /* A device chooses no parent: the first attempt fails, and leaves the init structure as it was. */
    Results[Count++] = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, With(&attributes, (WDFOBJECT)Driver), &Device);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    return CreateControlQueue(Device, WdfIoQueueDispatchSequential, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
