/* A KMDF driver that checks what the framework's functions return. A control request runs the steps of checks.h. */

#include "framework.h"
#include "checks.h"

static WDFDEVICE Device;
static WDFREQUEST Current;
static ULONG Characteristics;

/* core/fxrequestapi.cpp: the buffer and the length are 0 if the function fails. */
static NTSTATUS Buffers(void)
{
    PVOID buffer = &buffer;
    size_t length = 7;

    CHECK(WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Current, 100000, &buffer, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(buffer == NULL && length == 0);
    buffer = &buffer;
    length = 7;
    CHECK(WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Current, 100000, &buffer, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(buffer == NULL && length == 0);
    return 0;
}

/* core/fxmemoryobject.cpp, core/fxmemorybufferpreallocatedapi.cpp */
static NTSTATUS Memory(void)
{
    static UCHAR bytes[8];
    WDFMEMORY memory;

    CHECK(WDF(WDFMEMORYCREATEPREALLOCATED, WdfMemoryCreatePreallocated, NULL, bytes, 0, &memory) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFMEMORYCREATEPREALLOCATED, WdfMemoryCreatePreallocated, NULL, bytes, 4, &memory) == 0);
    CHECK(WDF(WDFMEMORYASSIGNBUFFER, WdfMemoryAssignBuffer, memory, bytes, 0) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFMEMORYCOPYTOBUFFER, WdfMemoryCopyToBuffer, memory, 2, bytes, 4) == STATUS_BUFFER_TOO_SMALL);
    CHECK(WDF(WDFMEMORYCOPYFROMBUFFER, WdfMemoryCopyFromBuffer, memory, 2, bytes, 4) == STATUS_INVALID_BUFFER_SIZE);
    CHECK(WDF(WDFMEMORYCOPYFROMBUFFER, WdfMemoryCopyFromBuffer, memory, 0, bytes, 4) == 0);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, memory);
    return 0;
}

/* FxValidateUnicodeString: inc/private/common/fxvalidatefunctions.hpp */
static NTSTATUS Strings(void)
{
    UNICODE_STRING odd = {3, 4, L"ab"}, over = {6, 4, L"abc"}, none = {0, 4, NULL}, good = {4, 4, L"ab"};
    WDFSTRING text;

    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &odd, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &over, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &none, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &good, NULL, &text) == 0);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, text);
    return 0;
}

/* core/fxdeviceapi.cpp: a device has one symbolic link. */
static NTSTATUS Links(void)
{
    UNICODE_STRING first, second, none = {0, 0, NULL};

    RtlInitUnicodeString(&first, L"\\DosDevices\\CKmdfDocumented");
    RtlInitUnicodeString(&second, L"\\DosDevices\\CKmdfSecond");
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &none) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &first) == 0);
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &second) ==
          STATUS_INVALID_DEVICE_REQUEST);
    return 0;
}

/* core/fxdeviceinit.cpp, core/fxdeviceapi.cpp: FILE_DEVICE_SECURE_OPEN (0x100) is always set. */
static NTSTATUS Flags(void)
{
    PDEVICE_OBJECT object = WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, Device);

    CHECK(Characteristics == 0x103 && object->Characteristics == 0x103); /* and FILE_REMOVABLE_MEDIA, FILE_READ_ONLY_DEVICE */
    WDF(WDFDEVICESETCHARACTERISTICS, WdfDeviceSetCharacteristics, Device, 1);
    CHECK(WDF(WDFDEVICEGETCHARACTERISTICS, WdfDeviceGetCharacteristics, Device) == 0x101);
    return 0;
}

static const STEP Steps[] = {
    STEP(a_buffer_that_is_too_small_is_null, Buffers),
    STEP(memory_objects_check_their_lengths, Memory),
    STEP(malformed_strings_are_refused, Strings),
    STEP(a_device_has_one_symbolic_link, Links),
    STEP(secure_open_is_always_a_characteristic, Flags),
};

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    CHAR *buffer;
    ULONG_PTR length = 0;
    NTSTATUS status =
        WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, Output, (PVOID *)&buffer, NULL);

    (void)Queue, (void)Code;
    if (status >= 0) {
        Current = Request;
        status = RunSteps(Steps, sizeof(Steps) / sizeof(Steps[0]), buffer, (ULONG)Input, (ULONG)Output, &length);
    }
    Complete(Request, status, length);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    NTSTATUS status;

    (void)Driver;
    WDF(WDFDEVICEINITSETCHARACTERISTICS, WdfDeviceInitSetCharacteristics, Init, 1, FALSE);
    WDF(WDFDEVICEINITSETCHARACTERISTICS, WdfDeviceInitSetCharacteristics, Init, 2, TRUE);
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &Device);
    if (status < 0) {
        return status;
    }
    Characteristics = WDF(WDFDEVICEGETCHARACTERISTICS, WdfDeviceGetCharacteristics, Device);
    return CreateControlQueue(Device, WdfIoQueueDispatchSequential, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
