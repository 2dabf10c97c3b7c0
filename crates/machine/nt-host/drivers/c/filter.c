/* A minifilter that refuses, pends, changes and reports operations. BUG selects a mistake; 0 is none.

   It opens "A.txt" in place of "moved.txt", refuses to open "secret.txt", cancels the open of "late.txt", pends reads of "slow.txt" and "held.txt" (the latter
   until its instance goes or the read is canceled), and turns what it reads into upper case. */

#include <fltKernel.h>

#define TAG 'tliF'
#define LOG(...) DbgPrint(__VA_ARGS__)
#define TARGET L"\\Device\\HarddiskVolume1\\dir\\A.txt"

typedef struct STREAM {
    ULONG Reads;
} STREAM;

static PFLT_FILTER Filter;
static PFLT_PORT ServerPort, ClientPort;
static PFLT_CALLBACK_DATA Held;

static BOOLEAN Ends(PCUNICODE_STRING Name, PCWSTR End)
{
    UNICODE_STRING end, rest;

    RtlInitUnicodeString(&end, End);
    if (Name->Length < end.Length) {
        return FALSE;
    }
    rest.Length = rest.MaximumLength = end.Length;
    rest.Buffer = Name->Buffer + (Name->Length - end.Length) / sizeof(WCHAR);
    return RtlEqualUnicodeString(&rest, &end, TRUE);
}

static FLT_PREOP_CALLBACK_STATUS Complete(PFLT_CALLBACK_DATA Data, NTSTATUS Status)
{
    Data->IoStatus.Status = Status;
    Data->IoStatus.Information = 0;
    return FLT_PREOP_COMPLETE;
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreCreate(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    PFLT_FILE_NAME_INFORMATION name;
    BOOLEAN secret;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Context);
    status = FltGetFileNameInformation(Data, FLT_FILE_NAME_NORMALIZED | FLT_FILE_NAME_QUERY_DEFAULT, &name);
    if (!NT_SUCCESS(status)) {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    FltParseFileNameInformation(name);
    if (Ends(&name->Name, L"moved.txt")) {
        FltReleaseFileNameInformation(name);
        status = IoReplaceFileObjectName(Data->Iopb->TargetFileObject, TARGET, sizeof(TARGET) - sizeof(WCHAR));
        Complete(Data, NT_SUCCESS(status) ? STATUS_REPARSE : status);
        return FLT_PREOP_COMPLETE;
    }
    LOG("create %wZ: %wZ %wZ %wZ\n", &name->Name, &name->ParentDir, &name->FinalComponent, &name->Extension);
    secret = Ends(&name->Name, L"secret.txt");
#if BUG != 2
    FltReleaseFileNameInformation(name);
#endif
#if BUG == 4
    if (NT_SUCCESS(FltGetFileNameInformation(Data, FLT_FILE_NAME_SHORT | FLT_FILE_NAME_QUERY_DEFAULT, &name))) {
        FltReleaseFileNameInformation(name);
    }
#endif
#if BUG == 7
    return FLT_PREOP_DISALLOW_FASTIO;
#endif
#if BUG == 15
    *Context = Data;
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
#endif
    return secret ? Complete(Data, STATUS_ACCESS_DENIED) : FLT_PREOP_SUCCESS_WITH_CALLBACK;
}

static FLT_POSTOP_CALLBACK_STATUS FLTAPI PostCreate(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID Context,
                                                    FLT_POST_OPERATION_FLAGS Flags)
{
    STREAM *stream, *old = NULL;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Flags);
    if (!NT_SUCCESS(Data->IoStatus.Status)) {
        return FLT_POSTOP_FINISHED_PROCESSING;
    }
    if (Ends(&Objects->FileObject->FileName, L"late.txt")) {
#if BUG != 14
        FltCancelFileOpen(Objects->Instance, Objects->FileObject);
#endif
        Data->IoStatus.Status = STATUS_VIRUS_INFECTED;
        Data->IoStatus.Information = 0;
        return FLT_POSTOP_FINISHED_PROCESSING;
    }
    status = FltAllocateContext(Filter, FLT_STREAM_CONTEXT, sizeof(*stream), NonPagedPoolNx, (PFLT_CONTEXT *)&stream);
    if (NT_SUCCESS(status)) {
        stream->Reads = 0;
        status = FltSetStreamContext(Objects->Instance, Objects->FileObject, FLT_SET_CONTEXT_KEEP_IF_EXISTS, stream,
                                     (PFLT_CONTEXT *)&old);
        if (old != NULL) {
            FltReleaseContext(old);
        }
#if BUG != 1
        FltReleaseContext(stream);
#endif
    }
    return FLT_POSTOP_FINISHED_PROCESSING;
}

static VOID FLTAPI Resume(PFLT_DEFERRED_IO_WORKITEM Item, PFLT_CALLBACK_DATA Data, PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    FltFreeDeferredIoWorkItem(Item);
    LOG("resume\n");
    FltCompletePendedPreOperation(Data, FLT_PREOP_SUCCESS_WITH_CALLBACK, NULL);
#if BUG == 10
    FltCompletePendedPreOperation(Data, FLT_PREOP_SUCCESS_WITH_CALLBACK, NULL);
#endif
}

static VOID Release(NTSTATUS Status)
{
    PFLT_CALLBACK_DATA held = Held;

    Held = NULL;
    if (held != NULL) {
        held->IoStatus.Status = Status;
        held->IoStatus.Information = 0;
        FltCompletePendedPreOperation(held, FLT_PREOP_COMPLETE, NULL);
    }
}

static VOID FLTAPI Canceled(PFLT_CALLBACK_DATA Data)
{
    UNREFERENCED_PARAMETER(Data);
    LOG("canceled\n");
    Release(STATUS_CANCELLED);
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreRead(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    PFLT_DEFERRED_IO_WORKITEM item;

    UNREFERENCED_PARAMETER(Context);
#if BUG == 9
    Data->Iopb->Parameters.Read.Length = 1;
#endif
    if (Ends(&Objects->FileObject->FileName, L"held.txt")) {
        Held = Data;
#if BUG != 5
        if (!NT_SUCCESS(FltSetCancelCompletion(Data, Canceled))) {
            Held = NULL;
            return Complete(Data, STATUS_CANCELLED);
        }
#else
        UNREFERENCED_PARAMETER(Canceled);
#endif
        return FLT_PREOP_PENDING;
    }
    if (Ends(&Objects->FileObject->FileName, L"slow.txt")) {
        item = FltAllocateDeferredIoWorkItem();
        if (item == NULL) {
            return Complete(Data, STATUS_INSUFFICIENT_RESOURCES);
        }
        if (NT_SUCCESS(FltQueueDeferredIoWorkItem(item, Data, Resume, DelayedWorkQueue, NULL))) {
            return FLT_PREOP_PENDING;
        }
        FltFreeDeferredIoWorkItem(item);
    }
    return FLT_PREOP_SUCCESS_WITH_CALLBACK;
}

static FLT_POSTOP_CALLBACK_STATUS FLTAPI Finish(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID Context,
                                                FLT_POST_OPERATION_FLAGS Flags)
{
    STREAM *stream;
    PUCHAR byte, end;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Flags);
    byte = Data->Iopb->Parameters.Read.ReadBuffer;
    for (end = byte + Data->IoStatus.Information; byte < end; byte++) {
        if (*byte >= 'a' && *byte <= 'z') {
            *byte -= 'a' - 'A';
        }
    }
    if (NT_SUCCESS(FltGetStreamContext(Objects->Instance, Objects->FileObject, (PFLT_CONTEXT *)&stream))) {
        LOG("read %u of this stream\n", ++stream->Reads);
        FltReleaseContext(stream);
    }
    return FLT_POSTOP_FINISHED_PROCESSING;
}

static FLT_POSTOP_CALLBACK_STATUS FLTAPI PostRead(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID Context,
                                                  FLT_POST_OPERATION_FLAGS Flags)
{
    FLT_POSTOP_CALLBACK_STATUS status = FLT_POSTOP_FINISHED_PROCESSING;

    if (FlagOn(Flags, FLTFL_POST_OPERATION_DRAINING) || !NT_SUCCESS(Data->IoStatus.Status)) {
        return status;
    }
#if BUG == 3
    PFLT_FILE_NAME_INFORMATION name;
    if (NT_SUCCESS(FltGetFileNameInformation(Data, FLT_FILE_NAME_OPENED | FLT_FILE_NAME_QUERY_DEFAULT, &name))) {
        FltReleaseFileNameInformation(name);
    }
#endif
#if BUG == 6
    return Finish(Data, Objects, Context, Flags);
#endif
    if (!FltDoCompletionProcessingWhenSafe(Data, Objects, Context, Flags, Finish, &status)) {
        Data->IoStatus.Status = STATUS_UNSUCCESSFUL;
        Data->IoStatus.Information = 0;
    }
    return status;
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreWrite(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    LARGE_INTEGER timeout = {.QuadPart = -10000000};
    CHAR reply[4] = {0};
    ULONG length = sizeof(reply);
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Context);
    if (ClientPort == NULL) {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    status = FltSendMessage(Filter, &ClientPort, Data->Iopb->Parameters.Write.WriteBuffer,
                            Data->Iopb->Parameters.Write.Length, reply, &length, &timeout);
    LOG("write: %08x %u\n", status, length);
    if (status == STATUS_SUCCESS && reply[0] == 'n') {
        return Complete(Data, STATUS_ACCESS_DENIED);
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreSet(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    PFILE_RENAME_INFORMATION rename;
    PFLT_FILE_NAME_INFORMATION name;

    UNREFERENCED_PARAMETER(Context);
    if (Data->Iopb->Parameters.SetFileInformation.FileInformationClass == FileRenameInformation) {
        rename = Data->Iopb->Parameters.SetFileInformation.InfoBuffer;
        if (NT_SUCCESS(FltGetDestinationFileNameInformation(
                Objects->Instance, Objects->FileObject, rename->RootDirectory, rename->FileName, rename->FileNameLength,
                FLT_FILE_NAME_NORMALIZED | FLT_FILE_NAME_QUERY_DEFAULT, &name))) {
            LOG("rename to %wZ\n", &name->Name);
            FltReleaseFileNameInformation(name);
        }
    }
    return FLT_PREOP_SYNCHRONIZE;
}

static FLT_POSTOP_CALLBACK_STATUS FLTAPI PostSet(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID Context,
                                                 FLT_POST_OPERATION_FLAGS Flags)
{
    FILE_STANDARD_INFORMATION standard;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Flags);
    if (NT_SUCCESS(FltQueryInformationFile(Objects->Instance, Objects->FileObject, &standard, sizeof(standard),
                                           FileStandardInformation, NULL))) {
        LOG("set: %08x, deleted: %u\n", Data->IoStatus.Status, standard.DeletePending);
    }
    return FLT_POSTOP_FINISHED_PROCESSING;
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreClose(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Data);
#if BUG == 8
    return Complete(Data, STATUS_ACCESS_DENIED);
#elif BUG == 13
    return FLT_PREOP_SUCCESS_WITH_CALLBACK;
#else
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
#endif
}

static NTSTATUS FLTAPI Setup(PCFLT_RELATED_OBJECTS Objects, FLT_INSTANCE_SETUP_FLAGS Flags, DEVICE_TYPE Device,
                             FLT_FILESYSTEM_TYPE FileSystem)
{
    WCHAR buffer[64];
    UNICODE_STRING name = {.MaximumLength = sizeof(buffer), .Buffer = buffer};
    NTSTATUS status = FltGetVolumeName(Objects->Volume, &name, NULL);

    LOG("setup %u %u %u: %08x %wZ\n", Flags, Device, FileSystem, status, &name);
    return STATUS_SUCCESS;
}

static NTSTATUS FLTAPI QueryTeardown(PCFLT_RELATED_OBJECTS Objects, FLT_INSTANCE_QUERY_TEARDOWN_FLAGS Flags)
{
    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Flags);
    return STATUS_SUCCESS;
}

static VOID FLTAPI TeardownStart(PCFLT_RELATED_OBJECTS Objects, FLT_INSTANCE_TEARDOWN_FLAGS Flags)
{
    UNREFERENCED_PARAMETER(Objects);
    LOG("teardown %u\n", Flags);
#if BUG != 16
    Release(STATUS_FILE_FORCED_CLOSED);
#endif
}

static VOID FLTAPI CleanUp(PFLT_CONTEXT Context, FLT_CONTEXT_TYPE Type)
{
    UNREFERENCED_PARAMETER(Context);
    LOG("context %u gone\n", Type);
}

static NTSTATUS FLTAPI Connect(PFLT_PORT Port, PVOID Cookie, PVOID Context, ULONG Size, PVOID *PortCookie)
{
    UNREFERENCED_PARAMETER(Cookie);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Size);
    ClientPort = Port;
    *PortCookie = NULL;
    return STATUS_SUCCESS;
}

static VOID FLTAPI Disconnect(PVOID Cookie)
{
    UNREFERENCED_PARAMETER(Cookie);
    FltCloseClientPort(Filter, &ClientPort);
    LOG("disconnected\n");
}

static NTSTATUS FLTAPI Message(PVOID Cookie, PVOID Input, ULONG InputLength, PVOID Output, ULONG OutputLength,
                               PULONG Returned)
{
    UNREFERENCED_PARAMETER(Cookie);
    if (Output == NULL || OutputLength < InputLength) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    RtlCopyMemory(Output, Input, InputLength);
    *Returned = InputLength;
    return STATUS_SUCCESS;
}

static NTSTATUS FLTAPI Unload(FLT_FILTER_UNLOAD_FLAGS Flags)
{
    UNREFERENCED_PARAMETER(Flags);
#if BUG != 11
    FltCloseCommunicationPort(ServerPort);
#endif
#if BUG != 12
    FltUnregisterFilter(Filter);
#endif
    return STATUS_SUCCESS;
}

static const FLT_OPERATION_REGISTRATION Operations[] = {
    {IRP_MJ_CREATE, 0, PreCreate, PostCreate},
    {IRP_MJ_READ, 0, PreRead, PostRead},
    {IRP_MJ_WRITE, 0, PreWrite, NULL},
    {IRP_MJ_SET_INFORMATION, 0, PreSet, PostSet},
    {IRP_MJ_CLOSE, 0, PreClose, NULL},
    {IRP_MJ_OPERATION_END},
};

static const FLT_CONTEXT_REGISTRATION Contexts[] = {
    {FLT_STREAM_CONTEXT, 0, CleanUp, sizeof(STREAM), TAG},
    {FLT_CONTEXT_END},
};

static const FLT_REGISTRATION Registration = {
    .Size = sizeof(FLT_REGISTRATION),
    .Version = FLT_REGISTRATION_VERSION,
    .ContextRegistration = Contexts,
    .OperationRegistration = Operations,
    .FilterUnloadCallback = Unload,
    .InstanceSetupCallback = Setup,
    .InstanceQueryTeardownCallback = QueryTeardown,
    .InstanceTeardownStartCallback = TeardownStart,
};

/* Reports who gets which access. */
static VOID Describe(PSECURITY_DESCRIPTOR Security)
{
    BOOLEAN present = FALSE, defaulted;
    PACL list = NULL;
    PACCESS_ALLOWED_ACE entry;
    UNICODE_STRING account;
    ULONG index;

    RtlGetDaclSecurityDescriptor(Security, &present, &list, &defaulted);
    for (index = 0; present && NT_SUCCESS(RtlGetAce(list, index, (PVOID *)&entry)); index++) {
        if (NT_SUCCESS(RtlConvertSidToUnicodeString(&account, &entry->SidStart, TRUE))) {
            LOG("%wZ gets %08x\n", &account, entry->Mask);
            RtlFreeUnicodeString(&account);
        }
    }
    LOG("entries: %u\n", index);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    PSECURITY_DESCRIPTOR security;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Path);
    status = FltRegisterFilter(Driver, &Registration, &Filter);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    status = FltBuildDefaultSecurityDescriptor(&security, FLT_PORT_ALL_ACCESS);
    if (NT_SUCCESS(status)) {
        Describe(security);
        RtlInitUnicodeString(&name, L"\\FilterPort");
        InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE | OBJ_CASE_INSENSITIVE, NULL, security);
        status = FltCreateCommunicationPort(Filter, &ServerPort, &attributes, NULL, Connect, Disconnect, Message, 1);
        FltFreeSecurityDescriptor(security);
    }
    if (NT_SUCCESS(status)) {
        status = FltStartFiltering(Filter);
        if (!NT_SUCCESS(status)) {
            FltCloseCommunicationPort(ServerPort);
        }
    }
    if (!NT_SUCCESS(status)) {
        FltUnregisterFilter(Filter);
    }
    return status;
}
