/* A WDM driver that checks documented behaviour: counts and names of objects, directories, threads, processors, waiters,
   stacks and files. */

#include "steps.h"

/* The headers have a macro of this name. The drivers look up the routine. */
#undef PsGetCurrentThread

#define ROUTINE(type, name, ...) type(NTAPI *name)(__VA_ARGS__) = LookUp(L## #name)
#define OBJ_PERMANENT_ 0x10
#define OBJ_OPENIF_ 0x80
#define OBJ_KERNEL_HANDLE_ 0x240 /* and OBJ_CASE_INSENSITIVE */

typedef struct {
    ULONG Attributes, GrantedAccess, HandleCount, PointerCount, Reserved[10];
} BASIC;

static PDEVICE_OBJECT TheDevice;
static UNICODE_STRING Name;
static OBJECT_ATTRIBUTES Attributes;

static POBJECT_ATTRIBUTES Named(PWSTR Text, HANDLE Root, ULONG Flags)
{
    RtlInitUnicodeString(&Name, Text);
    Attributes.Length = sizeof Attributes;
    Attributes.RootDirectory = Root;
    Attributes.ObjectName = Text == NULL ? NULL : &Name;
    Attributes.Attributes = OBJ_KERNEL_HANDLE_ | Flags;
    return &Attributes;
}

static NTSTATUS Create(PHANDLE Handle, PWSTR Text, HANDLE Root, ULONG Flags)
{
    return (NTSTATUS)CALL(ANY, "ZwCreateEvent", Handle, 0x1F0003, Named(Text, Root, Flags), 0, FALSE);
}

static BOOLEAN Counts(HANDLE Handle, ULONG Handles, ULONG Pointers)
{
    BASIC basic;
    ULONG length = 0;

    return (NTSTATUS)CALL(ANY, "ZwQueryObject", Handle, 0, &basic, sizeof basic, &length) == 0 &&
           length == sizeof basic && basic.HandleCount == Handles && basic.PointerCount == Pointers;
}

/* A handle is a reference, a name is one, and so is the query itself. */
static NTSTATUS References(void)
{
    ROUTINE(NTSTATUS, ZwDuplicateObject, HANDLE, HANDLE, HANDLE, PHANDLE, ULONG, ULONG, ULONG);
    ROUTINE(LONG_PTR, ObfReferenceObject, PVOID);
    HANDLE handle, second, named;
    PVOID object, same;

    CHECK(Create(&handle, NULL, NULL, 0) == 0 && Counts(handle, 1, 2));
    CHECK(ZwDuplicateObject((HANDLE)-1, handle, (HANDLE)-1, &second, 0, 0, 2) == 0 && Counts(handle, 2, 3));
    CHECK(ObReferenceObjectByHandle(handle, 0, *ExEventObjectType, 0, &object, NULL) == 0 && Counts(handle, 2, 4));
    CHECK(ObfReferenceObject(object) == 4 && Counts(second, 2, 5));
    CHECK(ObfDereferenceObject(object) == 3);
    ZwClose(second);
    CHECK(Counts(handle, 1, 3));
    CHECK(ObReferenceObjectByHandle(handle, 0, NULL, 0, &same, NULL) == 0 && same == object);
    CHECK(ObfDereferenceObject(object) == 2 && ObfDereferenceObject(object) == 1);
    CHECK(Counts(handle, 1, 2));
    ZwClose(handle);
    CHECK(Create(&named, L"\\BaseNamedObjects\\CConform", NULL, 0) == 0 && Counts(named, 1, 3));
    CHECK(Create(&second, L"\\BASENAMEDOBJECTS\\cconform", NULL, OBJ_OPENIF_) == STATUS_OBJECT_NAME_EXISTS && Counts(named, 2, 4));
    ZwClose(second);
    ZwClose(named);
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryObject", named, 0, &object, 8, NULL) == STATUS_INVALID_HANDLE);
    return 0;
}

static NTSTATUS Names(void)
{
    ROUTINE(NTSTATUS, ZwOpenEvent, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwCreateDirectoryObject, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwOpenDirectoryObject, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwMakeTemporaryObject, HANDLE);
    ROUTINE(PVOID, IoCreateNotificationEvent, PUNICODE_STRING, PHANDLE);
    struct {
        UNICODE_STRING Name;
        WCHAR Text[64];
    } full;
    HANDLE directory, event, again, other;
    PVOID object, event_object;
    ULONG length;

    CHECK(ZwCreateDirectoryObject(&directory, 0xF000F, Named(L"\\CConform", NULL, 0)) == 0);
    CHECK(ZwCreateDirectoryObject(&again, 0xF000F, Named(L"\\cconform", NULL, 0)) == STATUS_OBJECT_NAME_COLLISION);
    CHECK(ZwCreateDirectoryObject(&again, 0xF000F, Named(L"\\cconform", NULL, OBJ_OPENIF_)) == STATUS_OBJECT_NAME_EXISTS);
    ZwClose(again);
    CHECK(Create(&event, L"Event", directory, 0) == 0);
    CHECK(Create(&again, L"\\CConform\\Event", NULL, 0) == STATUS_OBJECT_NAME_COLLISION);
    CHECK(Create(&again, L"\\CConform", NULL, OBJ_OPENIF_) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(Create(&again, L"\\Nowhere\\Event", NULL, 0) == STATUS_OBJECT_PATH_NOT_FOUND);
    CHECK(Create(&again, L"Event", NULL, 0) == STATUS_OBJECT_PATH_SYNTAX_BAD);
    CHECK(Create(&again, L"\\Event", directory, 0) == STATUS_OBJECT_PATH_SYNTAX_BAD);
    CHECK(Create(&again, L"Other", event, 0) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(ZwOpenEvent(&again, 2, Named(L"\\CConform\\EVENT", NULL, 0)) == 0);
    CHECK(ObReferenceObjectByHandle(event, 0, NULL, 0, &object, NULL) == 0);
    CHECK(ObReferenceObjectByHandle(again, 0, NULL, 0, &event_object, NULL) == 0 && object == event_object);
    CHECK((NTSTATUS)CALL(ANY, "ObQueryNameString", object, &full, (ULONG)sizeof full, &length) == 0);
    CHECK(full.Name.Length == 15 * 2 && full.Name.Buffer == full.Text && full.Text[10] == 'E');
    ObfDereferenceObject(object);
    ObfDereferenceObject(object);
    CHECK(ZwOpenEvent(&other, 2, Named(L"\\CConform", NULL, 0)) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(ZwOpenDirectoryObject(&other, 1, Named(L"Event", directory, 0)) == STATUS_OBJECT_TYPE_MISMATCH);
    ZwClose(event);
    CHECK(ZwOpenEvent(&event, 2, Named(L"Event", directory, 0)) == 0);
    ZwClose(event);
    ZwClose(again);
    /* The name of a temporary object goes with its last handle. */
    CHECK(ZwOpenEvent(&event, 2, Named(L"Event", directory, 0)) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(Create(&event, L"Event", directory, OBJ_PERMANENT_) == 0);
    ZwClose(event);
    CHECK(ZwOpenEvent(&event, 2, Named(L"Event", directory, 0)) == 0);
    CHECK(ZwMakeTemporaryObject(event) == 0);
    ZwClose(event);
    CHECK(ZwOpenEvent(&event, 2, Named(L"Event", directory, 0)) == STATUS_OBJECT_NAME_NOT_FOUND);
    /* These routines create an event or open the existing one. */
    RtlInitUnicodeString(&Name, L"\\CConform\\Shared");
    object = IoCreateNotificationEvent(&Name, &event);
    CHECK(object != NULL && IoCreateNotificationEvent(&Name, &again) == object && event != again);
    ZwClose(event);
    ZwClose(again);
    ZwClose(directory);
    CHECK(ZwOpenDirectoryObject(&directory, 1, Named(L"\\CConform", NULL, 0)) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(ZwOpenDirectoryObject(&directory, 1, Named(L"\\Nowhere\\At\\All", NULL, 0)) == STATUS_OBJECT_PATH_NOT_FOUND);
    return 0;
}

typedef struct {
    UNICODE_STRING Name, TypeName;
} ENTRY;

static NTSTATUS Directories(void)
{
    ROUTINE(NTSTATUS, ZwCreateDirectoryObject, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwOpenDirectoryObject, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwQueryDirectoryObject, HANDLE, PVOID, ULONG, BOOLEAN, BOOLEAN, PULONG, PULONG);
    static union {
        ENTRY Entries[16];
        UCHAR Bytes[4096];
    } buffer;
    HANDLE directory, inner, event, devices;
    ULONG position = 0, length = 0, index, found = 0;

    CHECK(ZwCreateDirectoryObject(&directory, 0xF000F, Named(L"\\CConform", NULL, 0)) == 0);
    CHECK(ZwQueryDirectoryObject(directory, &buffer, sizeof buffer, FALSE, TRUE, &position, &length) ==
          STATUS_NO_MORE_ENTRIES);
    CHECK(ZwCreateDirectoryObject(&inner, 0xF000F, Named(L"Inner", directory, 0)) == 0);
    CHECK(Create(&event, L"Event", directory, 0) == 0);
    CHECK(ZwQueryDirectoryObject(directory, &buffer, sizeof buffer, FALSE, TRUE, &position, &length) == 0);
    CHECK(position == 2 && buffer.Entries[0].Name.Length == 10 && buffer.Entries[0].TypeName.Length == 10);
    CHECK(buffer.Entries[1].Name.Buffer[0] == 'I' && buffer.Entries[1].TypeName.Length == 18);
    CHECK(buffer.Entries[2].Name.Length == 0 && buffer.Entries[2].Name.Buffer == NULL);
    CHECK(ZwQueryDirectoryObject(directory, &buffer, sizeof buffer, FALSE, FALSE, &position, &length) ==
          STATUS_NO_MORE_ENTRIES);
    /* One at a time, and as many as fit. */
    CHECK(ZwQueryDirectoryObject(directory, &buffer, sizeof buffer, TRUE, TRUE, &position, &length) == 0);
    CHECK(position == 1 && buffer.Entries[1].Name.Buffer == NULL);
    CHECK(ZwQueryDirectoryObject(directory, &buffer, length, FALSE, TRUE, &position, &length) == 0x105 && position == 1);
    CHECK(ZwQueryDirectoryObject(directory, &buffer, 40, FALSE, TRUE, &position, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(length > 40);
    ZwClose(event);
    ZwClose(inner);
    ZwClose(directory);
    CHECK(ZwOpenDirectoryObject(&devices, 1, Named(L"\\Device", NULL, 0)) == 0);
    CHECK(ZwQueryDirectoryObject(devices, &buffer, sizeof buffer, FALSE, TRUE, &position, &length) == 0);
    for (index = 0; index < position; index++) {
        found += buffer.Entries[index].Name.Length == 16 && buffer.Entries[index].Name.Buffer[1] == 'C' &&
                 buffer.Entries[index].TypeName.Buffer[0] == 'D';
    }
    CHECK(found == 1);
    ZwClose(devices);
    return 0;
}

static KEVENT Go, Ready;
static PVOID Itself;
static HANDLE Number, Sharing;

static VOID NTAPI Thread(PVOID Context)
{
    ROUTINE(HANDLE, PsGetCurrentThreadId, VOID);
    ROUTINE(PVOID, KeGetCurrentThread, VOID);
    ROUTINE(PVOID, PsGetCurrentThread, VOID);

    (void)Context;
    Itself = PsGetCurrentThread() == KeGetCurrentThread() ? PsGetCurrentThread() : NULL;
    Number = PsGetCurrentThreadId();
    KeSetEvent(&Ready, 0, FALSE);
    KeWaitForSingleObject(&Go, 0, 0, FALSE, NULL);
    PsTerminateSystemThread(0);
}

static NTSTATUS Threads(void)
{
    ROUTINE(HANDLE, PsGetThreadId, PVOID);
    ROUTINE(NTSTATUS, PsLookupThreadByThreadId, HANDLE, PVOID *);
    ROUTINE(NTSTATUS, ZwOpenThread, PHANDLE, ULONG, POBJECT_ATTRIBUTES, CLIENT_ID *);
    PVOID *type = LookUp(L"PsThreadType");
    CLIENT_ID client;
    HANDLE handle, second;
    PVOID object, other;

    KeClearEvent(&Go);
    KeClearEvent(&Ready);
    CHECK(PsCreateSystemThread(&handle, 0, NULL, NULL, &client, Thread, NULL) == 0);
    /* The ID leads to the object at once, whether the thread has run or not. */
    CHECK(PsLookupThreadByThreadId(client.UniqueThread, &object) == 0);
    CHECK(ObReferenceObjectByHandle(handle, 0, *type, 0, &other, NULL) == 0 && object == other);
    CHECK(PsGetThreadId(object) == client.UniqueThread);
    CHECK(ZwOpenThread(&second, 0x1FFFFF, Named(NULL, NULL, 0), &client) == 0);
    ObfDereferenceObject(other);
    CHECK(ObReferenceObjectByHandle(second, 0, *type, 0, &other, NULL) == 0 && object == other);
    KeWaitForSingleObject(&Ready, 0, 0, FALSE, NULL);
    CHECK(Itself == object && Number == client.UniqueThread);
    KeSetEvent(&Go, 0, FALSE);
    CHECK(KeWaitForSingleObject(object, 0, 0, FALSE, NULL) == 0);
    /* An ended thread keeps its ID, which does not lead to it any more. */
    CHECK(PsGetThreadId(object) == client.UniqueThread);
    CHECK(PsLookupThreadByThreadId(client.UniqueThread, &other) < 0);
    ObfDereferenceObject(object);
    ObfDereferenceObject(object);
    ZwClose(second);
    ZwClose(handle);
    return 0;
}

static ULONG Ran;

static VOID NTAPI Deferred(PKDPC Dpc, PVOID Context, PVOID One, PVOID Two)
{
    (void)Dpc, (void)One, (void)Two;
    Ran = ((ULONG(NTAPI *)(ULONG *))Context)(NULL);
    KeSetEvent(&Ready, 0, FALSE);
}

static NTSTATUS Processors(void)
{
    ROUTINE(KAFFINITY, KeSetSystemAffinityThreadEx, KAFFINITY);
    ROUTINE(VOID, KeSetSystemAffinityThread, KAFFINITY);
    ROUTINE(VOID, KeRevertToUserAffinityThread, VOID);
    ROUTINE(VOID, KeRevertToUserAffinityThreadEx, KAFFINITY);
    ROUTINE(KAFFINITY, KeQueryActiveProcessors, VOID);
    ROUTINE(ULONG, KeGetCurrentProcessorNumberEx, ULONG *);
    ROUTINE(VOID, KeSetTargetProcessorDpc, PKDPC, CCHAR);
    KAFFINITY all = KeQueryActiveProcessors(), bit;
    ULONG number, place, inlined;
    KDPC dpc;

    for (number = 0, bit = 1; (all & bit) != 0; number++, bit <<= 1) {
        KeSetSystemAffinityThread(bit);
        CHECK(KeGetCurrentProcessorNumberEx(&place) == number && place == number << 16);
        /* The headers of the WDK read this member of the processor's block. */
        __asm__ volatile("mov %%gs:0x1A4, %0" : "=r"(inlined));
        CHECK(inlined == number);
        KeRevertToUserAffinityThread();
        CHECK(KeSetSystemAffinityThreadEx(bit) == 0 && KeGetCurrentProcessorNumberEx(NULL) == number);
        KeRevertToUserAffinityThreadEx(0);
        KeInitializeDpc(&dpc, Deferred, (PVOID)KeGetCurrentProcessorNumberEx);
        KeSetTargetProcessorDpc(&dpc, (CCHAR)number);
        KeClearEvent(&Ready);
        Ran = 99;
        CHECK(KeInsertQueueDpc(&dpc, NULL, NULL));
        KeWaitForSingleObject(&Ready, 0, 0, FALSE, NULL);
        CHECK(Ran == number);
    }
    CHECK(number == KeQueryActiveProcessorCount(&bit) && bit == all);
    return 0;
}

static ERESOURCE Resource;

static VOID NTAPI Waiter(PVOID Context)
{
    KeEnterCriticalRegion();
    if (Context == NULL) {
        ExAcquireResourceSharedLite(&Resource, TRUE);
    } else {
        ExAcquireResourceExclusiveLite(&Resource, TRUE);
    }
    ExReleaseResourceLite(&Resource);
    KeLeaveCriticalRegion();
    PsTerminateSystemThread(0);
}

/* Waits until as many threads wait for the resource as expected. */
static BOOLEAN AreWaiting(ULONG Shared, ULONG Exclusive)
{
    ROUTINE(ULONG, ExGetSharedWaiterCount, PERESOURCE);
    ROUTINE(ULONG, ExGetExclusiveWaiterCount, PERESOURCE);
    LARGE_INTEGER moment;
    ULONG tries;

    moment.QuadPart = MILLISECONDS(1);
    for (tries = 0; tries < 1000; tries++) {
        if (ExGetSharedWaiterCount(&Resource) == Shared && ExGetExclusiveWaiterCount(&Resource) == Exclusive) {
            return TRUE;
        }
        KeDelayExecutionThread(0, FALSE, &moment);
    }
    return FALSE;
}

static NTSTATUS Waiters(void)
{
    PVOID objects[3];
    HANDLE handle;
    ULONG index;

    CHECK(ExInitializeResourceLite(&Resource) == 0 && AreWaiting(0, 0));
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(&Resource, TRUE);
    for (index = 0; index < 3; index++) {
        CHECK(PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Waiter, index == 2 ? &Sharing : NULL) == 0);
        CHECK(ObReferenceObjectByHandle(handle, 0, NULL, 0, &objects[index], NULL) == 0);
        ZwClose(handle);
    }
    CHECK(AreWaiting(2, 1));
    ExReleaseResourceLite(&Resource);
    KeLeaveCriticalRegion();
    for (index = 0; index < 3; index++) {
        KeWaitForSingleObject(objects[index], 0, 0, FALSE, NULL);
        ObfDereferenceObject(objects[index]);
    }
    CHECK(AreWaiting(0, 0));
    ExDeleteResourceLite(&Resource);
    return 0;
}

static NTSTATUS Stacks(void)
{
    ROUTINE(VOID, IoGetStackLimits, ULONG_PTR *, ULONG_PTR *);
    ROUTINE(ULONG_PTR, IoGetRemainingStackSize, VOID);
    ROUTINE(PVOID, IoGetInitialStack, VOID);
    ROUTINE(ULONG, IoWithinStackLimits, ULONG_PTR, SIZE_T);
    ULONG_PTR low = 0, high = 0, here = (ULONG_PTR)&low;

    IoGetStackLimits(&low, &high);
    CHECK(low < here && here < high && high - low == 0x6000 && (low & 0xFFF) == 0);
    CHECK(IoGetRemainingStackSize() < here - low && IoGetRemainingStackSize() > here - low - 0x400);
    CHECK((ULONG_PTR)IoGetInitialStack() > here && (ULONG_PTR)IoGetInitialStack() <= high);
    CHECK(IoWithinStackLimits(here, 8) && !IoWithinStackLimits((ULONG_PTR)&Go, 8) && !IoWithinStackLimits(here, 0x6000));
    return 0;
}

typedef struct {
    LARGE_INTEGER AllocationSize, EndOfFile;
    ULONG NumberOfLinks;
    BOOLEAN DeletePending, Directory;
} STANDARD;

static IO_STATUS_BLOCK Block;

static NTSTATUS Open(PHANDLE Handle, PWSTR Path, ULONG Disposition, ULONG Options)
{
    ROUTINE(NTSTATUS, ZwCreateFile, PHANDLE, ULONG, POBJECT_ATTRIBUTES, PIO_STATUS_BLOCK, PLARGE_INTEGER, ULONG, ULONG,
            ULONG, ULONG, PVOID, ULONG);

    return ZwCreateFile(Handle, 0xC0100000, Named(Path, NULL, 0), &Block, NULL, 0x80, 0, Disposition, 0x20 | Options,
                        NULL, 0);
}

static BOOLEAN IsSize(HANDLE Handle, LONGLONG End, LONGLONG Allocation)
{
    STANDARD standard;

    return (NTSTATUS)CALL(ANY, "ZwQueryInformationFile", Handle, &Block, &standard, sizeof standard, 5) == 0 &&
           Block.Information == sizeof standard && standard.EndOfFile.QuadPart == End &&
           standard.AllocationSize.QuadPart == Allocation && standard.NumberOfLinks == 1 && !standard.Directory;
}

/* A file that the driver writes has the size of its data, and takes whole clusters. */
static NTSTATUS Files(void)
{
    ROUTINE(NTSTATUS, ZwReadFile, HANDLE, HANDLE, PVOID, PVOID, PIO_STATUS_BLOCK, PVOID, ULONG, PLARGE_INTEGER, PULONG);
    ROUTINE(NTSTATUS, ZwWriteFile, HANDLE, HANDLE, PVOID, PVOID, PIO_STATUS_BLOCK, PVOID, ULONG, PLARGE_INTEGER, PULONG);
    ROUTINE(NTSTATUS, ZwSetInformationFile, HANDLE, PIO_STATUS_BLOCK, PVOID, ULONG, ULONG);
    ROUTINE(NTSTATUS, FsRtlGetFileSize, PVOID, PLARGE_INTEGER);
    ROUTINE(NTSTATUS, ZwDeleteFile, POBJECT_ATTRIBUTES);
    LARGE_INTEGER size, offset;
    HANDLE file, folder;
    CHAR text[16] = {0};
    UCHAR yes = 1;
    PVOID object;

    CHECK(Open(&file, L"\\??\\C:\\conform.log", 1, 0) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(Open(&file, L"\\??\\C:\\Nowhere\\conform.log", 3, 0) == STATUS_OBJECT_PATH_NOT_FOUND);
    CHECK(Open(&file, L"\\??\\C:\\conform.log", 2, 0x40) == 0 && Block.Information == 2 && IsSize(file, 0, 0));
    CHECK(ZwReadFile(file, NULL, NULL, NULL, &Block, text, 4, NULL, NULL) == STATUS_END_OF_FILE);
    CHECK(ZwWriteFile(file, NULL, NULL, NULL, &Block, "hello, ", 7, NULL, NULL) == 0 && Block.Information == 7);
    CHECK(ZwWriteFile(file, NULL, NULL, NULL, &Block, "world", 5, NULL, NULL) == 0 && IsSize(file, 12, 0x1000));
    offset.QuadPart = 7;
    CHECK(ZwReadFile(file, NULL, NULL, NULL, &Block, text, 16, &offset, NULL) == 0 && Block.Information == 5);
    CHECK(text[0] == 'w' && text[4] == 'd' && text[5] == 0);
    offset.QuadPart = 0x2000;
    CHECK(ZwWriteFile(file, NULL, NULL, NULL, &Block, "!", 1, &offset, NULL) == 0 && IsSize(file, 0x2001, 0x3000));
    CHECK(ObReferenceObjectByHandle(file, 0, NULL, 0, &object, NULL) == 0);
    CHECK(FsRtlGetFileSize(object, &size) == 0 && size.QuadPart == 0x2001);
    ObfDereferenceObject(object);
    size.QuadPart = 5;
    CHECK(ZwSetInformationFile(file, &Block, &size, 8, 20) == 0 && IsSize(file, 5, 0x1000));
    size.QuadPart = 0x5000;
    CHECK(ZwSetInformationFile(file, &Block, &size, 8, 19) == 0 && IsSize(file, 5, 0x5000));
    CHECK(ZwDeleteFile(Named(L"\\??\\C:\\conform.log", NULL, 0)) < 0);
    ZwClose(file);
    CHECK(Open(&file, L"\\DosDevices\\c:\\CONFORM.LOG", 2, 0) == STATUS_OBJECT_NAME_COLLISION);
    CHECK(Open(&file, L"\\Device\\HarddiskVolume1\\conform.log", 3, 0) == 0 && Block.Information == 1);
    CHECK(ZwReadFile(file, NULL, NULL, NULL, &Block, text, 16, NULL, NULL) == 0 && Block.Information == 5);
    ZwClose(file);
    CHECK(Open(&file, L"\\??\\C:\\conform.log", 5, 0) == 0 && Block.Information == 3 && IsSize(file, 0, 0));
    CHECK(ZwSetInformationFile(file, &Block, &yes, 1, 13) == 0);
    ZwClose(file);
    CHECK(Open(&file, L"\\??\\C:\\conform.log", 1, 0) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(Open(&folder, L"\\SystemRoot\\Temp", 1, 0x40) == STATUS_FILE_IS_A_DIRECTORY);
    CHECK(Open(&folder, L"\\SystemRoot\\Temp", 1, 1) == 0);
    CHECK(ObReferenceObjectByHandle(folder, 0, NULL, 0, &object, NULL) == 0);
    CHECK(FsRtlGetFileSize(object, &size) == STATUS_FILE_IS_A_DIRECTORY);
    ObfDereferenceObject(object);
    ZwClose(folder);
    return 0;
}

static const STEP Steps[] = {
    STEP(handles_names_and_queries_are_references, References),
    STEP(events_and_directories_have_names, Names),
    STEP(directories_list_their_objects, Directories),
    STEP(a_thread_has_one_identity, Threads),
    STEP(code_runs_on_the_processors_of_its_affinity, Processors),
    STEP(the_waiters_for_a_resource_are_counted, Waiters),
    STEP(the_limits_of_a_stack_enclose_it, Stacks),
    STEP(a_file_has_the_size_of_its_data, Files),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    return RUN_STEPS(Irp);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    ULONG index;

    (void)Path;
    KeInitializeEvent(&Go, 0, FALSE);
    KeInitializeEvent(&Ready, 0, FALSE);
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    Driver->DriverUnload = Unload;
    RtlInitUnicodeString(&name, L"\\Device\\CConform");
    return IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
}
