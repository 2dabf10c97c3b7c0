/* A KMDF driver that checks what the framework's functions return. A control request runs the steps, and returns for each
   one 0 or the number of the line that found something wrong. */

#include "framework.h"

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

static WDFDEVICE Device;
static ULONG Characteristics;

/* core/fxrequestapi.cpp: the buffer and the length are 0 if the function fails. */
static NTSTATUS Buffers(WDFREQUEST Request)
{
    PVOID buffer = &buffer;
    size_t length = 7;

    CHECK(WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 1000, &buffer, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(buffer == NULL && length == 0);
    buffer = &buffer;
    length = 7;
    CHECK(WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, 1000, &buffer, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(buffer == NULL && length == 0);
    return 0;
}

/* core/fxmemoryobject.cpp, core/fxmemorybufferpreallocatedapi.cpp */
static NTSTATUS Memory(WDFREQUEST Request)
{
    static UCHAR bytes[8];
    WDFMEMORY memory;

    (void)Request;
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
static NTSTATUS Strings(WDFREQUEST Request)
{
    UNICODE_STRING odd = {3, 4, L"ab"}, over = {6, 4, L"abc"}, none = {0, 4, NULL}, good = {4, 4, L"ab"};
    WDFSTRING text;

    (void)Request;
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &odd, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &over, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &none, NULL, &text) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, &good, NULL, &text) == 0);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, text);
    return 0;
}

/* core/fxdeviceapi.cpp: a device has one symbolic link. */
static NTSTATUS Links(WDFREQUEST Request)
{
    UNICODE_STRING first, second, none = {0, 0, NULL};

    (void)Request;
    RtlInitUnicodeString(&first, L"\\DosDevices\\CKmdfDocumented");
    RtlInitUnicodeString(&second, L"\\DosDevices\\CKmdfSecond");
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &none) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &first) == 0);
    CHECK(WDF(WDFDEVICECREATESYMBOLICLINK, WdfDeviceCreateSymbolicLink, Device, &second) ==
          STATUS_INVALID_DEVICE_REQUEST);
    return 0;
}

/* core/fxdeviceinit.cpp, core/fxdeviceapi.cpp: FILE_DEVICE_SECURE_OPEN (0x100) is always set. */
static NTSTATUS Flags(WDFREQUEST Request)
{
    PDEVICE_OBJECT object = WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, Device);

    (void)Request;
    CHECK(Characteristics == 0x103 && object->Characteristics == 0x103); /* and FILE_REMOVABLE_MEDIA, FILE_READ_ONLY_DEVICE */
    WDF(WDFDEVICESETCHARACTERISTICS, WdfDeviceSetCharacteristics, Device, 1);
    CHECK(WDF(WDFDEVICEGETCHARACTERISTICS, WdfDeviceGetCharacteristics, Device) == 0x101);
    return 0;
}

typedef NTSTATUS (*STEP)(WDFREQUEST Request);
static const STEP Steps[] = {Buffers, Memory, Strings, Links, Flags};
#define COUNT (sizeof(Steps) / sizeof(Steps[0]))

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS *results;
    ULONG index;
    NTSTATUS status = WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request,
                          COUNT * sizeof(NTSTATUS), (PVOID *)&results, NULL);

    (void)Queue, (void)Output, (void)Input, (void)Code;
    if (status < 0) {
        Complete(Request, status, 0);
        return;
    }
    for (index = 0; index < COUNT; index++) {
        results[index] = Steps[index](Request);
    }
    Complete(Request, 0, COUNT * sizeof(NTSTATUS));
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
