/* A WDM driver that checks what the pages of routines on Microsoft Learn state. With BUG it makes a call that a page forbids. */

#include "steps.h"

/* The headers have a macro of this name. The driver looks up the routine. */
#undef PsGetCurrentThread

#define ROUTINE(type, name, ...) type(NTAPI *name)(__VA_ARGS__) = LookUp(L## #name)
#define IDS 0x222004
#define GET_ID 1    /* EVENT_ACTIVITY_CTRL_GET_ID */
#define SET_ID 2    /* EVENT_ACTIVITY_CTRL_SET_ID */
#define CREATE_ID 3 /* EVENT_ACTIVITY_CTRL_CREATE_ID */

/* EtwActivityIdControl: "IRQL < DISPATCH_LEVEL, unless the ControlCode is EVENT_ACTIVITY_CTRL_CREATE_ID". */
static NTSTATUS ActivityIds(void)
{
    static const GUID none;
    ROUTINE(NTSTATUS, EtwActivityIdControl, ULONG, GUID *);
    GUID id = none;
    KSPIN_LOCK lock = 0;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    NTSTATUS status = EtwActivityIdControl(BUG == 1 ? GET_ID : CREATE_ID, &id); /* mark 1 */

    KeReleaseSpinLock(&lock, old);
    CHECK(BUG == 1 || (status == 0 && RtlCompareMemory(&id, &none, sizeof id) != sizeof id));
    return 0;
}

/* "A driver's dispatch routine runs in the context of the client's thread", which is not a system thread. Activity ids of
   threads are not supported for system threads. */
static NTSTATUS IsContext(BOOLEAN Expected)
{
    static const GUID id = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
    ROUTINE(BOOLEAN, PsIsSystemThread, PVOID);
    ROUTINE(BOOLEAN, IoIsSystemThread, PVOID);
    ROUTINE(PVOID, PsGetCurrentThread, VOID);
    ROUTINE(NTSTATUS, EtwActivityIdControl, ULONG, GUID *);
    ROUTINE(PVOID, IoGetCurrentProcess, VOID);
    ROUTINE(HANDLE, PsGetProcessId, PVOID);
    ROUTINE(BOOLEAN, PsIsSystemProcess, PVOID);
    GUID copy = id, found;
    NTSTATUS status = EtwActivityIdControl(SET_ID, &copy);

    CHECK(PsIsSystemThread(PsGetCurrentThread()) == !Expected && IoIsSystemThread(PsGetCurrentThread()) == !Expected);
    CHECK((PsGetCurrentProcessId() == (HANDLE)4) == !Expected);
    CHECK(PsGetProcessId(IoGetCurrentProcess()) == PsGetCurrentProcessId());
    CHECK(PsIsSystemProcess(IoGetCurrentProcess()) == !Expected);
    CHECK(status == (Expected ? 0 : STATUS_NOT_SUPPORTED));
    CHECK(EtwActivityIdControl(GET_ID, &found) == status);
    CHECK(!Expected || RtlCompareMemory(&found, &id, sizeof id) == sizeof id);
    return 0;
}

static HANDLE Elsewhere;

static VOID NTAPI InDpc(PKDPC Dpc, PVOID Context, PVOID First, PVOID Second)
{
    (void)Dpc, (void)Context, (void)First, (void)Second;
    Elsewhere = PsGetCurrentProcessId();
}

static NTSTATUS Context(void)
{
    static KDPC dpc;
    NTSTATUS status = IsContext(TRUE);

    CHECK(status == 0);
    KeInitializeDpc(&dpc, InDpc, NULL);
    CHECK(KeInsertQueueDpc(&dpc, NULL, NULL));
    KeFlushQueuedDpcs();
    CHECK(Elsewhere == (HANDLE)4);
    return 0;
}

static UNICODE_STRING *GivenPath, OwnPath;

/* DRIVER_INITIALIZE: the I/O manager frees the path after DriverEntry has returned, and a driver keeps a copy. */
static NTSTATUS RegistryPath(void)
{
    const UNICODE_STRING *path = BUG == 2 ? GivenPath : &OwnPath;

    CHECK(path->Length > 20); /* mark 2 */
    CHECK(path->Buffer[0] == L'\\');
    return 0;
}


static WCHAR Wide[0x8000];
static CHAR Narrow[0x8002];

/* The routines that convert to a string return STATUS_BUFFER_OVERFLOW if it does not fit. */
static NTSTATUS SmallBuffers(void)
{
    static UCHAR sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18}, large[12] = {1, 1, 0, 0x28, 0x65, 0x1F, 0xE8, 0x48, 12};
    UNICODE_STRING text = {0, 4, Wide};
    ANSI_STRING narrow;

    CHECK((NTSTATUS)CALL(ANY, "RtlIntegerToUnicodeString", 123, 10, &text) == STATUS_BUFFER_OVERFLOW);
    CHECK((NTSTATUS)CALL(ANY, "RtlIntegerToUnicodeString", 12, 10, &text) == 0 && text.Length == 4);
    CHECK((NTSTATUS)CALL(ANY, "RtlInt64ToUnicodeString", 123ull, 10, &text) == STATUS_BUFFER_OVERFLOW);
    CHECK((NTSTATUS)CALL(ANY, "RtlConvertSidToUnicodeString", &text, sid, FALSE) == STATUS_BUFFER_OVERFLOW);
    RtlInitAnsiString(&narrow, "ab");
    CHECK(RtlAnsiStringToUnicodeString(&text, &narrow, FALSE) == STATUS_BUFFER_OVERFLOW);
    text.MaximumLength = sizeof(Wide) / 2;
    CHECK(RtlAnsiStringToUnicodeString(&text, &narrow, FALSE) == 0 && text.Length == 4);
    /* The second SID is the example of the routine's page: more than 2^32 is hexadecimal. */
    CHECK((NTSTATUS)CALL(ANY, "RtlConvertSidToUnicodeString", &text, sid, FALSE) == 0);
    CHECK(RtlCompareMemory(Wide, L"S-1-5-18", 16) == 16 && text.Length == 16);
    CHECK((NTSTATUS)CALL(ANY, "RtlConvertSidToUnicodeString", &text, large, FALSE) == 0);
    CHECK(RtlCompareMemory(Wide, L"S-1-0x28651FE848-12", 38) == 38 && text.Length == 38);
    return 0;
}

static NTSTATUS LongStrings(void)
{
    UNICODE_STRING wide;
    ANSI_STRING narrow;
    ULONG index;

    for (index = 0; index < 0x7FFE; index++) {
        Wide[index] = 'a';
    }
    for (index = 0; index < 0x8001; index++) {
        Narrow[index] = 'a';
    }
    Wide[0x7FFE] = Wide[0x7FFF] = Narrow[0x8001] = 0;
    CHECK((NTSTATUS)CALL(ANY, "RtlInitUnicodeStringEx", &wide, Wide) == 0 && wide.Length == 0xFFFC);
    Wide[0x7FFE] = 'a';
    CHECK((NTSTATUS)CALL(ANY, "RtlInitUnicodeStringEx", &wide, Wide) == STATUS_NAME_TOO_LONG);
    RtlInitAnsiString(&narrow, Narrow);
    CHECK(narrow.Length == 0x8001 && narrow.MaximumLength == 0x8002);
    return 0;
}

static NTSTATUS Hashes(void)
{
    UNICODE_STRING text;
    ULONG hash = 0;

    RtlInitUnicodeString(&text, L"ab");
    CHECK((NTSTATUS)CALL(ANY, "RtlHashUnicodeString", &text, TRUE, 0, &hash) == 0 && hash == 'A' * 65599 + 'B');
    CHECK((NTSTATUS)CALL(ANY, "RtlHashUnicodeString", &text, TRUE, 2, &hash) == STATUS_INVALID_PARAMETER);
    CHECK((NTSTATUS)CALL(ANY, "RtlHashUnicodeString", NULL, TRUE, 0, &hash) == STATUS_INVALID_PARAMETER);
    CHECK((NTSTATUS)CALL(ANY, "RtlHashUnicodeString", &text, TRUE, 0, NULL) == STATUS_INVALID_PARAMETER);
    return 0;
}

/* RtlUnicodeToUTF8N and RtlUTF8ToUnicodeN: the count "never exceeds" the maximum, and no part of a character is written. */
static NTSTATUS Utf8(void)
{
    ROUTINE(NTSTATUS, RtlUnicodeToUTF8N, PCHAR, ULONG, ULONG *, PCWSTR, ULONG);
    ROUTINE(NTSTATUS, RtlUTF8ToUnicodeN, PWSTR, ULONG, ULONG *, const CHAR *, ULONG);
    ULONG count = 0;

    CHECK(RtlUnicodeToUTF8N(Narrow, 16, &count, NULL, 2) == STATUS_INVALID_PARAMETER_4);
    CHECK(RtlUnicodeToUTF8N(Narrow, 16, &count, L"ab", 3) == STATUS_INVALID_PARAMETER_5);
    CHECK(RtlUnicodeToUTF8N(NULL, 0, NULL, L"ab", 4) == STATUS_INVALID_PARAMETER);
    CHECK(RtlUnicodeToUTF8N(NULL, 0, &count, L"a\x20ac", 4) == 0 && count == 4);
    CHECK(RtlUnicodeToUTF8N(Narrow, 3, &count, L"a\x20ac", 4) == STATUS_BUFFER_TOO_SMALL && count == 1);
    CHECK(RtlUnicodeToUTF8N(Narrow, 4, &count, L"a\x20ac", 4) == 0 && count == 4);
    CHECK(RtlUnicodeToUTF8N(Narrow, 16, &count, L"\xd800", 2) == STATUS_SOME_NOT_MAPPED && count == 3);
    CHECK(RtlUTF8ToUnicodeN(Wide, 16, &count, NULL, 1) == STATUS_INVALID_PARAMETER_4);
    CHECK(RtlUTF8ToUnicodeN(Wide, 3, &count, "ab", 2) == STATUS_BUFFER_TOO_SMALL && count == 2);
    CHECK(RtlUTF8ToUnicodeN(Wide, 4, &count, "ab", 2) == 0 && count == 4);
    CHECK(RtlUTF8ToUnicodeN(Wide, 16, &count, "\xff", 1) == STATUS_SOME_NOT_MAPPED);
    return 0;
}

/* As recorded by Wine's tests, which pass on Windows: dlls/ntdll/tests/rtlstr.c. */
static NTSTATUS Duplicates(void)
{
    ROUTINE(NTSTATUS, RtlDuplicateUnicodeString, ULONG, PUNICODE_STRING, PUNICODE_STRING);
    UNICODE_STRING text, empty, copy;

    RtlInitUnicodeString(&text, L"abc");
    RtlInitUnicodeString(&empty, L"");
    CHECK(RtlDuplicateUnicodeString(0, &text, &copy) == 0 && copy.Length == 6 && copy.MaximumLength == 6);
    RtlFreeUnicodeString(&copy);
    CHECK(RtlDuplicateUnicodeString(1, &text, &copy) == 0 && copy.MaximumLength == 8 && copy.Buffer[3] == 0);
    RtlFreeUnicodeString(&copy);
    CHECK(RtlDuplicateUnicodeString(1, &empty, &copy) == 0 && copy.MaximumLength == 0 && copy.Buffer == NULL);
    CHECK(RtlDuplicateUnicodeString(3, &empty, &copy) == 0 && copy.MaximumLength == 2 && copy.Buffer != NULL);
    RtlFreeUnicodeString(&copy);
    CHECK(RtlDuplicateUnicodeString(2, &text, &copy) == STATUS_INVALID_PARAMETER && RtlDuplicateUnicodeString(4, &text, &copy) == STATUS_INVALID_PARAMETER);
    CHECK(RtlDuplicateUnicodeString(0, NULL, &copy) == STATUS_INVALID_PARAMETER && RtlDuplicateUnicodeString(0, &text, NULL) == STATUS_INVALID_PARAMETER);
    return 0;
}

static VOID NTAPI Callback(PVOID Context, PVOID First, PVOID Second)
{
    (void)Context, (void)First, (void)Second;
}

static NTSTATUS NTAPI RegistryCallback(PVOID Context, PVOID First, PVOID Second)
{
    (void)Context, (void)First, (void)Second;
    return 0;
}

/* ExRegisterCallback: NULL if the object allows only one routine and has it. CmRegisterCallbackEx: an altitude that is
   in use is STATUS_FLT_INSTANCE_ALTITUDE_COLLISION. */
static NTSTATUS Callbacks(void)
{
    ROUTINE(NTSTATUS, ExCreateCallback, PVOID *, POBJECT_ATTRIBUTES, BOOLEAN, BOOLEAN);
    ROUTINE(PVOID, ExRegisterCallback, PVOID, PVOID, PVOID);
    ROUTINE(VOID, ExUnregisterCallback, PVOID);
    ROUTINE(NTSTATUS, CmRegisterCallbackEx, PVOID, PUNICODE_STRING, PVOID, PVOID, ULONG64 *, PVOID);
    ROUTINE(NTSTATUS, CmUnRegisterCallback, ULONG64);
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING altitude;
    PVOID object, first;
    ULONG64 cookie, other;

    attributes.Length = sizeof attributes;
    CHECK(ExCreateCallback(&object, &attributes, TRUE, FALSE) == 0);
    first = ExRegisterCallback(object, Callback, NULL);
    CHECK(first != NULL && ExRegisterCallback(object, Callback, NULL) == NULL);
    ExUnregisterCallback(first);
    first = ExRegisterCallback(object, Callback, NULL);
    CHECK(first != NULL);
    ExUnregisterCallback(first);
    ObfDereferenceObject(object);
    RtlInitUnicodeString(&altitude, L"360000");
    CHECK(CmRegisterCallbackEx(RegistryCallback, &altitude, NULL, NULL, &cookie, NULL) == 0);
    CHECK(CmRegisterCallbackEx(RegistryCallback, &altitude, NULL, NULL, &other, NULL) == STATUS_FLT_INSTANCE_ALTITUDE_COLLISION);
    CHECK(CmUnRegisterCallback(cookie) == 0);
    CHECK(CmRegisterCallbackEx(RegistryCallback, &altitude, NULL, NULL, &cookie, NULL) == 0);
    CHECK(CmUnRegisterCallback(cookie) == 0);
    return 0;
}

static ULONG NTAPI Compare(PVOID Table, PVOID First, PVOID Second)
{
    ULONG first = *(ULONG *)First, second = *(ULONG *)Second;

    (void)Table;
    return first < second ? 0 : first > second ? 1 : 2;
}

static PVOID NTAPI AllocateNode(PVOID Table, ULONG Size)
{
    (void)Table;
    return ExAllocatePoolWithTag((POOL_TYPE)512, Size, TAG);
}

static VOID NTAPI FreeNode(PVOID Table, PVOID Node)
{
    (void)Table;
    ExFreePoolWithTag(Node, TAG);
}

/* RtlGetElementGenericTable: "the Ith element inserted"; a deletion moves the later ones. */
static NTSTATUS Tables(void)
{
    ROUTINE(VOID, RtlInitializeGenericTable, PVOID, PVOID, PVOID, PVOID, PVOID);
    ROUTINE(PVOID, RtlInsertElementGenericTable, PVOID, PVOID, ULONG, PUCHAR);
    ROUTINE(BOOLEAN, RtlDeleteElementGenericTable, PVOID, PVOID);
    ROUTINE(ULONG *, RtlGetElementGenericTable, PVOID, ULONG);
    static ULONG64 table[32];
    ULONG value, values[3] = {7, 3, 5};

    RtlInitializeGenericTable(table, Compare, AllocateNode, FreeNode, NULL);
    for (value = 0; value < 3; value++) {
        CHECK(RtlInsertElementGenericTable(table, &values[value], sizeof(ULONG), NULL) != NULL);
    }
    CHECK(*RtlGetElementGenericTable(table, 0) == 7 && *RtlGetElementGenericTable(table, 1) == 3);
    CHECK(RtlDeleteElementGenericTable(table, &values[1]) && *RtlGetElementGenericTable(table, 1) == 5);
    CHECK(RtlGetElementGenericTable(table, 2) == NULL);
    CHECK(RtlDeleteElementGenericTable(table, &values[0]) && RtlDeleteElementGenericTable(table, &values[2]));
    return 0;
}

/* Windows writes whole ULONGs, and a time has a signed year, from 1601 on (TIME_FIELDS). */
static NTSTATUS MapsAndTimes(void)
{
    ROUTINE(BOOLEAN, RtlTimeFieldsToTime, SHORT *, LARGE_INTEGER *);
    ULONG words[2] = {0, 0x12345678};
    SHORT fields[8] = {2026, 11, 19, 0, 0, 0, 0, 0};
    LARGE_INTEGER time;
    RTL_BITMAP map;

    RtlInitializeBitMap(&map, words, 5);
    RtlSetAllBits(&map);
    CHECK(words[0] == 0xFFFFFFFF && words[1] == 0x12345678);
    RtlClearAllBits(&map);
    CHECK(words[0] == 0 && words[1] == 0x12345678);
    CHECK(RtlTimeFieldsToTime(fields, &time));
    fields[0] = -1;
    CHECK(!RtlTimeFieldsToTime(fields, &time));
    return 0;
}

/* A handle to a key stays after the key was deleted; Windows then returns STATUS_KEY_DELETED. */
static NTSTATUS DeletedKeys(void)
{
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING name;
    ULONG value = 1;
    HANDLE key, below;

    RtlInitUnicodeString(&name, L"\\Registry\\Machine\\Software\\CDocumented");
    attributes.Length = sizeof attributes;
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240; /* OBJ_KERNEL_HANDLE, OBJ_CASE_INSENSITIVE */
    CHECK(ZwCreateKey(&key, 0xF003F, &attributes, 0, NULL, 0, NULL) == 0);
    RtlInitUnicodeString(&name, L"Value");
    CHECK(ZwSetValueKey(key, &name, 0, 4, &value, sizeof value) == 0);
    CHECK(ZwDeleteKey(key) == 0);
    CHECK(ZwSetValueKey(key, &name, 0, 4, &value, sizeof value) == STATUS_KEY_DELETED);
    CHECK(ZwQueryValueKey(key, &name, 2, Wide, sizeof Wide, &value) == STATUS_KEY_DELETED);
    CHECK(ZwEnumerateKey(key, 0, 0, Wide, sizeof Wide, &value) == STATUS_KEY_DELETED);
    CHECK(ZwEnumerateValueKey(key, 0, 0, Wide, sizeof Wide, &value) == STATUS_KEY_DELETED);
    attributes.ObjectName = &name;
    attributes.RootDirectory = key;
    CHECK(ZwOpenKey(&below, 0xF003F, &attributes) == STATUS_KEY_DELETED);
    CHECK(ZwCreateKey(&below, 0xF003F, &attributes, 0, NULL, 0, NULL) == STATUS_KEY_DELETED);
    ZwClose(key);
    return 0;
}

/* RtlNtStatusToDosError: the codes that Windows 10 returned to the generator of ned14/ntkernel-error-category, and
   ERROR_MR_MID_NOT_FOUND (317), which its page names. */
static NTSTATUS Errors(void)
{
    static const struct {
        NTSTATUS Status;
        ULONG Error;
    } rows[] = {{0, 0}, {STATUS_OBJECT_NAME_NOT_FOUND, 2}, {STATUS_OBJECT_PATH_NOT_FOUND, 3}, {STATUS_CANCELLED, 995},
                {STATUS_IO_TIMEOUT, 121}, {STATUS_NO_SUCH_DEVICE, 433}, {STATUS_BUFFER_OVERFLOW, 234}, {STATUS_NO_MORE_FILES, 18},
                {STATUS_SHARING_VIOLATION, 32}, {STATUS_DISK_FULL, 112}, {STATUS_DELETE_PENDING, 5}, {STATUS_PENDING, 997},
                {STATUS_BREAKPOINT, 0x80000003}, {(NTSTATUS)0xC000CF1B, 398}, {(NTSTATUS)0xC0FFEE00, 317}};
    ULONG index;

    for (index = 0; index < sizeof rows / sizeof rows[0]; index++) {
        CHECK((ULONG)CALL(ANY, "RtlNtStatusToDosError", rows[index].Status) == rows[index].Error);
    }
    return 0;
}

static ULONG Runs;

static VOID NTAPI OnDpc(PKDPC Dpc, PVOID Context, PVOID First, PVOID Second)
{
    (void)Dpc, (void)Context, (void)First, (void)Second;
    Runs++;
}

/* KeInsertQueueDpc: FALSE if the DPC is queued already. KeRemoveQueueDpc: TRUE if it was queued. A DPC is queued on the current
   processor, and runs when the IRQL of that processor falls below DISPATCH_LEVEL ("Introduction to DPCs", "Guidelines for
   Writing DPC Routines"). */
static NTSTATUS Dpcs(void)
{
    static KDPC dpc;
    KSPIN_LOCK lock = 0;
    KIRQL old;

    KeInitializeDpc(&dpc, OnDpc, NULL);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    CHECK(KeInsertQueueDpc(&dpc, NULL, NULL) && !KeInsertQueueDpc(&dpc, NULL, NULL));
    CHECK(KeRemoveQueueDpc(&dpc) && !KeRemoveQueueDpc(&dpc));
    CHECK(KeInsertQueueDpc(&dpc, NULL, NULL));
    CHECK(*(volatile ULONG *)&Runs == 0);
    KeLowerIrql(old);
    CHECK(*(volatile ULONG *)&Runs == 1 && !KeRemoveQueueDpc(&dpc));
    old = KeAcquireSpinLockRaiseToDpc(&lock);
    CHECK(KeInsertQueueDpc(&dpc, NULL, NULL) && *(volatile ULONG *)&Runs == 1);
    KeReleaseSpinLock(&lock, old);
    CHECK(*(volatile ULONG *)&Runs == 2);
    CHECK(KeInsertQueueDpc(&dpc, NULL, NULL) && *(volatile ULONG *)&Runs == 3);
    return 0;
}

/* RtlCreateUnicodeString: "creates a new counted Unicode string". ZwQueryInformationToken: STATUS_BUFFER_TOO_SMALL and the size, TokenUser
   (1). CmGetCallbackVersion: both parameters are optional. */
static NTSTATUS Others(void)
{
    ROUTINE(BOOLEAN, RtlCreateUnicodeString, PUNICODE_STRING, PCWSTR);
    ROUTINE(VOID, CmGetCallbackVersion, ULONG *, ULONG *);
    ULONG major = 0, minor = 0, size = 0;
    UNICODE_STRING text = {0, 0, NULL};
    HANDLE token = NULL;

    CHECK(RtlCreateUnicodeString(&text, L"abc") && text.Length == 6 && text.MaximumLength == 8 && text.Buffer[3] == 0);
    RtlFreeUnicodeString(&text);
    CmGetCallbackVersion(&major, NULL);
    CmGetCallbackVersion(NULL, &minor);
    CHECK(major == 1 && minor == 1);
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryInformationToken", token, 1, Wide, sizeof Wide, &size) == STATUS_INVALID_HANDLE);
    return 0;
}

static const STEP Steps[] = {
    STEP(activity_ids_are_created_and_read, ActivityIds),
    STEP(the_registry_path_is_valid_in_driver_entry_only, RegistryPath),
    STEP(conversions_report_a_buffer_that_is_too_small, SmallBuffers),
    STEP(the_length_of_a_counted_string_has_a_limit, LongStrings),
    STEP(strings_have_the_documented_hashes, Hashes),
    STEP(conversions_of_utf_8_write_no_part_of_a_character, Utf8),
    STEP(copies_of_strings_are_terminated_on_request, Duplicates),
    STEP(callbacks_exclude_each_other, Callbacks),
    STEP(generic_tables_number_elements_in_the_order_of_insertion, Tables),
    STEP(bit_maps_have_whole_words_and_times_have_signed_years, MapsAndTimes),
    STEP(a_handle_of_a_deleted_key_says_so, DeletedKeys),
    STEP(a_dispatch_routine_runs_on_the_thread_of_the_client, Context),
    STEP(statuses_become_win32_codes, Errors),
    STEP(a_dpc_runs_when_the_irql_of_its_processor_allows_it, Dpcs),
    STEP(strings_versions_and_tokens_are_as_documented, Others),
};

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    RtlFreeUnicodeString(&OwnPath);
    DeleteDevice(Driver);
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION place = IoGetCurrentIrpStackLocation(Irp);
    ULONG *ids = Irp->AssociatedIrp.SystemBuffer;

    (void)Device;
    if (place->MajorFunction == IRP_MJ_CREATE) {
        place->FileObject->FsContext = PsGetCurrentProcessId();
    }
    if (place->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    if (place->Parameters.DeviceIoControl.IoControlCode == IDS) {
        ids[0] = (ULONG)(ULONG_PTR)place->FileObject->FsContext;
        ids[1] = (ULONG)(ULONG_PTR)PsGetCurrentProcessId();
        ids[2] = (ULONG)CALL(ANY, "IoGetRequestorProcessId", Irp);
        return Finish(Irp, 0, 3 * sizeof(ULONG));
    }
    return RUN_STEPS(Irp);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;

    CHECK(IsContext(FALSE) == 0);
    GivenPath = Path;
    CHECK(CALL(ANY, "RtlDuplicateUnicodeString", 1, Path, &OwnPath) == 0);
    CHECK(CreateDevice(Driver, L"\\Device\\CDocumented", Dispatch, &device) == 0);
    Driver->DriverUnload = Unload;
    return 0;
}
