/* A driver like a security product: notification routines for processes, threads, images, the registry and handles.
   It denies one process, one key and one value, and removes PROCESS_TERMINATE from handles. With BUG 1 it does not
   remove its thread routine, with BUG 3 not the routine of its callback object. */

#include "plain.h"

typedef struct {
    SIZE_T Size;
    ULONG Flags;
    HANDLE ParentProcessId;
    HANDLE CreatingThreadId[2];
    PVOID FileObject;
    PUNICODE_STRING ImageFileName, CommandLine;
    NTSTATUS CreationStatus;
} CREATE_INFO;

typedef struct {
    PVOID Object;
    PUNICODE_STRING ValueName;
    ULONG TitleIndex, Type;
    PVOID Data;
    ULONG DataSize;
} SET_VALUE;

typedef struct {
    ULONG Operation, Flags;
    PVOID Object, ObjectType, CallContext;
    ULONG *Parameters;
} PRE_OPERATION;

typedef struct {
    PVOID ObjectType;
    ULONG Operations;
    PVOID Pre, Post;
} OPERATION;

typedef struct {
    USHORT Version, Count;
    UNICODE_STRING Altitude;
    PVOID Context;
    OPERATION *Operations;
} REGISTRATION;

static LARGE_INTEGER Cookie;
static PVOID Handles;
static OPERATION Operations[1];

static PVOID LookUp(PWSTR Name)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

#define ROUTINE(type, name, ...) type(NTAPI *name)(__VA_ARGS__) = LookUp(L## #name)

/* The name of a process's image, from its object and from a handle to it. */
static VOID LogImage(PVOID Process)
{
    ROUTINE(NTSTATUS, SeLocateProcessImageName, PVOID, PUNICODE_STRING *);
    ROUTINE(NTSTATUS, ObOpenObjectByPointer, PVOID, ULONG, PVOID, ULONG, PVOID, UCHAR, HANDLE *);
    ROUTINE(NTSTATUS, ZwQueryInformationProcess, HANDLE, LONG, PVOID, ULONG, ULONG *);
    UNICODE_STRING *located, queried[16];
    HANDLE handle;
    ULONG length, needed;

    if (SeLocateProcessImageName(Process, &located) < 0) {
        return;
    }
    if (ObOpenObjectByPointer(Process, OBJ_KERNEL_HANDLE, NULL, 0, NULL, 0, &handle) >= 0) {
        LOG("too short: %08x\n", ZwQueryInformationProcess(handle, 27, queried, sizeof(*queried), &needed));
        LOG("queried: %08x\n", ZwQueryInformationProcess(handle, 27, queried, sizeof(queried), &length));
        LOG("%wZ, %wZ, %d\n", located, queried, length == needed && needed == sizeof(*queried) + queried->MaximumLength);
        ZwClose(handle);
    }
    ExFreePool(located);
}

static VOID NTAPI OnProcess(PVOID Process, HANDLE Id, CREATE_INFO *Info)
{
    ROUTINE(HANDLE, PsGetProcessId, PVOID);

    if (Info == NULL) {
        LOG("process %u ends\n", (ULONG)(ULONG_PTR)Id);
        return;
    }
    LOG("process %u of %u: %wZ, '%wZ', its object %d\n", (ULONG)(ULONG_PTR)Id, (ULONG)(ULONG_PTR)Info->ParentProcessId,
        Info->ImageFileName, Info->CommandLine, PsGetProcessId(Process) == Id && *(UCHAR *)Process == 3);
    LogImage(Process);
    if (Info->CommandLine->Length == 8) {
        Info->CreationStatus = STATUS_ACCESS_DENIED;
    }
}

static VOID NTAPI OnThread(HANDLE Process, HANDLE Thread, BOOLEAN Create)
{
    LOG("thread %u of %u %s\n", (ULONG)(ULONG_PTR)Thread, (ULONG)(ULONG_PTR)Process, Create ? "begins" : "ends");
}

static VOID NTAPI OnImage(PUNICODE_STRING Name, HANDLE Process, PVOID Info)
{
    LOG("image %wZ in %u, %u bytes\n", Name, (ULONG)(ULONG_PTR)Process, (ULONG)((ULONG64 *)Info)[3]);
}

typedef struct {
    PVOID Object;
    NTSTATUS Status;
    PVOID PreInformation;
    NTSTATUS ReturnStatus;
    PVOID CallContext;
} POST_OPERATION;

static NTSTATUS NTAPI OnRegistry(PVOID Context, PVOID Operation, PVOID Information)
{
    ROUTINE(NTSTATUS, CmCallbackGetKeyObjectIDEx, PLARGE_INTEGER, PVOID, PULONG_PTR, PUNICODE_STRING *, ULONG);
    ROUTINE(VOID, CmCallbackReleaseKeyObjectIDEx, PUNICODE_STRING);
    ULONG operation = (ULONG)(ULONG_PTR)Operation;
    SET_VALUE *value = Information;
    POST_OPERATION *post = Information;
    PVOID *words = Information; /* object and name; name and object for keys that are created or opened */
    PUNICODE_STRING key = NULL;

    switch (operation) {
    case 1: /* RegNtPreSetValueKey */
        LOG("registry 1, context %u: %wZ, type %u, %u bytes\n", (ULONG)(ULONG_PTR)Context, value->ValueName, value->Type,
            value->DataSize);
        return value->Type == 3 ? STATUS_ACCESS_DENIED : 0;
    case 0: /* RegNtPreDeleteKey */
        CmCallbackGetKeyObjectIDEx(&Cookie, words[0], NULL, &key, 0);
        LOG("registry 0: %wZ\n", key);
        CmCallbackReleaseKeyObjectIDEx(key);
        words[1] = (PVOID)77;
        return 0;
    case 2:  /* RegNtPreDeleteValueKey */
    case 4:  /* RegNtPreRenameKey */
    case 8:  /* RegNtPreQueryValueKey */
        LOG("registry %u: %wZ\n", operation, words[1]);
        return 0;
    case 26: /* RegNtPreCreateKeyEx */
    case 28: /* RegNtPreOpenKeyEx */
        LOG("registry %u: %wZ\n", operation, words[0]);
        return ((PUNICODE_STRING)words[0])->Length == 12 ? STATUS_ACCESS_DENIED : 0;
    default:
        LOG("registry %u after: %x, context %u\n", operation, post->Status, (ULONG)(ULONG_PTR)post->CallContext);
        return 0;
    }
}

/* The driver's own registry operations also run the callback. */
static VOID Use(PUNICODE_STRING Path)
{
    ROUTINE(NTSTATUS, ZwRenameKey, HANDLE, PUNICODE_STRING);
    OBJECT_ATTRIBUTES attributes = {sizeof(attributes)};
    HANDLE own, key;
    UNICODE_STRING name, value, secret;
    ULONG data = 5, length, disposition = 0;
    UCHAR room[64];
    NTSTATUS status;

    RtlInitUnicodeString(&name, L"Below");
    RtlInitUnicodeString(&value, L"Number");
    RtlInitUnicodeString(&secret, L"Secret");
    attributes.ObjectName = Path;
    attributes.Attributes = 0x240; /* OBJ_KERNEL_HANDLE, OBJ_CASE_INSENSITIVE */
    status = ZwOpenKey(&own, 0xF003F, &attributes);
    LOG("own key: %x\n", status);
    attributes.RootDirectory = own;
    attributes.ObjectName = &secret;
    LOG("secret: %x\n", ZwCreateKey(&key, 0xF003F, &attributes, 0, NULL, 0, NULL));
    attributes.ObjectName = &name;
    status = ZwCreateKey(&key, 0xF003F, &attributes, 0, NULL, 0, &disposition);
    LOG("created: %x, %u\n", status, disposition);
    LOG("set: %x\n", ZwSetValueKey(key, &value, 0, 4, &data, sizeof(data)));
    LOG("refused: %x\n", ZwSetValueKey(key, &value, 0, 3, &data, sizeof(data)));
    LOG("query: %x\n", ZwQueryValueKey(key, &value, 2, room, sizeof(room), &length));
    LOG("delete value: %x\n", ZwDeleteValueKey(key, &value));
    LOG("gone: %x\n", ZwQueryValueKey(key, &value, 2, room, sizeof(room), &length));
    RtlInitUnicodeString(&name, L"Renamed");
    LOG("rename: %x\n", ZwRenameKey(key, &name));
    LOG("delete: %x\n", ZwDeleteKey(key));
    ZwClose(key);
    ZwClose(own);
}

static ULONG NTAPI OnHandle(PVOID Context, PRE_OPERATION *Operation)
{
    LOG("handle %u, context %u, rights %x\n", Operation->Operation, (ULONG)(ULONG_PTR)Context, Operation->Parameters[0]);
    /* PROCESS_TERMINATE. */
    Operation->Parameters[0] &= ~1u;
    return 0;
}

#if BUG == 3
static PCALLBACK_OBJECT Object;

static VOID NTAPI OnCallback(PVOID Context, PVOID One, PVOID Two)
{
    (void)Two;
    LOG("callback, context %u, argument %u\n", (ULONG)(ULONG_PTR)Context, (ULONG)(ULONG_PTR)One);
}

/* Notifies before and after the registration. The routine of the driver's previous instance must not be called. */
static NTSTATUS RegisterCallback(void)
{
    OBJECT_ATTRIBUTES attributes = {sizeof(attributes)};
    UNICODE_STRING name;
    NTSTATUS status;

    RtlInitUnicodeString(&name, L"\\Callback\\CNotify");
    attributes.ObjectName = &name;
    status = ExCreateCallback(&Object, &attributes, TRUE, TRUE);
    if (status < 0) {
        return status;
    }
    ExNotifyCallback(Object, (PVOID)1, NULL);
    if (ExRegisterCallback(Object, OnCallback, (PVOID)5) == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    ExNotifyCallback(Object, (PVOID)2, NULL);
    return 0;
}
#endif

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    ROUTINE(NTSTATUS, PsSetCreateProcessNotifyRoutineEx, PVOID, BOOLEAN);
    ROUTINE(NTSTATUS, PsRemoveCreateThreadNotifyRoutine, PVOID);
    ROUTINE(NTSTATUS, PsRemoveLoadImageNotifyRoutine, PVOID);
    ROUTINE(NTSTATUS, CmUnRegisterCallback, LARGE_INTEGER);
    ROUTINE(VOID, ObUnRegisterCallbacks, PVOID);

    (void)Driver;
    PsSetCreateProcessNotifyRoutineEx(OnProcess, TRUE);
    PsRemoveLoadImageNotifyRoutine(OnImage);
    CmUnRegisterCallback(Cookie);
    ObUnRegisterCallbacks(Handles);
#if BUG != 1
    PsRemoveCreateThreadNotifyRoutine(OnThread);
#else
    (void)PsRemoveCreateThreadNotifyRoutine;
#endif
#if BUG == 3
    ObDereferenceObject(Object);
#endif
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ROUTINE(NTSTATUS, PsSetCreateProcessNotifyRoutineEx, PVOID, BOOLEAN);
    ROUTINE(NTSTATUS, PsSetCreateThreadNotifyRoutine, PVOID);
    ROUTINE(NTSTATUS, PsSetLoadImageNotifyRoutine, PVOID);
    ROUTINE(NTSTATUS, CmRegisterCallbackEx, PVOID, PUNICODE_STRING, PVOID, PVOID, PLARGE_INTEGER, PVOID);
    ROUTINE(NTSTATUS, ObRegisterCallbacks, REGISTRATION *, PVOID *);
    REGISTRATION registration = {0x100, 1, {0}, (PVOID)9, Operations};
    UNICODE_STRING altitude;

    (void)Path;
    Driver->DriverUnload = Unload;
    RtlInitUnicodeString(&altitude, L"320000");
    registration.Altitude = altitude;
    Operations[0].ObjectType = LookUp(L"PsProcessType");
    Operations[0].Operations = 1;
    Operations[0].Pre = OnHandle;
    if (PsSetCreateProcessNotifyRoutineEx(OnProcess, FALSE) != 0 ||
        /* Registering the same routine again fails. */
        PsSetCreateProcessNotifyRoutineEx(OnProcess, FALSE) != STATUS_INVALID_PARAMETER ||
        PsSetCreateThreadNotifyRoutine(OnThread) != 0 || PsSetLoadImageNotifyRoutine(OnImage) != 0 ||
        CmRegisterCallbackEx(OnRegistry, &altitude, Driver, (PVOID)7, &Cookie, NULL) != 0 ||
        ObRegisterCallbacks(&registration, &Handles) != 0) {
        return STATUS_UNSUCCESSFUL;
    }
#if BUG == 2
    Use(Path);
#else
    (void)Use;
#endif
#if BUG == 3
    return RegisterCallback();
#else
    return 0;
#endif
}
