/* A KMDF driver that breaks Microsoft's rules about init structures, control devices, children and power policy. */

#include "kmdf_rules.h"

typedef struct {
    ULONG Size, IdentificationSize, AddressSize;
    PVOID CreateDevice, ScanForChildren, Callbacks[8];
} CHILD_LIST_CONFIG;

typedef struct {
    ULONG Size;
    ULONG Number;
} IDENTIFICATION;

static PDRIVER_OBJECT DriverObject;
static PUNICODE_STRING RegistryPath;
static WDFDEVICE ControlDevice;

static WDFDEVICE Device(PWDFDEVICE_INIT *Init, PVOID Cleanup)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFDEVICE device = NULL;

    InitAttributes(&attributes, NULL);
    attributes.EvtCleanupCallback = Cleanup;
    FX(WdfDeviceCreate, Init, &attributes, &device);
    return device;
}

static void Delete(WDFDEVICE Object)
{
    if (Object != NULL) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Object);
    }
}

static PWDFDEVICE_INIT NewInit(WDFDEVICE Parent)
{
    static UNICODE_STRING everyone = {16, 18, L"D:P(A;;)"};

    if (Parent != NULL) {
        return (PWDFDEVICE_INIT)FX(WdfPdoInitAllocate, Parent);
    }
    return (PWDFDEVICE_INIT)FX(WdfControlDeviceInitAllocate, WdfDriverGlobals->Driver, &everyone);
}

/* Calls a function that the test lets fail. */
static NTSTATUS Name(PWDFDEVICE_INIT Init, WDFDEVICE Parent)
{
    UNICODE_STRING text;

    RtlInitUnicodeString(&text, Parent == NULL ? L"\\Device\\Rules" : L"RULES\\CHILD");
    if (Parent == NULL) {
        return (NTSTATUS)FX(WdfDeviceInitAssignName, Init, &text);
    }
    return (NTSTATUS)FX(WdfPdoInitAssignDeviceID, Init, &text);
}

/* The rules about the init structures of control devices, and of children if there is a parent. */
static void Inits(WDFDEVICE Parent, PCWSTR Callback, PCWSTR Create, PCWSTR Type2, PCWSTR Type4, PCWSTR Api)
{
    PWDFDEVICE_INIT init, copy;

    if (!Is(Callback) && !Is(Create) && !Is(Type2) && !Is(Type4) && !Is(Api)) {
        return;
    }
    init = copy = NewInit(Parent);
    if (init == NULL) {
        return;
    }
    if (Is(Callback)) {
        if (Name(init, Parent) >= 0 || !Broken) {
            FX(WdfDeviceInitFree, init);
        }
        return;
    }
    if (Is(Create) && Name(init, Parent) < 0 && !Broken) {
        FX(WdfDeviceInitFree, init);
        return;
    }
    if (Is(Type2)) {
        FX(WdfDeviceInitFree, init);
        if (!Broken) {
            return;
        }
    }
    if (Is(Api) && !Broken) {
        FX(WdfDeviceInitSetExclusive, init, TRUE);
    }
    ControlDevice = Device(&init, NULL);
    if (ControlDevice == NULL && (!Is(Type4) || !Broken)) {
        FX(WdfDeviceInitFree, init);
    }
    if (Is(Api) && Broken) {
        FX(WdfDeviceInitSetExclusive, copy, TRUE);
    }
    Delete(ControlDevice);
    ControlDevice = NULL;
}

static NTSTATUS NTAPI CreateChild(PVOID List, PVOID Identification, PWDFDEVICE_INIT Init)
{
    PWDFDEVICE_INIT copy = Init;
    WDFDEVICE child;
    PVOID key = NULL;

    if (Is(L"ChildDeviceInitApi") && !Broken) {
        FX(WdfDeviceInitSetExclusive, Init, FALSE);
    }
    child = Device(&Init, NULL);
    if (child == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    if (Is(L"ChildDeviceInitApi") && Broken) {
        FX(WdfDeviceInitSetExclusive, copy, FALSE);
    }
    if (Is(L"AccessHardwareKey") && Broken && (NTSTATUS)FX(WdfDeviceOpenRegistryKey, child, 1, 0x20019, NULL, &key) >= 0) {
        FX(WdfRegistryClose, key);
    }
    return 0;
}

static VOID NTAPI Scan(PVOID List)
{
    IDENTIFICATION first = {sizeof(first), 1};

    FX(WdfChildListBeginScan, List);
    FX(WdfChildListAddOrUpdateChildDescriptionAsPresent, List, &first, NULL);
    FX(WdfChildListEndScan, List);
}

static void SetChildList(PWDFDEVICE_INIT Init)
{
    CHILD_LIST_CONFIG children = {sizeof(children), sizeof(IDENTIFICATION), 0, (PVOID)CreateChild, (PVOID)Scan, {0}};

    FX(WdfFdoInitSetDefaultChildListConfig, Init, &children, NULL);
}

/* The cleanup callback of the device on the physical device. */
static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    if (!(Is(L"ControlDeviceDeleted") && Broken)) {
        Delete(ControlDevice);
        ControlDevice = NULL;
    }
}

/* Creates a control device that lives as long as the other one. */
static void NewControlDevice(BOOLEAN Finish)
{
    PWDFDEVICE_INIT init = NewInit(NULL);

    if (init != NULL) {
        ControlDevice = Device(&init, NULL);
        if (ControlDevice == NULL) {
            FX(WdfDeviceInitFree, init);
        } else if (Finish) {
            FX(WdfControlFinishInitializing, ControlDevice);
        }
    }
}

static void IdleSettings(WDFDEVICE For)
{
    WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS settings = {0};

    settings.Size = sizeof(settings);
    FX(WdfDeviceAssignS0IdleSettings, For, &settings);
}

static void BeforeCreate(PWDFDEVICE_INIT Init)
{
    static ULONG callbacks[16] = {sizeof(callbacks)};

    if (Is(L"ChildDeviceInitApi") || Is(L"AccessHardwareKey") || (Is(L"ChildListConfiguration") && !Broken)) {
        SetChildList(Init);
    }
    if (Is(L"DeviceInitAPI") && !Broken) {
        FX(WdfDeviceInitSetExclusive, Init, FALSE);
    }
    if (Is(L"NonFDONotPowerPolicyOwnerAPI")) {
        FX(WdfFdoInitSetFilter, Init);
        FX(WdfDeviceInitSetPowerPolicyOwnership, Init, !Broken);
    }
    if (Is(L"FDOPowerPolicyOwnerAPI")) {
        FX(WdfDeviceInitSetPowerPolicyOwnership, Init, !Broken);
        FX(WdfDeviceInitSetPowerPolicyEventCallbacks, Init, callbacks);
    }
}

static void AfterCreate(PWDFDEVICE_INIT Init, PWDFDEVICE_INIT Copy, WDFDEVICE Added)
{
    PDEVICE_OBJECT plain = NULL;

    if (Is(L"DeviceInitAPI") && Broken) {
        FX(WdfDeviceInitSetExclusive, Copy, FALSE);
    }
    if (Is(L"InitFreeNull") && Broken) {
        FX(WdfDeviceInitSetExclusive, Init, FALSE);
    }
    if (Is(L"ChildListConfiguration") && Broken) {
        SetChildList(Copy);
    }
    if (Is(L"NonFDONotPowerPolicyOwnerAPI")) {
        IdleSettings(Added);
    }
    if (Is(L"ControlDeviceInitAllocate")) {
        NewControlDevice(TRUE);
        if (Broken) {
            FX(WdfControlFinishInitializing, Added);
        }
    }
    if (Is(L"CtlDeviceFinishInitDeviceAdd") || Is(L"ControlDeviceDeleted") || Is(L"Cleanup4CtlDeviceRegistered")) {
        NewControlDevice(!(Is(L"CtlDeviceFinishInitDeviceAdd") && Broken));
    }
    if (Is(L"MiniportOnlyWdmDevice") && Broken && IoCreateDevice(DriverObject, 0, NULL, 0x22, 0, FALSE, &plain) >= 0) {
        IoDeleteDevice(plain);
    }
    if (Is(L"AddPdotoStaticChildlist")) {
        Init = NewInit(Added);
        FX(WdfFdoAddStaticChild, Added, Broken ? Added : Device(&Init, NULL));
        if (Init != NULL) {
            FX(WdfDeviceInitFree, Init);
        }
    }
    if (Is(L"DoubleDeviceInitFree")) {
        Init = NewInit(NULL);
        FX(WdfDeviceInitFree, Init);
        if (Broken) {
            FX(WdfDeviceInitFree, Init);
        }
    }
    if (Is(L"DeviceInitAllocate")) {
        Init = Broken ? (PWDFDEVICE_INIT)0x1000 : NewInit(NULL);
        Delete(Device(&Init, NULL));
    }
    Inits(NULL, L"InitFreeDeviceCallback", L"InitFreeDeviceCreate", L"InitFreeDeviceCreateType2",
          L"InitFreeDeviceCreateType4", L"ControlDeviceInitAPI");
    Inits(Added, L"PdoInitFreeDeviceCallback", L"PdoInitFreeDeviceCreate", L"PdoInitFreeDeviceCreateType2",
          L"PdoInitFreeDeviceCreateType4", L"PdoDeviceInitAPI");
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    PWDFDEVICE_INIT copy = Init;
    WDFDEVICE device;

    BeforeCreate(Init);
    device = Device(&Init, Is(L"Cleanup4CtlDeviceRegistered") && Broken ? NULL : (PVOID)Cleanup);
    if (device == NULL) {
        return Is(L"DeviceCreateFail") && Broken ? 0 : STATUS_UNSUCCESSFUL;
    }
    AfterCreate(Init, copy, device);
    return 0;
}

static NTSTATUS NTAPI LateAddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    CreateDriver(Driver, RegistryPath, DeviceAdd);
    return STATUS_UNSUCCESSFUL;
}

/* A driver without EvtDriverDeviceAdd has a control device. */
static NTSTATUS NonPnp(PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {0};
    PWDFDEVICE_INIT init;
    NTSTATUS status;

    config.Size = sizeof(config);
    config.DriverInitFlags = 1; /* WdfDriverInitNonPnpDriver */
    config.EvtDriverUnload = (PVOID)Cleanup;
    status = WDF(WDFDRIVERCREATE, WdfDriverCreate, DriverObject, Path, NULL, &config, NULL);
    if (status < 0) {
        return status;
    }
    init = NewInit(NULL);
    if (Broken) {
        FX(WdfDeviceInitSetPowerInrush, init);
    }
    ControlDevice = Device(&init, NULL);
    FX(WdfControlFinishInitializing, ControlDevice);
    return 0;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status;

    DriverObject = Driver;
    ReadRule(Path);
    if (Is(L"NonPnPDrvPowerPolicyOwnerAPI")) {
        return NonPnp(Path);
    }
    if (Is(L"DriverCreate") && Broken) {
        static WCHAR text[256];
        static UNICODE_STRING copy = {0, sizeof(text), text};

        RtlCopyUnicodeString(&copy, Path);
        RegistryPath = &copy;
        Driver->DriverExtension->AddDevice = (PVOID)LateAddDevice;
        return 0;
    }
    status = CreateDriver(Driver, Path, DeviceAdd);
    if (status >= 0 && Is(L"CtlDeviceFinishInitDrEntry")) {
        NewControlDevice(!Broken);
    }
    return status;
}
