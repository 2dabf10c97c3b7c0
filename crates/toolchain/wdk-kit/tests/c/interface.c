/* A driver in C that uses what the kit has for C code: every small header, and the framework's functions and structures. */

#include <initguid.h>
#include <ntddk.h>
#include <wdf.h>
#include <usb.h>
#include <usbdlib.h>
#include <wdfusb.h>
#include <ntstrsafe.h>
#include <ntintsafe.h>
#include <wdmguid.h>
#include <devguid.h>
#include <wmilib.h>
#include <wdmsec.h>
#include <hidport.h>
#include <kbdmou.h>
#include <evntrace.h>
#include <windef.h>
#include <stdarg.h>
#include <pshpack1.h>
typedef struct _PACKED {
    UCHAR First;
    ULONG Second;
} PACKED;
#include <poppack.h>
C_ASSERT(sizeof(PACKED) == 5);
C_ASSERT(sizeof(*(PCUCHAR)NULL) == 1 && WMIGUID_NOTIFICATION == 4);

DEFINE_GUID(GUID_OF_THE_TEST, 0x6bc3a4a1, 0x52d1, 0x4a19, 0x9f, 0x1e, 0x52, 0x0a, 0x1c, 0x2b, 0x3d, 0x4e);

typedef struct _CONTEXT_OF_DEVICE {
    LONG Count;
    WDFQUEUE Queue;
    LIST_ENTRY List;
    SINGLE_LIST_ENTRY Single;
} CONTEXT_OF_DEVICE, *PCONTEXT_OF_DEVICE;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(CONTEXT_OF_DEVICE, GetContext)

EVT_WDF_DRIVER_DEVICE_ADD DeviceAdd;
EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL DeviceControl;
EVT_WDF_DEVICE_CONTEXT_CLEANUP Cleanup;
EVT_WDF_TIMER Tick;
DRIVER_INITIALIZE DriverEntry;

/* Strings, numbers and interlocked operations. Returns the number of wrong results. */
static ULONG Check(_In_ ULONG Seed)
{
    CHAR text[8];
    WCHAR wide[16];
    DECLARE_UNICODE_STRING_SIZE(string, 8);
    size_t length = 0;
    ULONG sum, wrong = 0;
    USHORT narrow;
    LONG target = (LONG)Seed;
    PVOID pointer = &target;

    wrong += RtlStringCbPrintfA(text, sizeof(text), "%u-%s", 12u, "ab") != STATUS_SUCCESS;
    wrong += RtlStringCchCopyA(text, ARRAYSIZE(text), "far too long") != STATUS_BUFFER_OVERFLOW || text[7] != 0;
    wrong += RtlStringCbCopyW(wide, sizeof(wide), L"wide") != STATUS_SUCCESS;
    wrong += RtlStringCbCatW(wide, sizeof(wide), L"r") != STATUS_SUCCESS;
    wrong += RtlStringCbLengthW(wide, sizeof(wide), &length) != STATUS_SUCCESS || length != 5 * sizeof(WCHAR);
    wrong += RtlUnicodeStringPrintf(&string, L"%d", 42) != STATUS_SUCCESS || string.Length != 2 * sizeof(WCHAR);
    wrong += RtlUnicodeStringCatString(&string, L"1234567890") != STATUS_BUFFER_OVERFLOW || string.Length != string.MaximumLength;
    wrong += RtlULongAdd(0xFFFFFFFF, Seed | 1, &sum) != STATUS_INTEGER_OVERFLOW || sum != ULONG_MAX;
    wrong += RtlULongMult(3, 4, &sum) != STATUS_SUCCESS || sum != 12;
    wrong += RtlULongToUShort(0x10000, &narrow) != STATUS_INTEGER_OVERFLOW;
    wrong += InterlockedIncrement(&target) != (LONG)Seed + 1;
    wrong += InterlockedCompareExchange(&target, 5, (LONG)Seed + 1) != (LONG)Seed + 1 || target != 5;
    wrong += InterlockedAdd(&target, 3) != 8;
    wrong += InterlockedExchangePointer(&pointer, NULL) != &target;
    wrong += ROUND_TO_PAGES(1) != PAGE_SIZE || BYTES_TO_PAGES(PAGE_SIZE + 1) != 2 || ALIGN_UP_BY(5, 4) != 8;
    wrong += !IsEqualGUID(&GUID_OF_THE_TEST, &GUID_OF_THE_TEST);
    wrong += WDF_REL_TIMEOUT_IN_MS(2) != -20000;
    wrong += min(1, 2) != 1 || max(1, 2) != 2 || !FlagOn(6, 2) || BooleanFlagOn(4, 2);
    return wrong;
}

VOID DeviceControl(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength, ULONG IoControlCode)
{
    PCONTEXT_OF_DEVICE context = GetContext(WdfIoQueueGetDevice(Queue));
    PULONG output;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    context->Count++;
    status = WdfRequestRetrieveOutputBuffer(Request, sizeof(ULONG), (PVOID *)&output, NULL);
    if (!NT_SUCCESS(status)) {
        WdfRequestComplete(Request, status);
        return;
    }
    *output = Check(IoControlCode);
    WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, sizeof(ULONG));
}

VOID Cleanup(WDFOBJECT Device)
{
    PCONTEXT_OF_DEVICE context = WdfObjectGetTypedContext(Device, CONTEXT_OF_DEVICE);

    NT_ASSERT(IsListEmpty(&context->List));
    (void)PopEntryList(&context->Single);
}

VOID Tick(WDFTIMER Timer)
{
    UNREFERENCED_PARAMETER(Timer);
}

NTSTATUS DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_PNPPOWER_EVENT_CALLBACKS callbacks;
    WDF_IO_QUEUE_CONFIG queue;
    WDF_TIMER_CONFIG timer;
    WDFTIMER handle;
    WDFDEVICE device;
    NTSTATUS status;

    PAGED_CODE();
    UNREFERENCED_PARAMETER(Driver);
    WDF_PNPPOWER_EVENT_CALLBACKS_INIT(&callbacks);
    WdfDeviceInitSetPnpPowerEventCallbacks(Init, &callbacks);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, CONTEXT_OF_DEVICE);
    attributes.EvtCleanupCallback = Cleanup;
    status = WdfDeviceCreate(&Init, &attributes, &device);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    InitializeListHead(&GetContext(device)->List);
    GetContext(device)->Single.Next = NULL;
    WDF_TIMER_CONFIG_INIT_PERIODIC(&timer, Tick, 100);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = device;
    status = WdfTimerCreate(&timer, &attributes, &handle);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoDeviceControl = DeviceControl;
    status = WdfIoQueueCreate(device, &queue, WDF_NO_OBJECT_ATTRIBUTES, &GetContext(device)->Queue);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    return WdfDeviceCreateDeviceInterface(device, &GUID_OF_THE_TEST, NULL);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG config;

    ExInitializeDriverRuntime(DrvRtPoolNxOptIn);
    WDF_DRIVER_CONFIG_INIT(&config, DeviceAdd);
    return WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &config, WDF_NO_HANDLE);
}
