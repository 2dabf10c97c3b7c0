/* A minifilter that asks the filter manager about minifilters, and uses files of the volume itself. DriverEntry returns the number of the
   line that found something wrong. */

#include <fltKernel.h>

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

#define VOLUME L"\\Device\\HarddiskVolume1"

/* The offsets below, by the metadata. */
C_ASSERT(FIELD_OFFSET(FILTER_FULL_INFORMATION, FilterNameLength) == 12 && FIELD_OFFSET(FILTER_FULL_INFORMATION, FilterNameBuffer) == 14);
C_ASSERT(FIELD_OFFSET(FILTER_AGGREGATE_BASIC_INFORMATION, Type.MiniFilter.FilterAltitudeLength) == 20);
C_ASSERT(FIELD_OFFSET(FILTER_AGGREGATE_STANDARD_INFORMATION, Type.MiniFilter.FilterAltitudeLength) == 24);
C_ASSERT(FIELD_OFFSET(INSTANCE_BASIC_INFORMATION, InstanceNameBufferOffset) == 6);
C_ASSERT(FIELD_OFFSET(INSTANCE_PARTIAL_INFORMATION, AltitudeLength) == 8 && sizeof(INSTANCE_PARTIAL_INFORMATION) == 12);
C_ASSERT(FIELD_OFFSET(INSTANCE_FULL_INFORMATION, VolumeNameLength) == 12 && FIELD_OFFSET(INSTANCE_FULL_INFORMATION, FilterNameLength) == 16);
C_ASSERT(FIELD_OFFSET(FILTER_VOLUME_BASIC_INFORMATION, FilterVolumeName) == 2);
C_ASSERT(FIELD_OFFSET(FILTER_VOLUME_STANDARD_INFORMATION, FileSystemType) == 12);
C_ASSERT(FIELD_OFFSET(FILTER_VOLUME_STANDARD_INFORMATION, FilterVolumeName) == 18);

static PFLT_FILTER Filter;
static PFLT_VOLUME Volume;
static PFLT_INSTANCE Instance;
static UCHAR Buffer[512];

static BOOLEAN Is(ULONG Offset, ULONG Length, PCWSTR Text)
{
    UNICODE_STRING found = {.Length = (USHORT)Length, .MaximumLength = (USHORT)Length, .Buffer = (PWSTR)(Buffer + Offset)};
    UNICODE_STRING text;

    RtlInitUnicodeString(&text, Text);
    return RtlEqualUnicodeString(&found, &text, FALSE);
}

static USHORT Word(ULONG Offset)
{
    return *(USHORT *)(Buffer + Offset);
}

/* Whether a structure has the length and the offset of a name at this offset. */
static BOOLEAN Names(ULONG Offset, PCWSTR Text)
{
    return Is(Word(Offset + 2), Word(Offset), Text);
}

static NTSTATUS Filters(void)
{
    PFLT_FILTER found[4];
    UNICODE_STRING name;
    ULONG length = 0;

    CHECK(FltEnumerateFilters(NULL, 0, &length) == STATUS_BUFFER_TOO_SMALL && length == 1);
    CHECK(FltEnumerateFilters(found, 4, &length) == STATUS_SUCCESS && found[0] == Filter);
    CHECK(FltGetFilterInformation(Filter, FilterFullInformation, NULL, 0, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(FltGetFilterInformation(Filter, FilterFullInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    name.Length = name.MaximumLength = Word(12);
    name.Buffer = (PWSTR)(Buffer + 14);
    CHECK(length == 14u + name.Length && Buffer[8] == 1);
    CHECK(FltGetFilterFromName(&name, found) == STATUS_SUCCESS && found[0] == Filter);
    name.Length -= 2;
    CHECK(FltGetFilterFromName(&name, found) == STATUS_FLT_FILTER_NOT_FOUND);
    CHECK(FltEnumerateFilterInformation(0, FilterAggregateBasicInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Names(20, L"385000") && Word(16) == name.Length + 2);
    CHECK(FltEnumerateFilterInformation(0, FilterAggregateStandardInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Names(24, L"385000"));
    CHECK(FltEnumerateFilterInformation(1, FilterFullInformation, Buffer, sizeof(Buffer), &length) == STATUS_NO_MORE_ENTRIES);
    return STATUS_SUCCESS;
}

static NTSTATUS Instances(void)
{
    PFLT_INSTANCE top, bottom, named, other;
    UNICODE_STRING name;
    ULONG length;

    CHECK(FltGetTopInstance(Volume, &top) == STATUS_SUCCESS && FltGetBottomInstance(Volume, &bottom) == STATUS_SUCCESS);
    CHECK(top != bottom && (Instance == top || Instance == bottom));
    CHECK(FltGetLowerInstance(top, &other) == STATUS_SUCCESS && other == bottom);
    CHECK(FltGetUpperInstance(bottom, &other) == STATUS_SUCCESS && other == top);
    CHECK(FltGetUpperInstance(top, &other) == STATUS_NO_MORE_ENTRIES);
    CHECK(FltGetLowerInstance(bottom, &other) == STATUS_NO_MORE_ENTRIES);
    CHECK(FltGetInstanceInformation(top, InstanceFullInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Names(4, L"Second") && Names(8, L"390000") && Names(12, VOLUME) && Word(16) != 0);
    CHECK(FltGetInstanceInformation(bottom, InstancePartialInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Names(4, L"First") && Names(8, L"385000"));
    CHECK(FltEnumerateInstanceInformationByFilter(Filter, 1, InstanceBasicInformation, Buffer, 20, &length) == STATUS_SUCCESS);
    CHECK(Names(4, L"First") && length == 18);
    CHECK(FltEnumerateInstanceInformationByVolume(Volume, 2, InstanceBasicInformation, Buffer, 20, &length) == STATUS_NO_MORE_ENTRIES);
    RtlInitUnicodeString(&name, L"second");
    CHECK(FltGetVolumeInstanceFromName(Filter, Volume, &name, &named) == STATUS_SUCCESS && named == top);
    RtlInitUnicodeString(&name, L"third");
    CHECK(FltGetVolumeInstanceFromName(NULL, Volume, &name, &named) == STATUS_FLT_INSTANCE_NOT_FOUND);
    return STATUS_SUCCESS;
}

static NTSTATUS TheVolume(void)
{
    PDEVICE_OBJECT device;
    PFILE_OBJECT root;
    HANDLE handle;
    ULONG length;

    CHECK(FltGetVolumeInformation(Volume, FilterVolumeBasicInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Is(2, Word(0), VOLUME) && length == 2u + Word(0));
    CHECK(FltEnumerateVolumeInformation(Filter, 0, FilterVolumeStandardInformation, Buffer, sizeof(Buffer), &length) == STATUS_SUCCESS);
    CHECK(Is(18, Word(16), VOLUME) && Buffer[12] == FLT_FSTYPE_NTFS);
    CHECK(FltEnumerateVolumeInformation(Filter, 1, FilterVolumeBasicInformation, Buffer, sizeof(Buffer), &length) == STATUS_NO_MORE_ENTRIES);
    CHECK(FltGetDeviceObject(Volume, &device) == STATUS_SUCCESS);
    CHECK(FltIsFltMgrVolumeDeviceObject(device));
    ObDereferenceObject(device);
    CHECK(FltOpenVolume(Instance, &handle, &root) == STATUS_SUCCESS);
    CHECK(FltQueryVolumeInformationFile(Instance, root, Buffer, 8, FileFsDeviceInformation, &length) == STATUS_SUCCESS);
    CHECK(FltQueryDirectoryFileEx(Instance, root, Buffer, sizeof(Buffer), FileNamesInformation, SL_RETURN_SINGLE_ENTRY, NULL, &length) ==
          STATUS_SUCCESS);
    ObDereferenceObject(root);
    CHECK(FltClose(handle) == STATUS_SUCCESS);
    return STATUS_SUCCESS;
}

static NTSTATUS Files(void)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK block;
    PFILE_OBJECT file;
    HANDLE handle;
    PMDL list;
    LARGE_INTEGER offset = {.QuadPart = 2};
    ULONG length;

    RtlInitUnicodeString(&name, VOLUME L"\\new.txt");
    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE | OBJ_CASE_INSENSITIVE, NULL, NULL);
    CHECK(FltCreateFileEx(Filter, Instance, &handle, &file, FILE_READ_DATA | FILE_WRITE_DATA, &attributes, &block, NULL,
                          FILE_ATTRIBUTE_NORMAL, 0, FILE_CREATE, FILE_NON_DIRECTORY_FILE, NULL, 0, 0) == STATUS_SUCCESS);
    RtlCopyMemory(Buffer, "abcd", 4);
    CHECK(FltWriteFileEx(Instance, file, NULL, 4, Buffer, 0, &length, NULL, NULL, NULL, NULL) == STATUS_SUCCESS && length == 4);
    CHECK(FltFlushBuffers2(Instance, file, FLT_FLUSH_TYPE_FILE_DATA_ONLY, NULL) == STATUS_SUCCESS);
    list = IoAllocateMdl(Buffer + 8, 8, FALSE, FALSE, NULL);
    CHECK(list != NULL);
    MmBuildMdlForNonPagedPool(list);
    CHECK(FltReadFileEx(Instance, file, &offset, 8, NULL, 0, &length, NULL, NULL, NULL, list) == STATUS_SUCCESS);
    IoFreeMdl(list);
    CHECK(length == 2 && Buffer[8] == 'c' && Buffer[9] == 'd');
    /* The volume has no extended attributes and no security. */
    CHECK(FltQueryEaFile(Instance, file, Buffer, 64, TRUE, NULL, 0, NULL, TRUE, &length) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(FltSetEaFile(Instance, file, Buffer, 8) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(FltQuerySecurityObject(Instance, file, DACL_SECURITY_INFORMATION, Buffer, 64, &length) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(FltSetSecurityObject(Instance, file, DACL_SECURITY_INFORMATION, Buffer) == STATUS_INVALID_DEVICE_REQUEST);
    CHECK(FltGetIoPriorityHintFromFileObject(file) == IoPriorityNormal);
    CHECK(FltGetIoPriorityHintFromThread(PsGetCurrentThread()) == IoPriorityNormal);
    ObDereferenceObject(file);
    CHECK(FltClose(handle) == STATUS_SUCCESS);
    return STATUS_SUCCESS;
}

static VOID FLTAPI OnStatus(PCFLT_RELATED_OBJECTS Objects, PFLT_IO_PARAMETER_BLOCK Operation, NTSTATUS Status, PVOID Context)
{
    DbgPrint("%s of %wZ: %08x %s\n", FltGetIrpName(Operation->MajorFunction), &Operation->TargetFileObject->FileName, Status,
             Objects->Instance == Instance ? (PCSTR)Context : "another instance");
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreCreate(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    LARGE_INTEGER timeout = {.QuadPart = -10000};
    KEVENT event;
    ULONG session = 7;

    UNREFERENCED_PARAMETER(Context);
    if (Objects->Instance == Instance) {
        FltRequestOperationStatusCallback(Data, OnStatus, "here");
        KeInitializeEvent(&event, NotificationEvent, FALSE);
        DbgPrint("session %08x", FltGetRequestorSessionId(Data, &session));
        DbgPrint(" %u, priority %u", session, FltGetIoPriorityHintFromCallbackData(Data));
        DbgPrint(" %u, wait %08x\n", FltGetIoPriorityHint(Data), FltCancellableWaitForSingleObject(&event, &timeout, Data));
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
}

static const FLT_OPERATION_REGISTRATION Operations[] = {{IRP_MJ_CREATE, 0, PreCreate, NULL}, {IRP_MJ_OPERATION_END}};

static NTSTATUS FLTAPI Unload(FLT_FILTER_UNLOAD_FLAGS Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    FltObjectDereference(Volume);
    FltUnregisterFilter(Filter);
    return STATUS_SUCCESS;
}

static const FLT_REGISTRATION Registration = {
    .Size = sizeof(FLT_REGISTRATION),
    .Version = FLT_REGISTRATION_VERSION,
    .OperationRegistration = Operations,
    .FilterUnloadCallback = Unload,
};

static NTSTATUS Query(void)
{
    static NTSTATUS (*const Steps[])(void) = {Filters, TheVolume, Files, Instances};
    UNICODE_STRING name, altitude;
    PFLT_INSTANCE second;
    NTSTATUS status;
    ULONG step;

    RtlInitUnicodeString(&name, VOLUME);
    CHECK(FltGetVolumeFromName(Filter, &name, &Volume) == STATUS_SUCCESS);
    CHECK(FltGetVolumeInstanceFromName(Filter, Volume, NULL, &Instance) == STATUS_SUCCESS);
    for (step = 0; step < 4; step++) {
        if (step == 3) {
            RtlInitUnicodeString(&name, L"Second");
            RtlInitUnicodeString(&altitude, L"390000");
            CHECK(FltAttachVolumeAtAltitude(Filter, Volume, &altitude, &name, &second) == STATUS_SUCCESS);
            FltObjectDereference(second);
        }
        status = Steps[step]();
        if (!NT_SUCCESS(status)) {
            return status;
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Path);
    status = FltRegisterFilter(Driver, &Registration, &Filter);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    status = FltStartFiltering(Filter);
    if (NT_SUCCESS(status)) {
        status = Query();
    }
    if (!NT_SUCCESS(status)) {
        FltUnregisterFilter(Filter);
    }
    return status;
}
