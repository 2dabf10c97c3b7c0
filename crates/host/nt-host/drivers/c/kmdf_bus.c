/* A bus driver: control requests add, remove and find child devices by number, and list them. With BUG 1 the addresses
   of its children are too large for the memory of the system. */

#include "framework.h"

/* Functions and structures that the kit has no types for. */
typedef ULONG64(NTAPI *ANY)();
#define ANY_WDF(name, ...) ((ANY)WdfFunctions_01033[name##TableIndex])(WdfDriverGlobals, ##__VA_ARGS__)

typedef struct {
    ULONG Size, IdentificationSize, AddressSize;
    PVOID CreateDevice, ScanForChildren, Callbacks[8];
} CHILD_LIST_CONFIG;

typedef struct {
    ULONG Size, Flags;
    PVOID Reserved[4];
} ITERATOR;

typedef struct {
    ULONG Size;
    PVOID Identification, Address;
    ULONG Status;
    PVOID Compare;
} RETRIEVE_INFO;

typedef struct {
    ULONG Size;
    ULONG Number;
} IDENTIFICATION;

#define CODE(function) (0x222000 + (function) * 4)

static NTSTATUS NTAPI ChildEntry(WDFDEVICE Device, ULONG Previous)
{
    IDENTIFICATION identification = {sizeof identification, 0};

    (void)Previous;
    ANY_WDF(WdfPdoRetrieveIdentificationDescription, Device, &identification);
    LOG("child %u starts\n", identification.Number);
    return 0;
}

static NTSTATUS NTAPI ChildExit(WDFDEVICE Device, ULONG Target)
{
    (void)Device;
    (void)Target;
    LOG("a child stops\n");
    return 0;
}

static VOID NTAPI ChildSurprise(WDFDEVICE Device)
{
    (void)Device;
    LOG("a child was pulled out\n");
}

static NTSTATUS NTAPI CreateChild(PVOID List, IDENTIFICATION *Identification, PWDFDEVICE_INIT Init)
{
    UNICODE_STRING text;
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks = {0};
    WDFDEVICE child, parent;
    NTSTATUS status;

    LOG("create %u\n", Identification->Number);
    if (Identification->Number == 99) {
        return STATUS_UNSUCCESSFUL_;
    }
    RtlInitUnicodeString(&text, L"CBUS\\Child");
    ANY_WDF(WdfPdoInitAssignDeviceID, Init, &text);
    ANY_WDF(WdfPdoInitAddHardwareID, Init, &text);
    RtlInitUnicodeString(&text, L"0");
    ANY_WDF(WdfPdoInitAssignInstanceID, Init, &text);
    callbacks.Size = sizeof callbacks;
    callbacks.EvtDeviceD0Entry = (PVOID)ChildEntry;
    callbacks.EvtDeviceD0Exit = (PVOID)ChildExit;
    callbacks.EvtDeviceSurpriseRemoval = (PVOID)ChildSurprise;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &callbacks);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &child);
    parent = (WDFDEVICE)ANY_WDF(WdfChildListGetDevice, List);
    if (status >= 0 && (WDFDEVICE)ANY_WDF(WdfPdoGetParent, child) != parent) {
        return STATUS_UNSUCCESSFUL_;
    }
    return status;
}

static VOID NTAPI Scan(PVOID List)
{
    IDENTIFICATION first = {sizeof first, 1};

    LOG("scan\n");
    ANY_WDF(WdfChildListBeginScan, List);
    ANY_WDF(WdfChildListAddOrUpdateChildDescriptionAsPresent, List, &first, NULL);
    ANY_WDF(WdfChildListEndScan, List);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDFDEVICE device = WDF(WDFIOQUEUEGETDEVICE, WdfIoQueueGetDevice, Queue);
    PVOID list = (PVOID)ANY_WDF(WdfFdoGetDefaultChildList, device);
    IDENTIFICATION identification = {sizeof identification, 0};
    RETRIEVE_INFO info = {sizeof info, &identification, NULL, 0, NULL};
    ITERATOR iterator = {sizeof iterator, 1, {0}};
    WDFDEVICE child;
    ULONG *number;
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST_;

    (void)Output;
    (void)Input;
    if (WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 4, (PVOID *)&number, NULL) >= 0) {
        identification.Number = *number;
    }
    switch (Code) {
    case CODE(0):
        status = (NTSTATUS)ANY_WDF(WdfChildListAddOrUpdateChildDescriptionAsPresent, list, &identification, NULL);
        break;
    case CODE(1):
        status = (NTSTATUS)ANY_WDF(WdfChildListUpdateChildDescriptionAsMissing, list, &identification);
        break;
    case CODE(2):
        ANY_WDF(WdfChildListBeginIteration, list, &iterator);
        while ((NTSTATUS)ANY_WDF(WdfChildListRetrieveNextDevice, list, &iterator, &child, &info) >= 0) {
            LOG("has %u, status %u\n", identification.Number, info.Status);
        }
        ANY_WDF(WdfChildListEndIteration, list, &iterator);
        status = 0;
        break;
    case CODE(3):
        child = (WDFDEVICE)ANY_WDF(WdfChildListRetrievePdo, list, &info);
        LOG("pdo %u, status %u\n", child != NULL, info.Status);
        status = 0;
        break;
    }
    Complete(Request, status, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    ULONG address = BUG == 1 ? 512 << 20 : 0;
    CHILD_LIST_CONFIG children = {sizeof children, sizeof(IDENTIFICATION), address, (PVOID)CreateChild, (PVOID)Scan, {0}};
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    ANY_WDF(WdfFdoInitSetDefaultChildListConfig, Init, &children, NULL);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    InitQueue(&queue, WdfIoQueueDispatchSequential, TRUE);
    queue.EvtIoDeviceControl = Control;
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
