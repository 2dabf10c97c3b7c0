/* A traced minifilter for the fuzzer. It keeps the names of files, looks at programs that are written, and takes messages. Without
   BUG, the same minifilter without its bugs: it trusts the length of a name, of a program and in a message. */

#include <fltKernel.h>

#define TAG 'zzuF'
#define NAME 32
#define PROGRAM 512
#define SETTINGS 40

typedef struct {
    ULONG Command;
    ULONG Length;
    UCHAR Data[1];
} MESSAGE;

static const GUID Provider = {0x3b4a1f60, 0x0003, 0x4a5b, {0x90, 0x00, 1, 2, 3, 4, 5, 6}};
static REGHANDLE Trace;
static PFLT_FILTER Filter;
static PFLT_PORT ServerPort, ClientPort;

static PVOID Allocate(SIZE_T Size)
{
    return ExAllocatePoolWithTag(NonPagedPoolNx, Size, TAG);
}

/* Keeps the last part of a name. */
static VOID KeepName(PFLT_FILE_NAME_INFORMATION Name)
{
    PWCHAR copy;

    EtwWriteString(Trace, 4, 0, NULL, L"name");
    if (!BUG && Name->FinalComponent.Length > NAME * sizeof(WCHAR)) {
        return;
    }
    copy = Allocate(NAME * sizeof(WCHAR));
    if (copy != NULL) {
        RtlCopyMemory(copy, Name->FinalComponent.Buffer, Name->FinalComponent.Length);
        ExFreePoolWithTag(copy, TAG);
    }
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreCreate(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    PFLT_FILE_NAME_INFORMATION name;

    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Context);
    if (NT_SUCCESS(FltGetFileNameInformation(Data, FLT_FILE_NAME_NORMALIZED | FLT_FILE_NAME_QUERY_DEFAULT, &name))) {
        if (NT_SUCCESS(FltParseFileNameInformation(name))) {
            KeepName(name);
        }
        FltReleaseFileNameInformation(name);
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
}

/* Looks at a program: it begins with "MZ". */
static VOID LookAtProgram(const UCHAR *Bytes, ULONG Length)
{
    UCHAR *copy;

    if (Length < 2 || *(const USHORT *)Bytes != 0x5A4D) {
        return;
    }
    copy = Allocate(PROGRAM);
    if (copy != NULL) {
        if (!BUG && Length > PROGRAM) {
            Length = PROGRAM;
        }
        RtlCopyMemory(copy, Bytes, Length);
        ExFreePoolWithTag(copy, TAG);
    }
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreWrite(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    UNREFERENCED_PARAMETER(Objects);
    UNREFERENCED_PARAMETER(Context);
    __try {
        LookAtProgram(Data->Iopb->Parameters.Write.WriteBuffer, Data->Iopb->Parameters.Write.Length);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Data->IoStatus.Status = GetExceptionCode();
        return FLT_PREOP_COMPLETE;
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
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
}

/* Takes settings of a length that the message says. */
static NTSTATUS FLTAPI Message(PVOID Cookie, PVOID Input, ULONG InputLength, PVOID Output, ULONG OutputLength, PULONG Returned)
{
    MESSAGE *message = Input;
    UCHAR *settings;

    UNREFERENCED_PARAMETER(Cookie);
    UNREFERENCED_PARAMETER(Output);
    UNREFERENCED_PARAMETER(OutputLength);
    *Returned = 0;
    if (message == NULL || InputLength < FIELD_OFFSET(MESSAGE, Data) || message->Command != 0x51) {
        return STATUS_INVALID_PARAMETER;
    }
    if (!BUG && (message->Length > SETTINGS || message->Length > InputLength - FIELD_OFFSET(MESSAGE, Data))) {
        return STATUS_INVALID_PARAMETER;
    }
    settings = Allocate(SETTINGS);
    if (settings == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    RtlCopyMemory(settings, message->Data, message->Length);
    ExFreePoolWithTag(settings, TAG);
    return STATUS_SUCCESS;
}

static NTSTATUS FLTAPI Unload(FLT_FILTER_UNLOAD_FLAGS Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    FltCloseCommunicationPort(ServerPort);
    FltUnregisterFilter(Filter);
    if (Trace != 0) {
        EtwUnregister(Trace);
    }
    return STATUS_SUCCESS;
}

static const FLT_OPERATION_REGISTRATION Operations[] = {
    {IRP_MJ_CREATE, 0, PreCreate, NULL},
    {IRP_MJ_WRITE, 0, PreWrite, NULL},
    {IRP_MJ_OPERATION_END},
};

static const FLT_REGISTRATION Registration = {
    .Size = sizeof(FLT_REGISTRATION),
    .Version = FLT_REGISTRATION_VERSION,
    .OperationRegistration = Operations,
    .FilterUnloadCallback = Unload,
};

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
        RtlInitUnicodeString(&name, L"\\FuzzPort");
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
    } else if (!NT_SUCCESS(EtwRegister(&Provider, NULL, NULL, &Trace))) {
        Trace = 0;
    }
    return status;
}
