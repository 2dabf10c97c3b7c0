/* A WDM driver that uses files, keys and disks as filter drivers do. */

#include "steps.h"

static WCHAR DeviceName[] = L"\\Device\\CFiles";
static HANDLE Handle;
static IO_STATUS_BLOCK Block;

#define NAMES_INFORMATION 12
#define DIRECTORY_INFORMATION 1

/* FILE_NAMES_INFORMATION and the beginning of FILE_DIRECTORY_INFORMATION. */
typedef struct {
    ULONG Next, Index, Length;
    WCHAR Name[1];
} NAMES;
typedef struct {
    ULONG Next, Index;
    LONGLONG Times[4], End, Allocated;
    ULONG Attributes, Length;
    WCHAR Name[1];
} ENTRY;

static NTSTATUS Open(PWSTR Path, ULONG Disposition, ULONG Options)
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Path);
    InitializeObjectAttributes(&attributes, &name, 0x240, NULL, NULL);
    return ZwCreateFile(&Handle, 0x120089, &attributes, &Block, NULL, 0x80, 3, Disposition, Options | 0x20, NULL, 0);
}

static NTSTATUS List(PVOID Buffer, ULONG Length, ULONG Class, BOOLEAN Single, PWSTR Pattern, BOOLEAN Restart)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Pattern);
    return (NTSTATUS)CALL(ANY, "ZwQueryDirectoryFile", Handle, NULL, NULL, NULL, &Block, Buffer, Length, Class, Single,
                          Pattern == NULL ? NULL : &name, Restart);
}

static BOOLEAN Is(const WCHAR *Name, ULONG Length, PCWSTR Expected)
{
    ULONG index;

    for (index = 0; Expected[index] != 0; index++) {
        if (index * 2 >= Length || Name[index] != Expected[index]) {
            return FALSE;
        }
    }
    return index * 2 == Length;
}

static NTSTATUS Folders(void)
{
    UCHAR buffer[256];
    NAMES *names = (NAMES *)buffer, *next;
    ENTRY *entry = (ENTRY *)buffer;

    CHECK(Open(L"\\??\\C:\\CFiles", 2, 1) == 0);
    ZwClose(Handle);
    CHECK(Open(L"\\??\\C:\\CFiles\\one.txt", 2, 0) == 0);
    CHECK(ZwWriteFile(Handle, NULL, NULL, NULL, &Block, "hello", 5, NULL, NULL) == 0);
    ZwClose(Handle);
    CHECK(Open(L"\\??\\C:\\CFiles\\two.dat", 2, 0) == 0);
    ZwClose(Handle);

    CHECK(Open(L"\\??\\C:\\CFiles", 1, 1) == 0);
    CHECK(List(buffer, sizeof(buffer), NAMES_INFORMATION, FALSE, NULL, FALSE) == 0);
    CHECK(Is(names->Name, names->Length, L".") && names->Next != 0 && Block.Information > names->Next);
    next = (NAMES *)((UCHAR *)names + names->Next);
    CHECK(Is(next->Name, next->Length, L"..") && next->Next != 0);
    next = (NAMES *)((UCHAR *)next + next->Next);
    CHECK(Is(next->Name, next->Length, L"one.txt") && next->Next != 0);
    next = (NAMES *)((UCHAR *)next + next->Next);
    CHECK(Is(next->Name, next->Length, L"two.dat") && next->Next == 0);
    CHECK(List(buffer, sizeof(buffer), NAMES_INFORMATION, FALSE, NULL, FALSE) == STATUS_NO_MORE_FILES);
    CHECK(List(buffer, sizeof(buffer), NAMES_INFORMATION, TRUE, NULL, TRUE) == 0);
    CHECK(Is(names->Name, names->Length, L".") && names->Next == 0);
    ZwClose(Handle);

    /* The first call sets the pattern. */
    CHECK(Open(L"\\??\\C:\\CFiles", 1, 1) == 0);
    CHECK(List(buffer, sizeof(buffer), DIRECTORY_INFORMATION, FALSE, L"*.TXT", FALSE) == 0);
    CHECK(Is(entry->Name, entry->Length, L"one.txt") && entry->Next == 0 && entry->End == 5);
    CHECK(List(buffer, sizeof(buffer), DIRECTORY_INFORMATION, FALSE, L"*", TRUE) == 0 && entry->Next == 0);
    ZwClose(Handle);
    CHECK(Open(L"\\??\\C:\\CFiles", 1, 1) == 0);
    CHECK(List(buffer, sizeof(buffer), NAMES_INFORMATION, FALSE, L"none", FALSE) == STATUS_NO_SUCH_FILE);
    ZwClose(Handle);
    /* As much of the first name as fits. */
    CHECK(Open(L"\\??\\C:\\CFiles", 1, 1) == 0);
    CHECK(List(buffer, 16, NAMES_INFORMATION, FALSE, L"one*", FALSE) == STATUS_BUFFER_OVERFLOW && Block.Information == 16);
    CHECK(names->Length == 14 && names->Name[0] == L'o' && names->Name[1] == L'n');
    CHECK(List(buffer, 8, NAMES_INFORMATION, FALSE, NULL, TRUE) == STATUS_INFO_LENGTH_MISMATCH);
    ZwClose(Handle);
    CHECK(List(buffer, sizeof(buffer), NAMES_INFORMATION, FALSE, NULL, FALSE) == STATUS_INVALID_HANDLE);
    return 0;
}

static NTSTATUS DriveLetters(void)
{
    UNICODE_STRING name;
    PFILE_OBJECT file;
    NTSTATUS status;

    CHECK(Open(L"\\??\\C:\\Windows", 1, 1) == 0);
    CHECK(ObReferenceObjectByHandle(Handle, 0, NULL, KernelMode, (PVOID *)&file, NULL) == 0);
    status = (NTSTATUS)CALL(ANY, "RtlVolumeDeviceToDosName", file->DeviceObject, &name);
    CHECK(status == 0 && Is(name.Buffer, name.Length, L"C:"));
    ExFreePool(name.Buffer);
    CHECK(IoVolumeDeviceToDosName(file->DeviceObject, &name) == 0 && Is(name.Buffer, name.Length, L"C:"));
    ExFreePool(name.Buffer);
    ObfDereferenceObject(file);
    ZwClose(Handle);
    return 0;
}

static KEVENT Worked;

static VOID NTAPI Work(PVOID Context)
{
    KeSetEvent(Context, 0, FALSE);
}

static NTSTATUS Key(PHANDLE Key, HANDLE Root, PWSTR Path)
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Path);
    InitializeObjectAttributes(&attributes, &name, 0x240, Root, NULL);
    return ZwCreateKey(Key, 0xF003F, &attributes, 0, NULL, 0, NULL);
}

static NTSTATUS Set(HANDLE Key, ULONG Value)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, L"Value");
    return ZwSetValueKey(Key, &name, 0, 4, &Value, sizeof(Value));
}

#define WATCH(key, event, item, filter, tree)                                                                         \
    (NTSTATUS) CALL(ANY, "ZwNotifyChangeKey", key, event, item, 1, &block, filter, tree, NULL, 0, TRUE)

static NTSTATUS Changes(void)
{
    HANDLE key, below, event;
    IO_STATUS_BLOCK block;
    WORK_QUEUE_ITEM item;
    PKEVENT object;

    CHECK(Key(&key, NULL, L"\\Registry\\Machine\\Software\\CFiles") == 0 && Set(key, 1) == 0);
    CHECK(ZwCreateEvent(&event, 0x1F0003, NULL, NotificationEvent, FALSE) == 0);
    CHECK(ObReferenceObjectByHandle(event, 0, NULL, KernelMode, (PVOID *)&object, NULL) == 0);
    /* The same value is no change. */
    block.Status = STATUS_PENDING;
    CHECK(WATCH(key, event, NULL, 4, FALSE) == STATUS_PENDING);
    CHECK(Set(key, 1) == 0 && block.Status == STATUS_PENDING && KeReadStateEvent(object) == 0);
    CHECK(Set(key, 2) == 0 && block.Status == STATUS_NOTIFY_ENUM_DIR && KeReadStateEvent(object) != 0);
    /* Only one change is reported, and subkeys only on request. */
    KeClearEvent(object);
    block.Status = STATUS_PENDING;
    CHECK(Set(key, 3) == 0 && KeReadStateEvent(object) == 0);
    CHECK(WATCH(key, event, NULL, 4, FALSE) == STATUS_PENDING);
    CHECK(Key(&below, key, L"Below") == 0 && Set(below, 1) == 0 && KeReadStateEvent(object) == 0);
    CHECK(Set(key, 4) == 0 && block.Status == STATUS_NOTIFY_ENUM_DIR);
    KeClearEvent(object);
    CHECK(WATCH(key, event, NULL, 4, TRUE) == STATUS_PENDING && Set(below, 2) == 0);
    CHECK(block.Status == STATUS_NOTIFY_ENUM_DIR && KeReadStateEvent(object) != 0);
    /* In kernel mode, the APC routine is a work item. */
    KeInitializeEvent(&Worked, NotificationEvent, FALSE);
    item.List.Flink = NULL;
    item.WorkerRoutine = Work;
    item.Parameter = &Worked;
    CHECK(WATCH(key, NULL, &item, 1, FALSE) == STATUS_PENDING && ZwDeleteKey(below) == 0);
    CHECK(block.Status == STATUS_NOTIFY_ENUM_DIR);
    KeWaitForSingleObject(&Worked, Executive, KernelMode, FALSE, NULL);
    ZwClose(below);
    /* The end of the handle ends the wait. */
    KeClearEvent(object);
    CHECK(WATCH(key, event, NULL, 1, FALSE) == STATUS_PENDING);
    ZwClose(key);
    CHECK(block.Status == STATUS_NOTIFY_CLEANUP && KeReadStateEvent(object) != 0);
    ObfDereferenceObject(object);
    ZwClose(event);
    return 0;
}

static NTSTATUS Users(void)
{
    UNICODE_STRING path;
    OBJECT_ATTRIBUTES attributes;
    HANDLE key;

    CHECK((NTSTATUS)CALL(ANY, "RtlFormatCurrentUserKeyPath", &path) == 0);
    CHECK(path.Length == path.MaximumLength - 2 || path.Length == path.MaximumLength);
    InitializeObjectAttributes(&attributes, &path, 0x240, NULL, NULL);
    CHECK(ZwOpenKey(&key, 0x20019, &attributes) == 0);
    ZwClose(key);
    RtlFreeUnicodeString(&path);
    return 0;
}

static NTSTATUS Disk(void)
{
    UCHAR information[64] = {0};

    CHECK((NTSTATUS)CALL(ANY, "IoGetBootDiskInformation", information, 23) == STATUS_INVALID_PARAMETER);
#if BUG == 1
    /* Only this variant's service starts with the system. */
    CHECK((NTSTATUS)CALL(ANY, "IoGetBootDiskInformation", information, 24) == 0);
    CHECK(*(LONGLONG *)information > 0 && information[24] == 0);
    CHECK((NTSTATUS)CALL(ANY, "IoGetBootDiskInformation", information, 64) == 0 && information[56] == 1);
#else
    CHECK((NTSTATUS)CALL(ANY, "IoGetBootDiskInformation", information, 64) == STATUS_TOO_LATE);
#endif
    return 0;
}

static const STEP Steps[] = {
    STEP(folders_list_their_entries, Folders),
    STEP(drive_letters_lead_to_volumes, DriveLetters),
    STEP(changes_of_keys_are_notified, Changes),
    STEP(the_current_user_has_a_key, Users),
    STEP(the_boot_disk_is_for_boot_drivers, Disk),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    return RUN_STEPS(Irp);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;

    return CreateDevice(Driver, DeviceName, Dispatch, &device);
}
