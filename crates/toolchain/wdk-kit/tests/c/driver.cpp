// A driver in C++ with what its headers have only for C++, or that means something else there: literals, NULL, wide characters.

#define NT_PROCESSOR_GROUPS 1
#include <initguid.h>
#include <ntddk.h>
#include <wdf.h>
#include <usb.h>
#include <usbdlib.h>
#include <usbbusif.h>
#include <wdfusb.h>
#include <ntstrsafe.h>
#include <ntintsafe.h>
#include <wdmguid.h>
#include <wmistr.h>
#include <wmilib.h>
#include <wdmsec.h>
#include <procgrp.h>
#include <stdarg.h>
#include <fltKernel.h>
#include <fwpsk.h>
#include <fwpmk.h>
#include <mstcpip.h>
#include <intsafe.h>

C_ASSERT(FIELD_OFFSET(CM_PARTIAL_RESOURCE_DESCRIPTOR, u.Interrupt.Group) == 6);
C_ASSERT(FIELD_OFFSET(CM_PARTIAL_RESOURCE_DESCRIPTOR, u.MessageInterrupt.Translated.Vector) == 8);
C_ASSERT(FIELD_OFFSET(IO_RESOURCE_DESCRIPTOR, u.Interrupt.Group) == 18);
C_ASSERT(FIELD_OFFSET(IO_RESOURCE_DESCRIPTOR, u.Interrupt.PriorityPolicy) == 20);
C_ASSERT(sizeof(USB_BUS_INTERFACE_USBDI_V1) == 72);

class Device {
public:
    NTSTATUS Open(PUNICODE_STRING Name);
    LONG Count() const;
    KSPIN_LOCK Lock = 0;
    PVOID Memory = NULL;
    LIST_ENTRY List = {};

private:
    HANDLE m_Key = NULL;
};

FORCEINLINE LONG Device::Count() const { return IsListEmpty(&List) ? 0 : 1; }

NTSTATUS Device::Open(PUNICODE_STRING Name) {
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, Name, OBJ_KERNEL_HANDLE | OBJ_CASE_INSENSITIVE, NULL, NULL);
    return ZwOpenKey(&m_Key, KEY_READ, &attributes);
}

// A constant, and not the work of a constructor, which nobody would call in a driver.
static const UNICODE_STRING Path = RTL_CONSTANT_STRING(L"\\Registry\\Machine");
static ANSI_STRING Narrow = RTL_CONSTANT_STRING("narrow");

extern "C" {
DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD Unload;
}
typedef struct _EXTENSION {
    ULONG Count;
} EXTENSION;

extern "C" VOID Unload(PDRIVER_OBJECT) {}

static NTSTATUS Trace(ULONG Number, ...) {
    va_list arguments;
    va_start(arguments, Number);
    NTSTATUS status = WmiTraceMessageVa(0, 0, &USB_BUS_INTERFACE_USBDI_GUID, (USHORT)Number, arguments);
    va_end(arguments);
    return status;
}

// Requests for a USB device, and sizes of requests.
static SIZE_T Requests(PURB Urb, PMDL Mdl, PVOID Pipe) {
    PMDL *described = &Urb->UrbBulkOrInterruptTransfer.TransferBufferMDL;
    *described = Mdl;
    UsbBuildInterruptOrBulkTransferRequest(Urb, sizeof(struct _URB_BULK_OR_INTERRUPT_TRANSFER), Pipe, NULL, Mdl, 64, USBD_SHORT_TRANSFER_OK, NULL);
    UsbBuildGetStatusRequest(Urb, URB_FUNCTION_GET_STATUS_FROM_DEVICE, 0, NULL, Mdl, NULL);
    UsbBuildGetDescriptorRequest(Urb, sizeof(struct _URB_CONTROL_DESCRIPTOR_REQUEST), USB_DEVICE_DESCRIPTOR_TYPE, 0, 0, NULL, Mdl, 18, NULL);
    UsbBuildSelectConfigurationRequest(Urb, sizeof(struct _URB_SELECT_CONFIGURATION), NULL);
    UsbBuildSelectInterfaceRequest(Urb, GET_SELECT_INTERFACE_REQUEST_SIZE(2), NULL, 1, 0);
    USBD_VERSION_INFORMATION version;
    USBD_GetUSBDIVersion(&version);
    return GET_ISO_URB_SIZE(8) + GET_USBD_INTERFACE_SIZE(3) + (USB_ENDPOINT_DIRECTION_IN(0x81) ? version.USBDI_Version : 0);
}

extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    DECLARE_CONST_UNICODE_STRING(name, L"\\Device\\Test");
    PDEVICE_OBJECT object = NULL;
    Device device;
    URB urb = {};
    EXT_SET_PARAMETERS parameters;
    WMIREGINFO registration = {};
    WCHAR text[16];
    LPCWCHAR end = wcschr(L"a text", L't');

    DriverObject->DriverUnload = Unload;
    InitializeListHead(&device.List);
    ExInitializeSetTimerParameters(&parameters);
    parameters.NoWakeTolerance = EX_TIMER_UNLIMITED_TOLERANCE;
    NTSTATUS status = WdmlibProcgrpInitialize();
    if (NT_SUCCESS(status)) {
        status = RtlStringCbCopyW(text, sizeof(text), end == NULL ? L"" : end);
    }
    if (NT_SUCCESS(status) && wcslen(text) == 4 && !KD_DEBUGGER_ENABLED && IoGetRemainingStackSize() > ERROR_LOG_MAXIMUM_SIZE) {
        status = IoCreateDevice(DriverObject, sizeof(EXTENSION), const_cast<PUNICODE_STRING>(&name), FILE_DEVICE_UNKNOWN, 0, FALSE, &object);
    }
    if (NT_SUCCESS(status) && RtlEqualUnicodeString(&Path, RegistryPath, TRUE)) {
        status = device.Open(RegistryPath);
    }
    registration.GuidCount = (ULONG)(device.Count() + Narrow.Length + Requests(&urb, NULL, NULL));
    return Trace(registration.GuidCount, &status, sizeof(status), NULL);
}

// An enumeration whose values are flags, and other things that only C++ has.
enum class Options { None = 0, First = 1, Second = 2 };
DEFINE_ENUM_FLAG_OPERATORS(Options);
C_ASSERT((Options::First | Options::Second) == (Options)3 && (~Options::None & Options::First) == Options::First);

EXTERN_C_START
NTSTATUS Describe(const GUID *Layer, IN_ADDR *Address, PUNICODE_STRING Text);
EXTERN_C_END

NTSTATUS Describe(const GUID *Layer, IN_ADDR *Address, PUNICODE_STRING Text) {
    WCHAR name[16];
    CHAR address[INET_ADDRSTRLEN];
    Options options = Options::None;
    LONG64 count = 0;
    if (*Layer == FWPM_LAYER_STREAM_V4 || IsEqualGUID(*Layer, FWPM_LAYER_STREAM_V6)) {
        options |= Options::First;
    }
    if (*Layer != GUID_ECP_PREFETCH_OPEN && wcscpy_s(name, L"layer") == 0 && wcscat_s(name, L"s") == 0) {
        options ^= Options::Second;
    }
    InterlockedIncrement64(&count);
    RtlIpv4AddressToStringA(Address, address);
    return options == Options::None ? STATUS_NOT_FOUND : RtlStringFromGUID(*Layer, Text);
}
