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

static const UNICODE_STRING *Name(PWSTR Text)
{
    static UNICODE_STRING name;

    RtlInitUnicodeString(&name, Text);
    return &name;
}

/* support/fxregistryapi.cpp: a string value needs room for all of its data, and its length is that of the data. */
static NTSTATUS Registry(void)
{
    static WCHAR buffer[8];
    UNICODE_STRING given, value = {0, 4, buffer}, odd = {3, 4, L"ab"};
    WDFCOLLECTION collection;
    WDFOBJECT other;
    WDFSTRING text;
    USHORT length = 0;
    ULONG size = 0;
    WDFKEY key;

    CHECK(WDF(WDFDEVICEOPENREGISTRYKEY, WdfDeviceOpenRegistryKey, Device, PLUGPLAY_REGKEY_DEVICE, KEY_ALL_ACCESS, NULL, &key) == 0);
    RtlInitUnicodeString(&given, L"ab");
    CHECK(WDF(WDFREGISTRYASSIGNUNICODESTRING, WdfRegistryAssignUnicodeString, key, Name(L"Text"), &given) == 0);
    CHECK(WDF(WDFREGISTRYASSIGNUNICODESTRING, WdfRegistryAssignUnicodeString, key, Name(L"Text"), &odd) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Text"), &length, &value) == STATUS_BUFFER_OVERFLOW);
    CHECK(length == 6 && value.Length == 0);
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Text"), &length, NULL) == STATUS_BUFFER_OVERFLOW);
    value.MaximumLength = 6;
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Text"), &length, &value) == 0);
    CHECK(length == 6 && value.Length == 4 && buffer[1] == 'b' && buffer[2] == 0);
    value.MaximumLength = 0;
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Text"), &length, &value) == STATUS_INVALID_PARAMETER);
    value.MaximumLength = 16;
    CHECK(WDF(WDFREGISTRYASSIGNVALUE, WdfRegistryAssignValue, key, Name(L"Text"), REG_EXPAND_SZ, 4, (PVOID)L"xy") == 0);
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Text"), &length, &value) == 0);
    CHECK(length == 4 && value.Length == 4 && buffer[0] == 'x');
    CHECK(WDF(WDFREGISTRYASSIGNULONG, WdfRegistryAssignULong, key, Name(L"Number"), 7) == 0);
    CHECK(WDF(WDFREGISTRYQUERYUNICODESTRING, WdfRegistryQueryUnicodeString, key, Name(L"Number"), &length, &value) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(WDF(WDFREGISTRYQUERYULONG, WdfRegistryQueryULong, key, &odd, &size) == STATUS_INVALID_PARAMETER);

    /* An empty list has two terminators (support/stringutil.cpp), and one that does not end with two is none. */
    CHECK(WDF(WDFCOLLECTIONCREATE, WdfCollectionCreate, NULL, &collection) == 0);
    CHECK(WDF(WDFREGISTRYASSIGNMULTISTRING, WdfRegistryAssignMultiString, key, Name(L"List"), collection) == 0);
    CHECK(WDF(WDFREGISTRYQUERYVALUE, WdfRegistryQueryValue, key, Name(L"List"), 0, NULL, &size, NULL) == STATUS_BUFFER_OVERFLOW && size == 4);
    CHECK(WDF(WDFREGISTRYQUERYMULTISTRING, WdfRegistryQueryMultiString, key, Name(L"List"), NULL, collection) == 0);
    CHECK(WDF(WDFCOLLECTIONGETCOUNT, WdfCollectionGetCount, collection) == 0);
    CHECK(WDF(WDFREGISTRYASSIGNVALUE, WdfRegistryAssignValue, key, Name(L"List"), REG_MULTI_SZ, 6, (PVOID)L"ab") == 0);
    CHECK(WDF(WDFREGISTRYQUERYMULTISTRING, WdfRegistryQueryMultiString, key, Name(L"List"), NULL, collection) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(WDF(WDFOBJECTCREATE, WdfObjectCreate, NULL, &other) == 0);
    CHECK(WDF(WDFCOLLECTIONADD, WdfCollectionAdd, collection, other) == 0);
    CHECK(WDF(WDFREGISTRYASSIGNMULTISTRING, WdfRegistryAssignMultiString, key, Name(L"List"), collection) == STATUS_INVALID_PARAMETER);
    CHECK(WDF(WDFSTRINGCREATE, WdfStringCreate, NULL, NULL, &text) == 0);
    CHECK(WDF(WDFREGISTRYASSIGNVALUE, WdfRegistryAssignValue, key, Name(L"Text"), REG_SZ, 0, NULL) == 0);
    CHECK(WDF(WDFREGISTRYQUERYSTRING, WdfRegistryQueryString, key, Name(L"Text"), text) == STATUS_RESOURCE_DATA_NOT_FOUND);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, text);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, other);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, collection);
    WDF(WDFREGISTRYCLOSE, WdfRegistryClose, key);
    return 0;
}

/* core/fxrequest.cpp, core/fxrequestbase.cpp, targets/general/fxiotarget.cpp: the status of WdfRequestReuse stays, and a request that
   was cancelled is not sent before it is reused. A request without a queue cannot be unmarked. */
static NTSTATUS Requests(void)
{
    WDFIOTARGET target = WDF(WDFDEVICEGETIOTARGET, WdfDeviceGetIoTarget, Device);
    WDF_REQUEST_REUSE_PARAMS reuse = {sizeof reuse, 0, STATUS_DEVICE_BUSY, NULL};
    WDF_REQUEST_SEND_OPTIONS options = {sizeof options, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS, 0};
    WDFREQUEST own;

    CHECK(WDF(WDFREQUESTCREATE, WdfRequestCreate, NULL, target, &own) == 0);
    CHECK(WDF(WDFREQUESTUNMARKCANCELABLE, WdfRequestUnmarkCancelable, own) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(WDF(WDFIOTARGETFORMATREQUESTFORINTERNALIOCTL, WdfIoTargetFormatRequestForInternalIoctl, target, own, 0x220003, NULL, NULL, NULL, NULL) == 0);
    CHECK(!WDF(WDFREQUESTCANCELSENTREQUEST, WdfRequestCancelSentRequest, own));
    CHECK(!WDF(WDFREQUESTSEND, WdfRequestSend, own, target, &options));
    CHECK(WDF(WDFREQUESTGETSTATUS, WdfRequestGetStatus, own) == STATUS_CANCELLED);
    CHECK(WDF(WDFREQUESTREUSE, WdfRequestReuse, own, &reuse) == 0);
    reuse.Flags = WDF_REQUEST_REUSE_SET_NEW_IRP;
    CHECK(WDF(WDFREQUESTREUSE, WdfRequestReuse, Current, &reuse) == (NTSTATUS)0xC0200208); /* STATUS_WDF_REQUEST_INVALID_STATE */
    CHECK(WDF(WDFIOTARGETFORMATREQUESTFORINTERNALIOCTL, WdfIoTargetFormatRequestForInternalIoctl, target, own, 0x220003, NULL, NULL, NULL, NULL) == 0);
    CHECK(WDF(WDFREQUESTSEND, WdfRequestSend, own, target, &options));
    CHECK(WDF(WDFREQUESTGETSTATUS, WdfRequestGetStatus, own) != STATUS_CANCELLED);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, own);
    return 0;
}

static ULONG Runs;

static VOID NTAPI OnDpc(WDFDPC Dpc)
{
    (void)Dpc;
    Runs++;
}

/* core/fxdpcapi.cpp: "Return the KDPC* object pointer so that it may be linked into a DPC list". It is the one that WdfDpcEnqueue
   queues. core/fxfileobjectapi.cpp returns the FILE_OBJECT of a file. */
static NTSTATUS Kernels(void)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_DPC_CONFIG config;
    PFILE_OBJECT object;
    WDFFILEOBJECT file;
    PKDPC kernel;
    WDFDPC dpc;
    KIRQL old;

    InitAttributes(&attributes, (WDFOBJECT)Device);
    WDF_DPC_CONFIG_INIT(&config, OnDpc);
    CHECK(WDF(WDFDPCCREATE, WdfDpcCreate, &config, &attributes, &dpc) == 0);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    kernel = WDF(WDFDPCWDMGETDPC, WdfDpcWdmGetDpc, dpc);
    CHECK(KeInsertQueueDpc(kernel, NULL, NULL));
    CHECK(!WDF(WDFDPCENQUEUE, WdfDpcEnqueue, dpc));
    KeLowerIrql(old);
    KeFlushQueuedDpcs();
    CHECK(Runs == 1 && WDF(WDFDPCENQUEUE, WdfDpcEnqueue, dpc));
    KeFlushQueuedDpcs();
    CHECK(Runs == 2);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, dpc);
    file = WDF(WDFREQUESTGETFILEOBJECT, WdfRequestGetFileObject, Current);
    object = WDF(WDFFILEOBJECTWDMGETFILEOBJECT, WdfFileObjectWdmGetFileObject, file);
    CHECK(object != NULL && object->Type == 5 && object->DeviceObject != NULL); /* IO_TYPE_FILE */
    return 0;
}

static const STEP Steps[] = {
    STEP(a_buffer_that_is_too_small_is_null, Buffers),
    STEP(memory_objects_check_their_lengths, Memory),
    STEP(malformed_strings_are_refused, Strings),
    STEP(a_device_has_one_symbolic_link, Links),
    STEP(secure_open_is_always_a_characteristic, Flags),
    STEP(registry_values_need_room_and_lists_have_two_terminators, Registry),
    STEP(a_cancelled_request_is_not_sent_before_it_is_reused, Requests),
    STEP(a_dpc_and_a_file_have_objects_of_the_kernel, Kernels),
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
    WDF_FILEOBJECT_CONFIG files = {0};
    NTSTATUS status;

    (void)Driver;
    files.Size = sizeof files;
    files.FileObjectClass = WdfFileObjectWdfCanUseFsContext;
    WDF(WDFDEVICEINITSETCHARACTERISTICS, WdfDeviceInitSetCharacteristics, Init, 1, FALSE);
    WDF(WDFDEVICEINITSETCHARACTERISTICS, WdfDeviceInitSetCharacteristics, Init, 2, TRUE);
    WDF(WDFDEVICEINITSETFILEOBJECTCONFIG, WdfDeviceInitSetFileObjectConfig, Init, &files, NULL);
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
