/* A WDM driver that checks objects, exported data, threads and files by name. */

#include "steps.h"

/* The headers have a macro of this name. The drivers look up the routine. */
#undef PsGetCurrentThread

static WCHAR DeviceName[] = L"\\Device\\CObjects";
static WCHAR LinkName[] = L"\\DosDevices\\CObjects";
static PDRIVER_OBJECT TheDriver;
static PDEVICE_OBJECT TheDevice;
static ULONG Opened, Cleaned, Closed, Read;

#define ROUTINE(type, name, ...) type(NTAPI *name)(__VA_ARGS__) = LookUp(L## #name)

/* Exported data: an import and LookUp both give the address of a variable. */
static NTSTATUS Data(void)
{
    PWSTR types[] = {L"ExEventObjectType", L"ExSemaphoreObjectType", L"IoFileObjectType", L"IoDeviceObjectType",
                     L"IoDriverObjectType", L"PsThreadType",         L"PsProcessType"};
    PVOID seen[7];
    ULONG index, other;

    for (index = 0; index < 7; index++) {
        PVOID *variable = LookUp(types[index]);

        CHECK(variable != NULL && *variable != NULL);
        seen[index] = *variable;
        for (other = 0; other < index; other++) {
            CHECK(seen[other] != seen[index]);
        }
    }
    CHECK(*ExEventObjectType == seen[0] && *NtBuildNumber == 26100 && LookUp(L"NtBuildNumber") == (PVOID)NtBuildNumber);
    CHECK(*(CCHAR *)LookUp(L"KeNumberProcessors") == (CCHAR)KeQueryActiveProcessorCount(NULL));
    CHECK(*(PVOID *)LookUp(L"MmSystemRangeStart") == (PVOID)0xFFFF800000000000);
    CHECK(LookUp(L"NoSuchExport") == NULL);
    return 0;
}

static NTSTATUS Processes(void)
{
    ROUTINE(PVOID, PsGetCurrentProcess, VOID);
    ROUTINE(PVOID, PsGetCurrentThread, VOID);
    ROUTINE(HANDLE, PsGetThreadId, PVOID);
    ROUTINE(HANDLE, PsGetProcessId, PVOID);
    ROUTINE(HANDLE, PsGetThreadProcessId, PVOID);
    ROUTINE(NTSTATUS, PsLookupThreadByThreadId, HANDLE, PVOID *);
    ROUTINE(NTSTATUS, PsLookupProcessByProcessId, HANDLE, PVOID *);
    PVOID object = NULL, system = *(PVOID *)LookUp(L"PsInitialSystemProcess");

    CHECK(PsGetCurrentProcess() != system && *(UCHAR *)PsGetCurrentProcess() == 3 && *(UCHAR *)system == 3);
    CHECK(*(UCHAR *)PsGetCurrentThread() == 6 && PsGetProcessId(system) == (HANDLE)4);
    CHECK(PsGetThreadProcessId(PsGetCurrentThread()) == PsGetProcessId(PsGetCurrentProcess()));
    CHECK(PsLookupThreadByThreadId(PsGetThreadId(PsGetCurrentThread()), &object) == 0);
    CHECK(object == PsGetCurrentThread());
    ObfDereferenceObject(object);
    CHECK(PsLookupThreadByThreadId((HANDLE)0x7FFFFFFC, &object) == STATUS_INVALID_CID);
    CHECK(PsLookupProcessByProcessId((HANDLE)4, &object) == 0 && object == system);
    ObfDereferenceObject(object);
    CHECK(PsLookupProcessByProcessId((HANDLE)8, &object) == STATUS_INVALID_CID);
    return 0;
}

static PVOID ThreadItself;

static VOID NTAPI ThreadRoutine(PVOID Context)
{
    ROUTINE(PVOID, PsGetCurrentThread, VOID);

    (void)Context;
    ThreadItself = PsGetCurrentThread();
    PsTerminateSystemThread(0);
}

/* Runs a thread, and returns a reference to its object. */
static NTSTATUS EndedThread(PVOID *Thread)
{
    PVOID *event = LookUp(L"ExEventObjectType"), *thread = LookUp(L"PsThreadType");
    CLIENT_ID client;
    HANDLE handle;
    PVOID object;

    CHECK(PsCreateSystemThread(&handle, 0, NULL, NULL, &client, ThreadRoutine, NULL) == 0);
    CHECK(ObReferenceObjectByHandle(handle, 0, *event, 0, &object, NULL) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(ObReferenceObjectByHandle(handle, 0, *thread, 0, &object, NULL) == 0);
    CHECK(KeWaitForSingleObject(object, 0, 0, FALSE, NULL) == 0);
    /* The handle refers to the object that PsGetCurrentThread returned on that thread. */
    CHECK(object == ThreadItself && *(UCHAR *)object == 6);
    CHECK(client.UniqueProcess == (HANDLE)4 && ((ULONG_PTR)client.UniqueThread & 3) == 0 && client.UniqueThread != 0);
    *Thread = object;
    ZwClose(handle);
    return 0;
}

static NTSTATUS Threads(void)
{
    PVOID thread;

    CHECK(EndedThread(&thread) == 0);
    ObfDereferenceObject(thread);
    return 0;
}

static NTSTATUS NTAPI Callout(PVOID Context)
{
    *(ULONG *)Context += 1;
    return 0;
}

static NTSTATUS Processors(void)
{
    ROUTINE(ULONG, KeQueryActiveProcessorCountEx, USHORT);
    ROUTINE(KAFFINITY, KeSetSystemAffinityThreadEx, KAFFINITY);
    ROUTINE(VOID, KeRevertToUserAffinityThreadEx, KAFFINITY);
    ROUTINE(NTSTATUS, KeExpandKernelStackAndCallout, PVOID, PVOID, SIZE_T);
    ULONG called = 0;
    KDPC dpc;

    CHECK(KeQueryActiveProcessorCountEx(0) == 2 && KeQueryActiveProcessorCountEx(0xFFFF) == 2);
    CHECK(KeQueryActiveProcessorCountEx(1) == 0);
    CHECK(KeSetSystemAffinityThreadEx(1) == 0);
    CHECK(KeSetSystemAffinityThreadEx(2) == 1);
    KeRevertToUserAffinityThreadEx(1);
    CHECK(KeSetSystemAffinityThreadEx(2) == 1);
    KeRevertToUserAffinityThreadEx(0);
    CHECK(KeSetSystemAffinityThreadEx(1) == 0);
    KeRevertToUserAffinityThreadEx(0);
    KeInitializeDpc(&dpc, NULL, NULL);
    CHECK(*(UCHAR *)&dpc == 0x13 && ((UCHAR *)&dpc)[1] == 1);
    CHECK(KeExpandKernelStackAndCallout(Callout, &called, 0x2000) == 0 && called == 1);
    return 0;
}

static NTSTATUS Devices(void)
{
    ROUTINE(ULONG, IoWMIDeviceObjectToProviderId, PDEVICE_OBJECT);
    static ULONG Key;
    ULONG provider = IoWMIDeviceObjectToProviderId(TheDevice);
    PVOID extension = NULL, again = &Key;
    PDEVICE_OBJECT other;
    NTSTATUS status;

    CHECK(TheDevice->DeviceObjectExtension != NULL && TheDevice->DeviceObjectExtension->DeviceObject == TheDevice);
    CHECK((TheDevice->Flags & 0x40) != 0 && TheDriver->DriverExtension->DriverObject == TheDriver);
    CHECK(IoCreateDevice(TheDriver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &other) == 0);
    CHECK((other->Flags & 0x40) == 0);
    CHECK(IoWMIDeviceObjectToProviderId(other) != provider && IoWMIDeviceObjectToProviderId(TheDevice) == provider);
    CHECK(IoAttachDeviceToDeviceStack(other, TheDevice) == TheDevice);
    CHECK(TheDevice->AttachedDevice == other && other->StackSize == 2);
    IoDetachDevice(TheDevice);
    CHECK(TheDevice->AttachedDevice == NULL);
    IoDeleteDevice(other);
    status = IoAllocateDriverObjectExtension(TheDriver, &Key, 16, &extension);
    CHECK(status == STATUS_OBJECT_NAME_COLLISION || (status == 0 && extension != NULL));
    CHECK(IoAllocateDriverObjectExtension(TheDriver, &Key, 16, &again) == STATUS_OBJECT_NAME_COLLISION && again == NULL);
    return 0;
}

static NTSTATUS Packets(void)
{
    ROUTINE(PVOID, PsGetCurrentThread, VOID);
    ROUTINE(PVOID, IoBuildAsynchronousFsdRequest, ULONG, PDEVICE_OBJECT, PVOID, ULONG, PLARGE_INTEGER, PIO_STATUS_BLOCK);
    IO_STATUS_BLOCK block;
    LARGE_INTEGER offset;
    UCHAR byte;
    PIRP irp;

    offset.QuadPart = 0;
    irp = IoBuildAsynchronousFsdRequest(IRP_MJ_READ, TheDevice, &byte, 1, &offset, &block);
    CHECK(irp != NULL && irp->Tail.Overlay.Thread == PsGetCurrentThread());
    IoFreeIrp(irp);
    return 0;
}

static NTSTATUS Files(void)
{
    ROUTINE(NTSTATUS, ZwOpenFile, PHANDLE, ULONG, POBJECT_ATTRIBUTES, PIO_STATUS_BLOCK, ULONG, ULONG);
    ROUTINE(NTSTATUS, ZwReadFile, HANDLE, HANDLE, PVOID, PVOID, PIO_STATUS_BLOCK, PVOID, ULONG, PLARGE_INTEGER, PULONG);
    ROUTINE(NTSTATUS, ZwOpenDirectoryObject, PHANDLE, ULONG, POBJECT_ATTRIBUTES);
    ROUTINE(NTSTATUS, ZwDuplicateObject, HANDLE, HANDLE, HANDLE, PHANDLE, ULONG, ULONG, ULONG);
    PVOID *type = LookUp(L"IoFileObjectType");
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = {sizeof(attributes), NULL, &name, 0x200, NULL, NULL};
    IO_STATUS_BLOCK block;
    HANDLE handle, second;
    UCHAR bytes[4] = {0};
    PFILE_OBJECT file;
    ULONG opened = Opened, cleaned = Cleaned, closed = Closed;

    RtlInitUnicodeString(&name, LinkName);
    CHECK(ZwOpenFile(&handle, 0, &attributes, &block, 0, 0) == 0 && Opened == opened + 1);
    CHECK(ObReferenceObjectByHandle(handle, 0, *type, 0, (PVOID *)&file, NULL) == 0);
    CHECK(file->DeviceObject == TheDevice && TheDevice->ReferenceCount >= 1);
    CHECK(ZwReadFile(handle, NULL, NULL, NULL, &block, bytes, 4, NULL, NULL) == 0);
    CHECK(block.Information == 4 && bytes[0] == 7 && bytes[3] == 7);
    CHECK(ZwDuplicateObject((HANDLE)-1, handle, (HANDLE)-1, &second, 0, 0, 2) == 0);
    ZwClose(handle);
    CHECK(Cleaned == cleaned);
    ZwClose(second);
    CHECK(Cleaned == cleaned + 1 && Closed == closed);
    ObfDereferenceObject(file);
    CHECK(Closed == closed + 1);
    RtlInitUnicodeString(&name, L"\\Device\\Nobody");
    CHECK(ZwOpenFile(&handle, 0, &attributes, &block, 0, 0) == STATUS_OBJECT_NAME_NOT_FOUND);
    RtlInitUnicodeString(&name, L"\\KernelObjects");
    CHECK(ZwOpenDirectoryObject(&handle, 1, &attributes) == 0);
    ZwClose(handle);
    return 0;
}

/* An entry of the list of loaded modules: x64, up to the flags. */
typedef struct {
    LIST_ENTRY Links;
    PVOID Unused[4], DllBase, EntryPoint;
    ULONGLONG SizeOfImage;
    UNICODE_STRING FullDllName, BaseDllName;
    ULONG Flags;
} MODULE;

/* What drivers do without documentation: they set a flag of their own module, walk the modules, and search the opaque objects
   of threads and processes for a value. */
static NTSTATUS Undocumented(void)
{
    ROUTINE(PVOID, PsGetCurrentThread, VOID);
    MODULE *own = TheDriver->DriverSection, *module;
    PVOID ended;
    ULONG_PTR *system = *(PVOID *)LookUp(L"PsInitialSystemProcess"), sum = 0;
    ULONG index, modules = 1;

    CHECK(own != NULL && own->DllBase == TheDriver->DriverStart && own->SizeOfImage == TheDriver->DriverSize);
    CHECK(own->EntryPoint == (PVOID)TheDriver->DriverInit && own->FullDllName.Length > own->BaseDllName.Length);
    own->Flags |= 0x20;
    for (module = (MODULE *)own->Links.Flink; module != own; module = (MODULE *)module->Links.Flink) {
        CHECK(module->Links.Flink->Blink == &module->Links && module->DllBase != NULL);
        modules++;
    }
    CHECK(modules == 2);
    CHECK(EndedThread(&ended) == 0);
    for (index = 0; index < 0x1000 / sizeof(ULONG_PTR); index++) {
        sum += ((volatile ULONG_PTR *)PsGetCurrentThread())[index] + ((volatile ULONG_PTR *)ended)[index];
    }
    for (index = 0; index < 0x3000 / sizeof(ULONG_PTR) && (system[index] & 0xFFFFFFFFFFFF) != 0x6D6574737953; index++) {
        sum += system[index];
    }
    CHECK(sum != 0 && index < 0x3000 / sizeof(ULONG_PTR));
    ObfDereferenceObject(ended);
    return 0;
}

/* The global directory of names has links to itself, for processes of other sessions. */
static NTSTATUS Names(void)
{
    ROUTINE(PVOID, IoCreateNotificationEvent, PUNICODE_STRING, PHANDLE);
    PWSTR paths[] = {L"\\BaseNamedObjects\\Global\\CObjects", L"\\BaseNamedObjects\\CObjects",
                     L"\\BaseNamedObjects\\local\\CObjects"};
    UNICODE_STRING name;
    HANDLE handles[3];
    PVOID events[3];
    ULONG index;

    for (index = 0; index < 3; index++) {
        RtlInitUnicodeString(&name, paths[index]);
        events[index] = IoCreateNotificationEvent(&name, &handles[index]);
    }
    CHECK(events[0] != NULL && events[1] == events[0] && events[2] == events[0]);
    for (index = 0; index < 3; index++) {
        ZwClose(handles[index]);
    }
    RtlInitUnicodeString(&name, L"\\BaseNamedObjects\\Globally\\CObjects");
    CHECK(IoCreateNotificationEvent(&name, &handles[0]) == NULL);
    return 0;
}

static NTSTATUS Conversions(void)
{
    ROUTINE(SIZE_T, wcstombs, CHAR *, PCWSTR, SIZE_T);
    ROUTINE(SIZE_T, mbstowcs, WCHAR *, const CHAR *, SIZE_T);
    ROUTINE(NTSTATUS, NtQuerySystemInformation, ULONG, PVOID, ULONG, PULONG);
    CHAR narrow[4] = {9, 9, 9, 9};
    WCHAR wide[4] = {9, 9, 9, 9};
    UCHAR debugger[2];
    ULONG length;

    CHECK(wcstombs(NULL, L"abc", 0) == 3 && mbstowcs(NULL, "ab", 0) == 2);
    CHECK(wcstombs(narrow, L"abc", 2) == 2 && narrow[1] == 'b' && narrow[2] == 9);
    CHECK(wcstombs(narrow, L"abc", 4) == 3 && narrow[2] == 'c' && narrow[3] == 0);
    CHECK(wcstombs(narrow, L"\x4E00", 4) == (SIZE_T)-1);
    CHECK(mbstowcs(wide, "ab", 4) == 2 && wide[1] == 'b' && wide[2] == 0 && wide[3] == 9);
    CHECK(NtQuerySystemInformation(35, debugger, sizeof(debugger), &length) == 0 && length == 2 && debugger[1] == 1);
    return 0;
}

static VOID NTAPI Boot(PVOID Context, ULONG Kind, PVOID Image)
{
    (void)Context, (void)Kind, (void)Image;
}

static NTSTATUS BootDrivers(void)
{
    ROUTINE(PVOID, IoRegisterBootDriverCallback, PVOID, PVOID);
    ROUTINE(VOID, IoUnregisterBootDriverCallback, PVOID);
    PVOID registration = IoRegisterBootDriverCallback(Boot, NULL);

    CHECK(registration != NULL);
    IoUnregisterBootDriverCallback(registration);
    return 0;
}

typedef struct {
    ULONGLONG Head[2];
    USHORT Depth, MaximumDepth;
    ULONG Counts[4];
    ULONG Type, Tag, Size;
    PVOID(NTAPI *Allocate)(ULONG Type, SIZE_T Size, ULONG Tag);
    VOID(NTAPI *Free)(PVOID Entry);
    ULONGLONG Rest[8];
} LOOKASIDE;

static NTSTATUS Lookaside(void)
{
    ROUTINE(VOID, ExInitializeNPagedLookasideList, LOOKASIDE *, PVOID, PVOID, ULONG, SIZE_T, ULONG, USHORT);
    ROUTINE(VOID, ExInitializePagedLookasideList, LOOKASIDE *, PVOID, PVOID, ULONG, SIZE_T, ULONG, USHORT);
    ROUTINE(VOID, ExDeleteNPagedLookasideList, LOOKASIDE *);
    ROUTINE(VOID, ExDeletePagedLookasideList, LOOKASIDE *);
    ROUTINE(PVOID, ExpInterlockedPushEntrySList, PVOID, PVOID);
    LOOKASIDE list;

    ExInitializePagedLookasideList(&list, NULL, NULL, 512, 32, TAG, 0);
    CHECK(list.Type == 513 && list.Depth == 4 && list.MaximumDepth == 256);
    ExDeletePagedLookasideList(&list);
    ExInitializeNPagedLookasideList(&list, NULL, NULL, 0, 32, TAG, 0);
    CHECK(list.Type == 0);
    /* Inlined code frees an entry in this way. The list keeps the entry and frees it when the list is deleted. */
    ExpInterlockedPushEntrySList(&list, list.Allocate(list.Type, list.Size, list.Tag));
    ExDeleteNPagedLookasideList(&list);
    return 0;
}

static ULONG PathLength;

static NTSTATUS NTAPI SeeValue(PWSTR Name, ULONG Type, PVOID Data, ULONG Length, PVOID Context, PVOID Entry)
{
    (void)Name, (void)Data, (void)Context, (void)Entry;
    PathLength = Type == 1 || Type == 2 ? Length : 0;
    return 0;
}

static NTSTATUS Registry(void)
{
    RTL_QUERY_REGISTRY_TABLE table[2] = {{0}};
    static WCHAR Service[128];
    UNICODE_STRING *key = &TheDriver->DriverName;
    USHORT from = sizeof(L"\\Driver\\") / 2 - 1, index;

    for (index = 0; index + from < key->Length / 2; index++) {
        Service[index] = key->Buffer[index + from];
    }
    table[0].QueryRoutine = (PVOID)SeeValue;
    table[0].Name = L"ImagePath";
    CHECK(RtlQueryRegistryValues(1, Service, table, NULL, NULL) == 0 && PathLength > 20);
    return 0;
}

static NTSTATUS Write(PWSTR Name, ULONG Type, PVOID Data, ULONG Length)
{
    return RtlWriteRegistryValue(4, L"CObjects", Name, Type, Data, Length);
}

/* Reads a value into a buffer without a routine: RTL_QUERY_REGISTRY_DIRECT. */
static NTSTATUS Direct(PWSTR Name, ULONG Flags, PVOID Buffer)
{
    RTL_QUERY_REGISTRY_TABLE table[2] = {{0}};

    table[0].Flags = 0x20 | Flags;
    table[0].Name = Name;
    table[0].EntryContext = Buffer;
    return RtlQueryRegistryValues(4, L"CObjects", table, NULL, NULL);
}

/* Keys below each location, and values that are stored directly. */
static NTSTATUS Values(void)
{
    static PWSTR Locations[] = {L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\CObjects",
                                L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\CObjects",
                                L"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion\\CObjects",
                                L"\\Registry\\Machine\\Hardware\\DeviceMap\\CObjects",
                                L"\\Registry\\User\\.Default\\CObjects"};
    static WCHAR Strings[] = L"one\0two\0";
    UCHAR bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    ULONG words[6], index;
    WCHAR room[16];
    UNICODE_STRING string;
    OBJECT_ATTRIBUTES attributes = {sizeof attributes, NULL, &string, 0x240}; /* OBJ_KERNEL_HANDLE, OBJ_CASE_INSENSITIVE */
    HANDLE key;

    for (index = 0; index < 5; index++) {
        CHECK(RtlCheckRegistryKey(index + 1, L"CObjects") == STATUS_OBJECT_NAME_NOT_FOUND);
        CHECK(RtlCreateRegistryKey(index + 1, L"CObjects") == 0);
        CHECK(RtlCheckRegistryKey(0, Locations[index]) == 0);
    }
    /* A key is only created below an existing one. */
    RtlInitUnicodeString(&string, L"\\Registry\\Machine\\Software\\CObjects\\Below");
    CHECK(ZwCreateKey(&key, 0xF003F, &attributes, 0, NULL, 0, NULL) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(RtlCreateRegistryKey(4, L"None\\Below") == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(RtlWriteRegistryValue(4, L"None\\Below", L"Bytes", 3, bytes, sizeof bytes) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(RtlCheckRegistryKey(4, L"None") == STATUS_OBJECT_NAME_NOT_FOUND);
    RtlInitUnicodeString(&string, L"\\Registry\\Machine\\Software\\CObjects");
    CHECK(ZwCreateKey(&key, 0xF003F, &attributes, 0, NULL, 0, NULL) == 0);
    ZwClose(key);
    string.Length = 0;
    string.MaximumLength = sizeof room;
    string.Buffer = room;
    CHECK(Write(L"Bytes", 3, bytes, sizeof bytes) == 0);
    /* A negative size: only the data. */
    words[0] = -12;
    CHECK(Direct(L"Bytes", 0, words) == 0);
    CHECK(words[0] == 0x04030201 && words[2] == 0x0C0B0A09);
    words[0] = -11;
    CHECK(Direct(L"Bytes", 0, words) == STATUS_BUFFER_TOO_SMALL);
    /* A positive size: length, type, data. */
    words[0] = 20;
    CHECK(Direct(L"Bytes", 0, words) == 0);
    CHECK(words[0] == 12 && words[1] == 3 && words[2] == 0x04030201 && words[4] == 0x0C0B0A09);
    words[0] = 19;
    CHECK(Direct(L"Bytes", 0, words) == STATUS_BUFFER_TOO_SMALL);
    /* Up to four bytes need no size. */
    CHECK(Write(L"Short", 3, bytes, 3) == 0);
    words[0] = 0;
    CHECK(Direct(L"Short", 0, words) == 0 && words[0] == 0x030201);
    CHECK(Write(L"Strings", 7, Strings, sizeof Strings) == 0);
    CHECK(Direct(L"Strings", 0x10, &string) == 0); /* RTL_QUERY_REGISTRY_NOEXPAND */
    CHECK(string.Length == sizeof Strings - 2 && room[4] == 't');
    string.Buffer = NULL;
    string.MaximumLength = 0;
    CHECK(Direct(L"Strings", 0x10, &string) == 0);
    CHECK(string.MaximumLength == sizeof Strings && string.Buffer[4] == 't');
    ExFreePoolWithTag(string.Buffer, 0);
    return 0;
}

/* Activity ids: of requests, which keep a copy, and of the thread, which keeps an address. */
static NTSTATUS Activities(void)
{
    ROUTINE(NTSTATUS, IoGetActivityIdIrp, PIRP, GUID *);
    ROUTINE(NTSTATUS, IoSetActivityIdIrp, PIRP, const GUID *);
    ROUTINE(const GUID *, IoGetActivityIdThread, VOID);
    ROUTINE(const GUID *, IoSetActivityIdThread, const GUID *);
    ROUTINE(VOID, IoClearActivityIdThread, const GUID *);
    ROUTINE(NTSTATUS, IoPropagateActivityIdToThread, PIRP, GUID *, const GUID **);
    GUID id = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}}, found = {0}, copy = {0};
    const GUID *before = &found;
    PIRP irp = IoAllocateIrp(1, FALSE);

    CHECK(irp != NULL);
    CHECK(IoGetActivityIdIrp(irp, &found) == STATUS_NOT_FOUND);
    CHECK(IoPropagateActivityIdToThread(irp, &copy, &before) == STATUS_NOT_FOUND && IoGetActivityIdThread() == NULL);
    CHECK(IoSetActivityIdIrp(irp, NULL) == STATUS_NOT_SUPPORTED);
    CHECK(IoSetActivityIdIrp(irp, &id) == 0);
    id.Data1 = 9;
    CHECK(IoGetActivityIdIrp(irp, &found) == 0 && found.Data1 == 1 && found.Data4[7] == 11);
    CHECK(IoSetActivityIdThread(&id) == NULL && IoGetActivityIdThread() == &id);
    CHECK(IoPropagateActivityIdToThread(irp, &copy, &before) == 0 && before == &id);
    CHECK(IoGetActivityIdThread() == &copy && copy.Data1 == 1);
    IoClearActivityIdThread(before);
    CHECK(IoGetActivityIdThread() == &id);
    IoClearActivityIdThread(NULL);
    CHECK(IoGetActivityIdThread() == NULL);
    IoReuseIrp(irp, 0);
    CHECK(IoGetActivityIdIrp(irp, &found) == STATUS_NOT_FOUND);
    IoFreeIrp(irp);
    return 0;
}

static const STEP Steps[] = {
    STEP(exported_variables_have_values, Data),
    STEP(processes_and_threads_are_found_by_id, Processes),
    STEP(a_thread_handle_refers_to_the_object_of_the_thread, Threads),
    STEP(processors_are_counted_and_affinity_is_restored, Processors),
    STEP(devices_have_extensions_and_can_be_attached, Devices),
    STEP(an_asynchronous_packet_belongs_to_its_thread, Packets),
    STEP(cleanup_follows_the_last_handle_and_close_the_last_reference, Files),
    STEP(lookaside_lists_keep_entries_until_they_are_deleted, Lookaside),
    STEP(the_service_key_has_the_path_of_the_image, Registry),
    STEP(registry_values_are_read_into_buffers, Values),
    STEP(packets_copy_activity_ids_and_threads_refer_to_them, Activities),
    STEP(modules_can_be_walked_and_opaque_objects_searched, Undocumented),
    STEP(global_and_local_names_lead_to_the_same_object, Names),
    STEP(callbacks_about_boot_drivers_are_registered, BootDrivers),
    STEP(strings_are_converted_and_a_debugger_is_reported, Conversions),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    UCHAR *output = Irp->AssociatedIrp.SystemBuffer;
    ULONG index;

    (void)Device;
    switch (location->MajorFunction) {
    case IRP_MJ_CREATE:
        Opened++;
        return Finish(Irp, 0, 0);
    case IRP_MJ_CLEANUP:
        Cleaned++;
        return Finish(Irp, 0, 0);
    case IRP_MJ_CLOSE:
        Closed++;
        return Finish(Irp, 0, 0);
    case IRP_MJ_READ:
        Read++;
        for (index = 0; index < location->Parameters.Read.Length; index++) {
            output[index] = 7;
        }
        return Finish(Irp, 0, location->Parameters.Read.Length);
    case IRP_MJ_DEVICE_CONTROL:
        return RUN_STEPS(Irp);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);
    IoDeleteSymbolicLink(&link);
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name, link;
    NTSTATUS status;
    ULONG index;

    (void)Path;
    TheDriver = Driver;
    RtlInitUnicodeString(&name, DeviceName);
    RtlInitUnicodeString(&link, LinkName);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
    if (status < 0) {
        return status;
    }
    status = IoCreateSymbolicLink(&link, &name);
    if (status < 0) {
        IoDeleteDevice(TheDevice);
        return status;
    }
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    TheDevice->Flags |= DO_BUFFERED_IO;
    TheDevice->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    return 0;
}
