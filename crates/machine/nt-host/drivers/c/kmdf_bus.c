/* A bus driver: control requests add, remove and find child devices by number, list them, look up their addresses, ask
   the bus or its first child for interfaces, and read the names of device interfaces. With BUG 1 the addresses of the children are too large for the memory of the system. */

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

typedef struct {
    ULONG Size;
    ULONG Slot;
} ADDRESS;

#define CODE(function) (0x222000 + (function) * 4)
/* The number of a child that refuses to be removed. */
#define STAYS 42

/* The interfaces of this driver, and their types: ONE_WAY is offered by the bus, and also by its children, which pass
   queries to the bus. TWO_WAY is offered by the children. */
typedef struct {
    INTERFACE Header;
    ULONG Number;
} OWN;

enum { ONE_WAY = 1, TWO_WAY = 2 };
static const GUID Types[] = {{0}, {ONE_WAY}, {TWO_WAY}, {3}};
static WDFDEVICE FirstChild;

static VOID NTAPI Reference(PVOID Context)
{
    LOG("reference, context %u\n", (ULONG)(ULONG_PTR)Context);
}

/* Returns the number of the asking driver plus one. Refuses 99, and leaves 98 to others. */
static NTSTATUS NTAPI Process(WDFDEVICE Device, LPGUID Type, PINTERFACE Exposed, PVOID Data)
{
    OWN *own = (OWN *)Exposed;

    LOG("process: child %d, type %u, number %u, data %u\n", Device == FirstChild, Type->Data1, own->Number,
        (ULONG)(ULONG_PTR)Data);
    if (own->Number >= 98) {
        return own->Number == 98 ? STATUS_NOT_SUPPORTED : STATUS_UNSUCCESSFUL;
    }
    own->Number++;
    return 0;
}

static NTSTATUS Offer(WDFDEVICE Device, ULONG Type, OWN *Interface, BOOLEAN ToParent, BOOLEAN Import)
{
    WDF_QUERY_INTERFACE_CONFIG config = {0};

    config.Size = sizeof config;
    config.Interface = (PINTERFACE)Interface;
    config.InterfaceType = &Types[Type];
    config.SendQueryToParentStack = ToParent;
    config.ImportInterface = Import;
    config.EvtDeviceProcessQueryInterfaceRequest = Type == TWO_WAY ? (PVOID)Process : NULL;
    return WDF(WDFDEVICEADDQUERYINTERFACE, WdfDeviceAddQueryInterface, Device, &config);
}

/* What a control request asks for. */
typedef struct {
    ULONG OfChild, Type, Size, Version, Number;
} QUESTION;

static NTSTATUS Ask(WDFDEVICE Device, const QUESTION *Question)
{
    WDF_IO_TARGET_OPEN_PARAMS params = {0};
    OWN found = {{0}, Question->Number};
    WDFIOTARGET target;
    NTSTATUS status;

    if (!Question->OfChild) {
        status = WDF(WDFFDOQUERYFORINTERFACE, WdfFdoQueryForInterface, Device, &Types[Question->Type], &found.Header,
                     Question->Size, Question->Version, (PVOID)6);
    } else {
        status = WDF(WDFIOTARGETCREATE, WdfIoTargetCreate, Device, NULL, &target);
        if (status < 0) {
            return status;
        }
        params.Size = sizeof params;
        params.Type = WdfIoTargetOpenUseExistingDevice;
        params.TargetDeviceObject = WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, FirstChild);
        status = WDF(WDFIOTARGETOPEN, WdfIoTargetOpen, target, &params);
        if (status >= 0) {
            status = WDF(WDFIOTARGETQUERYFORINTERFACE, WdfIoTargetQueryForInterface, target, &Types[Question->Type],
                         &found.Header, Question->Size, Question->Version, (PVOID)6);
        }
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)target);
    }
    LOG("interface: %u bytes, number %u\n", found.Header.Size, found.Number);
    return status;
}

/* Returns the status of reading the name of a device interface. */
static NTSTATUS Name(WDFDEVICE Device, ULONG Class, PCWSTR Reference)
{
    UNICODE_STRING reference;
    PVOID string;
    NTSTATUS status = (NTSTATUS)ANY_WDF(WdfStringCreate, NULL, NULL, &string);

    if (status < 0) {
        return status;
    }
    RtlInitUnicodeString(&reference, Reference);
    status = (NTSTATUS)ANY_WDF(WdfDeviceRetrieveDeviceInterfaceString, Device, &Types[Class], Reference ? &reference : NULL, string);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)string);
    return status;
}

/* A child that was reported as missing, with a reference. */
static WDFDEVICE Missing;

/* Reports the device of a child as missing. Without one: the child that was reported before, or the bus. */
static NTSTATUS MarkMissing(WDFDEVICE Bus, WDFDEVICE Child)
{
    WDFDEVICE device = Child ? Child : Missing ? Missing : Bus;
    NTSTATUS status;

    if (Child) {
        WDF(WDFOBJECTREFERENCEACTUAL, WdfObjectReferenceActual, Child, NULL, 0, NULL);
    }
    status = (NTSTATUS)ANY_WDF(WdfPdoMarkMissing, device);
    if (device == Missing) {
        WDF(WDFOBJECTDEREFERENCEACTUAL, WdfObjectDereferenceActual, device, NULL, 0, NULL);
    }
    Missing = Child;
    return status;
}

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

static NTSTATUS NTAPI ChildQueryRemove(WDFDEVICE Device)
{
    IDENTIFICATION identification = {sizeof identification, 0};

    ANY_WDF(WdfPdoRetrieveIdentificationDescription, Device, &identification);
    LOG("child %u is asked\n", identification.Number);
    return identification.Number == STAYS ? STATUS_UNSUCCESSFUL : 0;
}

static NTSTATUS NTAPI CreateChild(PVOID List, IDENTIFICATION *Identification, PWDFDEVICE_INIT Init)
{
    UNICODE_STRING text;
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks = {0};
    WDFDEVICE child, parent;
    NTSTATUS status;

    LOG("create %u\n", Identification->Number);
    if (Identification->Number == 99) {
        return STATUS_UNSUCCESSFUL;
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
    callbacks.EvtDeviceQueryRemove = ChildQueryRemove;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &callbacks);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &child);
    parent = (WDFDEVICE)ANY_WDF(WdfChildListGetDevice, List);
    if (status >= 0 && (WDFDEVICE)ANY_WDF(WdfPdoGetParent, child) != parent) {
        return STATUS_UNSUCCESSFUL;
    }
    if (status >= 0 && Identification->Number == 1) {
        FirstChild = child;
        /* Windows does not know the child yet, so its interface has no name. */
        status = (NTSTATUS)ANY_WDF(WdfDeviceCreateDeviceInterface, child, &Types[ONE_WAY], NULL);
        if (status < 0 || Name(child, ONE_WAY, NULL) != STATUS_INVALID_DEVICE_STATE) {
            return STATUS_UNSUCCESSFUL;
        }
        /* A two-way interface without a callback is refused. */
        if (Offer(child, ONE_WAY, NULL, FALSE, TRUE) != STATUS_INVALID_PARAMETER) {
            return STATUS_UNSUCCESSFUL;
        }
        status = Offer(child, ONE_WAY, NULL, TRUE, FALSE);
        return status < 0 ? status : Offer(child, TWO_WAY, NULL, FALSE, TRUE);
    }
    return status;
}

static VOID NTAPI Scan(PVOID List)
{
    IDENTIFICATION first = {sizeof first, 1};
    ADDRESS address = {sizeof address, 101};

    LOG("scan\n");
    ANY_WDF(WdfChildListBeginScan, List);
    ANY_WDF(WdfChildListAddOrUpdateChildDescriptionAsPresent, List, &first, BUG == 1 ? NULL : &address);
    ANY_WDF(WdfChildListEndScan, List);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDFDEVICE device = WDF(WDFIOQUEUEGETDEVICE, WdfIoQueueGetDevice, Queue);
    PVOID list = (PVOID)ANY_WDF(WdfFdoGetDefaultChildList, device);
    IDENTIFICATION identification = {sizeof identification, 0};
    ADDRESS address = {sizeof address, 0};
    RETRIEVE_INFO info = {sizeof info, &identification, NULL, 0, NULL};
    ITERATOR iterator = {sizeof iterator, 1, {0}};
    WDFDEVICE child;
    ULONG *number;
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST;

    (void)Output;
    (void)Input;
    if (WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 4, (PVOID *)&number, NULL) >= 0) {
        identification.Number = *number;
    }
    switch (Code) {
    case CODE(0):
        address.Slot = identification.Number + 100;
        status = (NTSTATUS)ANY_WDF(WdfChildListAddOrUpdateChildDescriptionAsPresent, list, &identification,
                                   BUG == 1 ? NULL : &address);
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
    case CODE(4):
        status = Ask(device, (QUESTION *)number);
        break;
    case CODE(5):
        status = MarkMissing(device, (WDFDEVICE)ANY_WDF(WdfChildListRetrievePdo, list, &info));
        break;
    case CODE(6):
        LOG("names: %x %x %x %x %x\n", Name(device, ONE_WAY, NULL), Name(device, TWO_WAY, L"second"),
            Name(device, TWO_WAY, NULL), Name(device, TWO_WAY, L"third"), Name(FirstChild, ONE_WAY, NULL));
        status = 0;
        break;
    case CODE(7):
        /* The framework compares the size with that of the list. */
        address.Size = identification.Number == 0 ? 4 : sizeof address;
        status = (NTSTATUS)ANY_WDF(WdfChildListRetrieveAddressDescription, list, &identification, &address);
        if (status >= 0) {
            LOG("slot %u\n", address.Slot);
        }
        break;
    }
    Complete(Request, status, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    ULONG address = BUG == 1 ? 512 << 20 : sizeof(ADDRESS);
    CHILD_LIST_CONFIG children = {sizeof children, sizeof(IDENTIFICATION), address, (PVOID)CreateChild, (PVOID)Scan, {0}};
    OWN own = {{sizeof own, 2, (PVOID)5, Reference, Reference}, 7};
    UNICODE_STRING second;
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    ANY_WDF(WdfFdoInitSetDefaultChildListConfig, Init, &children, NULL);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    RtlInitUnicodeString(&second, L"second");
    ANY_WDF(WdfDeviceCreateDeviceInterface, device, &Types[ONE_WAY], NULL);
    ANY_WDF(WdfDeviceCreateDeviceInterface, device, &Types[TWO_WAY], &second);
    /* Only a child has a parent to which queries could be passed. */
    if (Offer(device, ONE_WAY, &own, TRUE, FALSE) != STATUS_INVALID_PARAMETER) {
        return STATUS_UNSUCCESSFUL;
    }
    status = Offer(device, ONE_WAY, &own, FALSE, FALSE);
    if (status < 0) {
        return status;
    }
    return CreateControlQueue(device, WdfIoQueueDispatchSequential, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
