/* A WDM driver that uses features of older and larger drivers: the kernel's image, security descriptors, generic
   tables, cancel-safe queues, the run-time library, buses and ports. */

#include "steps.h"

static WCHAR DeviceName[] = L"\\Device\\CSystem";
static PDEVICE_OBJECT TheDevice;
static PDRIVER_OBJECT TheDriver;
static WCHAR PathBuffer[256];
static UNICODE_STRING RegistryPath = {0, sizeof PathBuffer, PathBuffer};

static int Same(const CHAR *One, const CHAR *Other)
{
    while (*One != 0 && *One == *Other) {
        One++;
        Other++;
    }
    return *One == *Other;
}

/* Searches backwards from an export for the image headers, and reads the export directory, as rootkit detectors do. */
static NTSTATUS Image(void)
{
    UCHAR *place = (UCHAR *)((ULONG_PTR)LookUp(L"IoCreateDevice") & ~(ULONG_PTR)0xFFF);
    ULONG pages = 0, index, found = 0;
    UCHAR *headers;
    ULONG *directory, *functions, *names;
    USHORT *ordinals;

    while (*(USHORT *)place != 0x5A4D) {
        CHECK(++pages < 2048);
        place -= 0x1000;
        CHECK(((BOOLEAN(NTAPI *)(PVOID))LookUp(L"MmIsAddressValid"))(place));
    }
    headers = place + *(ULONG *)(place + 0x3C);
    CHECK(*(ULONG *)headers == 0x4550);
    CHECK(*(USHORT *)(headers + 4) == 0x8664);
    CHECK(*(USHORT *)(headers + 24) == 0x20B);
    directory = (ULONG *)(place + *(ULONG *)(headers + 24 + 112));
    CHECK(Same((CHAR *)place + directory[3], "ntoskrnl.exe"));
    functions = (ULONG *)(place + directory[7]);
    names = (ULONG *)(place + directory[8]);
    ordinals = (USHORT *)(place + directory[9]);
    for (index = 0; index < directory[6]; index++) {
        CHAR *name = (CHAR *)place + names[index];
        UCHAR *address = place + functions[ordinals[index]];

        CHECK(index == 0 || !Same(name, (CHAR *)place + names[index - 1]));
        if (Same(name, "IoCreateDevice")) {
            CHECK(address == LookUp(L"IoCreateDevice"));
            found++;
        }
        if (Same(name, "NtBuildNumber")) {
            CHECK(address == LookUp(L"NtBuildNumber"));
            found++;
        }
        if (Same(name, "__chkstk")) {
            CHECK(address == LookUp(L"__chkstk"));
            found++;
        }
    }
    CHECK(found == 3);
    return 0;
}

/* The loaded modules: the kernel and this driver. */
static NTSTATUS Modules(void)
{
    static UCHAR modules[8 + 2 * 0x128];
    ULONG length = 0;
    NTSTATUS status;
    UNICODE_STRING other;

    status = (NTSTATUS)CALL(ANY, "ZwQuerySystemInformation", 11, modules, 8, &length);
    CHECK(status == STATUS_INFO_LENGTH_MISMATCH && length == sizeof modules);
    status = (NTSTATUS)CALL(ANY, "ZwQuerySystemInformation", 11, modules, (ULONG)sizeof modules, &length);
    CHECK(status == 0 && *(ULONG *)modules == 2);
    CHECK(Same((CHAR *)modules + 8 + 0x28 + *(USHORT *)(modules + 8 + 0x26), "ntoskrnl.exe"));
    CHECK(*(PVOID *)(modules + 8 + 0x128 + 0x10) == TheDriver->DriverStart);
    CHECK((NTSTATUS)CALL(ANY, "ZwQuerySystemInformation", 0x7FFF, modules, 8, &length) == STATUS_INVALID_INFO_CLASS);
    CHECK((NTSTATUS)CALL(ANY, "ZwLoadDriver", &RegistryPath) == STATUS_IMAGE_ALREADY_LOADED);
    RtlInitUnicodeString(&other, L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\Nobody");
    CHECK((NTSTATUS)CALL(ANY, "ZwLoadDriver", &other) == STATUS_OBJECT_NAME_NOT_FOUND);
    return 0;
}

/* As wdmsec.lib does: builds a security descriptor from an ACL, makes it self-relative, and sets it on a device. */
static NTSTATUS Security(void)
{
    static UCHAR list[256], absolute[0x28], relative[256];
    ULONG64 *exports = *(ULONG64 **)LookUp(L"SeExports");
    PVOID system = (PVOID)exports[23 + 10], administrators = (PVOID)exports[23 + 11], world = (PVOID)exports[23 + 1];
    ULONG length = 8;
    UCHAR present = 0, defaulted = 1;
    PVOID dacl = NULL, captured = NULL;
    HANDLE handle;

    CHECK(exports[0] == 2 && exports[22] == 24);
    CHECK((ULONG)CALL(ANY, "RtlLengthSid", system) == 12);
    CHECK((ULONG)CALL(ANY, "RtlLengthSid", administrators) == 16);
    CHECK(((ULONG *)administrators)[2] == 32 && ((ULONG *)administrators)[3] == 544);
    CHECK((UCHAR)CALL(ANY, "RtlValidSid", world) == 1);
    CHECK((UCHAR)CALL(ANY, "RtlEqualSid", world, system) == 0);
    /* Sizes, counts and revisions are ULONGs: no bit of their lower halves is ignored. */
    CHECK((ULONG)CALL(ANY, "RtlLengthRequiredSid", 0x102) == 8 + 4 * 0x102);
    CHECK((NTSTATUS)CALL(ANY, "RtlCreateAcl", list, 64, 0x102) == STATUS_INVALID_PARAMETER);
    CHECK((NTSTATUS)CALL(ANY, "RtlCreateAcl", list, 4, 2) == STATUS_BUFFER_TOO_SMALL);
    CHECK((NTSTATUS)CALL(ANY, "RtlCreateAcl", list, 8 + 20 + 24, 2) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlAddAccessAllowedAce", list, 0x102, 0x10000000, system) == STATUS_REVISION_MISMATCH);
    CHECK((NTSTATUS)CALL(ANY, "RtlAddAccessAllowedAce", list, 2, 0x10000000, system) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlAddAccessAllowedAce", list, 2, 0xE0000000, administrators) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlAddAccessAllowedAce", list, 2, 0x80000000, world) == STATUS_ALLOTTED_SPACE_EXCEEDED);
    CHECK((NTSTATUS)CALL(ANY, "RtlCreateSecurityDescriptor", absolute, 2) == STATUS_UNKNOWN_REVISION);
    CHECK((NTSTATUS)CALL(ANY, "RtlCreateSecurityDescriptor", absolute, 1) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlSetDaclSecurityDescriptor", absolute, 1, list, 0) == 0);
    CHECK((ULONG)CALL(ANY, "RtlLengthSecurityDescriptor", absolute) == 0x28 + 52);
    CHECK((NTSTATUS)CALL(ANY, "RtlAbsoluteToSelfRelativeSD", absolute, relative, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(length == 0x14 + 52);
    CHECK((NTSTATUS)CALL(ANY, "RtlAbsoluteToSelfRelativeSD", absolute, relative, &length) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlGetDaclSecurityDescriptor", relative, &present, &dacl, &defaulted) == 0);
    CHECK(present == 1 && defaulted == 0 && dacl == relative + 0x14 && *(USHORT *)(relative + 0x14 + 4) == 2);
    CHECK((NTSTATUS)CALL(ANY, "SeCaptureSecurityDescriptor", absolute, 0, 1, 1, &captured) == 0);
    CHECK((ULONG)CALL(ANY, "RtlLengthSecurityDescriptor", captured) == 0x14 + 52);
    CHECK((NTSTATUS)CALL(ANY, "ObOpenObjectByPointer", TheDevice, 0x200, NULL, 0x40000, NULL, 0, &handle) == 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwSetSecurityObject", handle, 4, captured) == 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwQuerySecurityObject", handle, 4, relative, (ULONG)sizeof relative, &length) == 0);
    CHECK(length == 0x14 + 52);
    length = 0;
    CHECK((NTSTATUS)CALL(ANY, "NtSetSecurityObject", handle, 4, captured) == 0);
    CHECK((NTSTATUS)CALL(ANY, "NtQuerySecurityObject", handle, 4, relative, 8, &length) == STATUS_BUFFER_TOO_SMALL);
    CHECK(length == 0x14 + 52);
    CALL(ANY, "ZwClose", handle);
    CALL(ANY, "ExFreePoolWithTag", captured, 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwSetSecurityObject", handle, 4, relative) == STATUS_INVALID_HANDLE);
    return 0;
}

static ULONG Allocated, Freed;

static ULONG NTAPI Compare(PVOID Table, ULONG *One, ULONG *Other)
{
    (void)Table;
    return *One < *Other ? 0 : *One > *Other ? 1 : 2;
}

static PVOID NTAPI Allocate(PVOID Table, ULONG Size)
{
    (void)Table;
    Allocated++;
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, Size, TAG);
}

static VOID NTAPI Free(PVOID Table, PVOID Node)
{
    (void)Table;
    Freed++;
    ExFreePoolWithTag(Node, TAG);
}

/* Elements are enumerated in order, once each. The table uses the driver's routines to allocate and free them. */
static NTSTATUS Tables(void)
{
    static UCHAR table[0x68];
    ULONG index, value, *element, result = 9;
    UCHAR added = 0, *node = NULL;
    PVOID restart = NULL;

    CALL(ANY, "RtlInitializeGenericTableAvl", table, Compare, Allocate, Free, NULL);
    CHECK((UCHAR)CALL(ANY, "RtlIsGenericTableEmptyAvl", table) == 1);
    for (index = 0; index < 50; index++) {
        value = index * 37 % 50;
        element = (ULONG *)CALL(ANY, "RtlInsertElementGenericTableAvl", table, &value, 4, &added);
        CHECK(element != NULL && *element == value && added == 1);
    }
    value = 7;
    CHECK(*(ULONG *)CALL(ANY, "RtlInsertElementGenericTableAvl", table, &value, 4, &added) == 7 && added == 0);
    CHECK(Allocated == 50 && (ULONG)CALL(ANY, "RtlNumberGenericTableElementsAvl", table) == 50);
    for (index = 0; index < 50; index++) {
        element = (ULONG *)CALL(ANY, "RtlEnumerateGenericTableWithoutSplayingAvl", table, &restart);
        CHECK(element != NULL && *element == index);
    }
    CHECK(CALL(ANY, "RtlEnumerateGenericTableWithoutSplayingAvl", table, &restart) == 0);
    CHECK(*(ULONG *)CALL(ANY, "RtlGetElementGenericTableAvl", table, 3) == 3);
    CHECK((UCHAR)CALL(ANY, "RtlDeleteElementGenericTableAvl", table, &value) == 1);
    CHECK((UCHAR)CALL(ANY, "RtlDeleteElementGenericTableAvl", table, &value) == 0);
    CHECK(CALL(ANY, "RtlLookupElementGenericTableAvl", table, &value) == 0);
    CHECK(CALL(ANY, "RtlLookupElementGenericTableFullAvl", table, &value, &node, &result) == 0);
    CHECK(result == 3 && *(ULONG *)(node + 0x20) == 6);
    /* A value below the smallest element would be inserted as its left child. */
    value = 0;
    CHECK((UCHAR)CALL(ANY, "RtlDeleteElementGenericTableAvl", table, &value) == 1);
    CHECK(CALL(ANY, "RtlLookupElementGenericTableFullAvl", table, &value, &node, &result) == 0);
    CHECK(result == 2 && *(ULONG *)(node + 0x20) == 1);
    value = 1;
    element = (ULONG *)CALL(ANY, "RtlLookupElementGenericTableFullAvl", table, &value, &node, &result);
    CHECK(result == 1 && element == (ULONG *)(node + 0x20) && *element == 1);
    while ((element = (ULONG *)CALL(ANY, "RtlGetElementGenericTableAvl", table, 0)) != NULL) {
        value = *element;
        CHECK((UCHAR)CALL(ANY, "RtlDeleteElementGenericTableAvl", table, &value) == 1);
    }
    CHECK(Freed == 50);
    CHECK(CALL(ANY, "RtlLookupElementGenericTableFullAvl", table, &value, &node, &result) == 0 && result == 0);
    return 0;
}

/* A cancel-safe queue for one IRP. */
static KSPIN_LOCK QueueLock;
static PIRP Queued;
static ULONG Canceled;

static VOID NTAPI CsqInsert(PVOID Queue, PIRP Irp)
{
    (void)Queue;
    Queued = Irp;
}

static VOID NTAPI CsqRemove(PVOID Queue, PIRP Irp)
{
    (void)Queue;
    (void)Irp;
    Queued = NULL;
}

static PIRP NTAPI CsqPeek(PVOID Queue, PIRP Irp, PVOID Context)
{
    (void)Queue;
    (void)Context;
    return Irp == NULL ? Queued : NULL;
}

static VOID NTAPI CsqAcquire(PVOID Queue, KIRQL *OldIrql)
{
    (void)Queue;
    *OldIrql = KeAcquireSpinLockRaiseToDpc(&QueueLock);
}

static VOID NTAPI CsqRelease(PVOID Queue, KIRQL OldIrql)
{
    (void)Queue;
    KeReleaseSpinLock(&QueueLock, OldIrql);
}

static VOID NTAPI CsqComplete(PVOID Queue, PIRP Irp)
{
    (void)Queue;
    Canceled++;
    Finish(Irp, STATUS_CANCELLED, 0);
}

static UCHAR Csq[0x40];

static NTSTATUS Queues(void)
{
    CHECK((NTSTATUS)CALL(ANY, "IoCsqInitialize", Csq, CsqInsert, CsqRemove, CsqPeek, CsqAcquire, CsqRelease, CsqComplete) == 0);
    CHECK(CALL(ANY, "IoCsqRemoveNextIrp", Csq, NULL) == 0 && Irql() == 0);
    return 0;
}

/* Routines of the run-time library: strings with buffer sizes, numbers and times. */
static NTSTATUS Library(void)
{
    CHAR text[8];
    WCHAR wide[8];
    ULONG64 time = 132539328000000000ull, again = 0;
    USHORT fields[8];
    ULONG seconds;

    CHECK((ULONG)CALL(ANY, "strcpy_s", text, 8, "seven77") == 0 && Same(text, "seven77"));
    CHECK((ULONG)CALL(ANY, "strcpy_s", text, 8, "eight888") == 34 && text[0] == 0);
    CHECK((ULONG)CALL(ANY, "strncpy_s", text, 8, "eight888", (SIZE_T)-1) == 80 && Same(text, "eight88"));
    CHECK((ULONG)CALL(ANY, "strcat_s", text, 8, "9") == 34);
    CHECK((ULONG)CALL(ANY, "wcscpy_s", wide, 8, L"abc") == 0 && wide[3] == 0);
    CHECK(((WCHAR *)CALL(ANY, "_wcsupr", wide))[1] == 'B');
    CHECK((LONG)CALL(ANY, "atoi", "  -42x") == -42);
    CHECK(Same((CHAR *)CALL(ANY, "_itoa", -25, text, 10), "-25"));
    CHECK((ULONG)CALL(ANY, "memcpy_s", text, 2, "abc", 3) == 34 && text[0] == 0);
    CALL(ANY, "RtlTimeToTimeFields", &time, fields);
    CHECK(fields[0] == 2021 && fields[1] == 1 && fields[2] == 1);
    CHECK((UCHAR)CALL(ANY, "RtlTimeFieldsToTime", fields, &again) == 1 && again == time);
    CHECK((UCHAR)CALL(ANY, "RtlTimeToSecondsSince1970", &time, &seconds) == 1 && seconds == 1609459200);
    CHECK((UCHAR)CALL(ANY, "RtlTimeToSecondsSince1980", &time, &seconds) == 1 && seconds == 1293926400);
    CALL(ANY, "RtlSecondsSince1980ToTime", seconds, &again);
    CHECK(again == time);
    time = 119600063999999999ull; /* the last moment of 1979 */
    CHECK((UCHAR)CALL(ANY, "RtlTimeToSecondsSince1980", &time, &seconds) == 0);
    CHECK((CHAR)CALL(ANY, "RtlFindLeastSignificantBit", 0x8000000000001000ull) == 12);
    CHECK((CHAR)CALL(ANY, "RtlFindMostSignificantBit", 0x8000000000001000ull) == 63);
    CHECK((CHAR)CALL(ANY, "RtlFindLeastSignificantBit", 0ull) == -1);
    CHECK((CHAR)CALL(ANY, "RtlFindMostSignificantBit", 0ull) == -1);
    return 0;
}

/* A count ends a string as a terminator does. The memory after the page is not mapped, so nothing may read it. */
static NTSTATUS Counts(void)
{
    UCHAR *page = ExAllocatePool2(POOL_FLAG_NON_PAGED, 0x1000, TAG);
    CHAR *text = (CHAR *)page + 0xFFC;
    WCHAR *wide = (WCHAR *)(page + 0xFF8);
    static CHAR many[40001];
    ULONG index;

    CHECK(page != NULL);
    text[0] = 'w', text[1] = 'x', text[2] = 'y', text[3] = 'z';
    CHECK(CALL(ANY, "strnlen", text, 4) == 4 && CALL(ANY, "strnlen", "ab", 9) == 2);
    CHECK((LONG)CALL(ANY, "strncmp", text, "wxyz!", 4) == 0 && (LONG)CALL(ANY, "strncmp", "wxy", text, 4) < 0);
    CHECK((LONG)CALL(ANY, "_strnicmp", text, "WXYZ!", 4) == 0 && (LONG)CALL(ANY, "strcmp", text, "wxya") > 0);
    CHECK((CHAR *)CALL(ANY, "strchr", text, 'z') == text + 3);
    wide[0] = 'w', wide[1] = 'x', wide[2] = 'y', wide[3] = 'z';
    CHECK(CALL(ANY, "wcsnlen", wide, 4) == 4 && CALL(ANY, "wcsnlen", L"ab", 9) == 2);
    CHECK((LONG)CALL(ANY, "wcsncmp", wide, L"wxyz!", 4) == 0 && (LONG)CALL(ANY, "_wcsnicmp", wide, L"WXYZ!", 4) == 0);
    CHECK((ULONG)CALL(ANY, "wcsncpy_s", many, 3, wide, (SIZE_T)-1) == 80 && ((WCHAR *)many)[1] == 'x');
    ExFreePoolWithTag(page, TAG);
    /* Letters are compared in lower case, and lower case comes after the underscore. */
    CHECK((LONG)CALL(ANY, "_stricmp", "_", "A") < 0 && (LONG)CALL(ANY, "_wcsicmp", L"_", L"A") < 0);
    text = "aba";
    CHECK((CHAR *)CALL(ANY, "strchr", text, 0) == text + 3 && (CHAR *)CALL(ANY, "strrchr", text, 0) == text + 3);
    CHECK((CHAR *)CALL(ANY, "strchr", text, 'a') == text && (CHAR *)CALL(ANY, "strrchr", text, 'a') == text + 2);
    wide = L"aba";
    CHECK((WCHAR *)CALL(ANY, "wcschr", wide, 0) == wide + 3 && (WCHAR *)CALL(ANY, "wcsrchr", wide, 0) == wide + 3);
    CHECK(CALL(ANY, "wcschr", wide, 'c') == 0 && (WCHAR *)CALL(ANY, "wcsrchr", wide, 'b') == wide + 1);
    for (index = 0; index < 40000; index++) {
        many[index] = 'x';
    }
    CHECK(CALL(ANY, "strlen", many) == 40000);
    return 0;
}

/* Text that does not fit is truncated if the count allows it. Otherwise the buffer is empty. */
static NTSTATUS Printing(void)
{
    CHAR text[8];
    WCHAR wide[8];

    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, 3, "%s", "abc") == 3 && Same(text, "abc"));
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, 3, "%s", "abcd") == -1 && Same(text, "abc"));
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, (SIZE_T)-1, "%s", "1234567") == 7 && Same(text, "1234567"));
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, (SIZE_T)-1, "%s", "12345678") == -1 && Same(text, "1234567"));
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, 9, "%s", "12345678") == -1 && text[0] == 0);
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, 9, "%d", -12) == 3 && Same(text, "-12"));
    CHECK((LONG)CALL(ANY, "_snprintf_s", text, 8, 0, "%d", 1) == -1 && Same(text, "-12"));
    CHECK((LONG)CALL(ANY, "sprintf_s", text, 8, "%s", "1234567") == 7 && Same(text, "1234567"));
    CHECK((LONG)CALL(ANY, "sprintf_s", text, 8, "%s", "12345678") == -1 && text[0] == 0);
    CHECK((LONG)CALL(ANY, "_snwprintf_s", wide, 8, 2, L"%s", L"abc") == -1 && wide[1] == 'b' && wide[2] == 0);
    CHECK((LONG)CALL(ANY, "swprintf_s", wide, 8, L"%s", L"12345678") == -1 && wide[0] == 0);
    /* _snprintf writes no terminator if there is no room for it. */
    text[3] = '!';
    CHECK((LONG)CALL(ANY, "_snprintf", text, 3, "%s", "abc") == 3 && text[2] == 'c' && text[3] == '!');
    CHECK((LONG)CALL(ANY, "_snprintf", text, 3, "%s", "abcd") == -1 && text[2] == 'c' && text[3] == '!');
    return 0;
}

/* A view of physical memory ends with its unmapping, by any address in it. Without a view, the routine only fails. */
static NTSTATUS Views(void)
{
    const NTSTATUS not_mapped = STATUS_NOT_MAPPED_VIEW;
    HANDLE process = (HANDLE)(LONG_PTR)-1, section = NULL;
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING name;
    UCHAR *view = NULL;
    SIZE_T size = 0x2000;

    RtlInitUnicodeString(&name, L"\\Device\\PhysicalMemory");
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240;
    CHECK((NTSTATUS)CALL(ANY, "ZwOpenSection", &section, 6, &attributes) == 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwMapViewOfSection", section, process, &view, 0, 0, NULL, &size, 1, 0, 4) == 0);
    view[0x1FFF] = 1;
    CHECK((NTSTATUS)CALL(ANY, "ZwUnmapViewOfSection", process, view + 0x1234) == 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwUnmapViewOfSection", process, view) == not_mapped);
    CHECK((NTSTATUS)CALL(ANY, "ZwUnmapViewOfSection", process, NULL) == not_mapped);
    CHECK((NTSTATUS)CALL(ANY, "ZwUnmapViewOfSection", process, TheDevice) == not_mapped);
    CHECK((NTSTATUS)CALL(ANY, "ZwClose", section) == 0);
    return 0;
}

/* Buses and ports without a device, and registers of the processor. */
static NTSTATUS Hardware(void)
{
    UCHAR byte;
    USHORT word, vendor = 0;
    ULONG value, low, high;
    ULONG64 *ranges = (ULONG64 *)CALL(ANY, "MmGetPhysicalMemoryRanges");
    ULONG64 page;
    static ULONG basic[16];
    ULONG pages = *(volatile ULONG *)0xFFFFF780000002E8; /* KUSER_SHARED_DATA.NumberOfPhysicalPages */

    CHECK(ranges != NULL && ranges[1] == (ULONG64)pages * 0x1000 && ranges[2] == 0 && ranges[3] == 0);
    CHECK((NTSTATUS)CALL(ANY, "ZwQuerySystemInformation", 0, basic, (ULONG)sizeof basic, NULL) == 0);
    CHECK(basic[3] == pages && basic[4] * 0x1000ull == ranges[0] && basic[5] - basic[4] + 1 == pages);
    CALL(ANY, "ExFreePoolWithTag", ranges, 0);
    CHECK((ULONG)CALL(ANY, "HalGetBusDataByOffset", 4, 0, 0, &vendor, 0, 2) == 2 && vendor == 0xFFFF);
    __asm__ volatile("inb %1, %0" : "=a"(byte) : "d"((USHORT)0x60));
    __asm__ volatile("inw %1, %0" : "=a"(word) : "d"((USHORT)0x60));
    __asm__ volatile("inl %1, %0" : "=a"(value) : "d"((USHORT)0xCFC));
    CHECK(byte == 0xFF && word == 0xFFFF && value == 0xFFFFFFFF);
    __asm__ volatile("outb %0, %1" : : "a"(byte), "d"((USHORT)0x80));
    __asm__ volatile("outl %0, %1" : : "a"(value), "d"((USHORT)0xCF8));
    __asm__ volatile("cli");
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(0x1A0));
    __asm__ volatile("sti");
    __asm__ volatile("mov %%cr0, %0" : "=r"(page));
    CHECK(low == 0 && high == 0 && (page & 0x80000001) == 0x80000001);
    return Views();
}

/* Names of objects. */
static NTSTATUS Names(void)
{
    static UCHAR room[256];
    UNICODE_STRING *name = (UNICODE_STRING *)room;
    UNICODE_STRING wanted;
    ULONG length = 0;
    PVOID object = NULL;

    CHECK((NTSTATUS)CALL(ANY, "ObQueryNameString", TheDevice, room, 8, &length) == STATUS_INFO_LENGTH_MISMATCH);
    CHECK(length == 16 + sizeof DeviceName);
    CHECK((NTSTATUS)CALL(ANY, "ObQueryNameString", TheDevice, room, (ULONG)sizeof room, &length) == 0);
    CHECK(name->Length == sizeof DeviceName - 2 && name->Buffer[8] == 'C');
    RtlInitUnicodeString(&wanted, DeviceName);
    CHECK((NTSTATUS)CALL(ANY, "ObReferenceObjectByName", &wanted, 0, NULL, 0, NULL, 0, NULL, &object) == 0);
    CHECK(object == TheDevice);
    CALL(ANY, "ObfDereferenceObject", object);
    return 0;
}

static HANDLE OpenLink(PWSTR Name)
{
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING name;
    HANDLE handle = NULL;

    RtlInitUnicodeString(&name, Name);
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240;
    CALL(ANY, "ZwOpenSymbolicLinkObject", &handle, 1, &attributes);
    return handle;
}

/* Returns the last character of a link's target. */
static WCHAR Target(HANDLE Link)
{
    WCHAR room[32];
    UNICODE_STRING target = {0, sizeof room, room};

    return CALL(ANY, "ZwQuerySymbolicLinkObject", Link, &target, NULL) == 0 ? room[target.Length / 2 - 1] : 0;
}

/* A handle refers to the same link even if that link or another one is deleted. */
static NTSTATUS Links(void)
{
    static PWSTR names[] = {L"\\??\\CSystem1", L"\\??\\CSystem2", L"\\??\\CSystem3"};
    static PWSTR targets[] = {L"\\Device\\A", L"\\Device\\B", L"\\Device\\C"};
    UNICODE_STRING name, target;
    HANDLE second, third;
    ULONG index;

    for (index = 0; index < 3; index++) {
        RtlInitUnicodeString(&name, names[index]);
        RtlInitUnicodeString(&target, targets[index]);
        CHECK(IoCreateSymbolicLink(&name, &target) == 0);
    }
    second = OpenLink(names[1]);
    third = OpenLink(names[2]);
    CHECK(Target(second) == 'B' && Target(third) == 'C');
    ZwClose(third);
    third = OpenLink(L"\\DosDevices\\csystem3");
    CHECK(Target(third) == 'C');
    ZwClose(third);
    third = OpenLink(L"\\GLOBAL??\\CSystem3");
    CHECK(Target(third) == 'C');
    RtlInitUnicodeString(&name, names[0]);
    CHECK(IoDeleteSymbolicLink(&name) == 0 && OpenLink(names[0]) == NULL);
    CHECK(Target(second) == 'B' && Target(third) == 'C');
    RtlInitUnicodeString(&name, names[1]);
    CHECK(IoDeleteSymbolicLink(&name) == 0 && Target(second) == 'B');
    /* A new link with the same name is another object. */
    RtlInitUnicodeString(&target, targets[0]);
    CHECK(IoCreateSymbolicLink(&name, &target) == 0 && Target(second) == 'B');
    ZwClose(second);
    second = OpenLink(names[1]);
    CHECK(Target(second) == 'A' && Target(third) == 'C');
    ZwClose(second);
    ZwClose(third);
    CHECK(IoDeleteSymbolicLink(&name) == 0);
    RtlInitUnicodeString(&name, names[2]);
    CHECK(IoDeleteSymbolicLink(&name) == 0);
    return 0;
}

/* The start of the system's addresses, as in the kit's headers. */
static PVOID volatile RangeStart = (PVOID)0xFFFF800000000000;
/* The same bits as masks, which the host must not change: one alone, and a pair for vector instructions. */
static ULONG64 volatile Mask = 0xFFFF000000000000;
static ULONG64 volatile Pair[2] __attribute__((aligned(16))) = {0xFFFF800000000000, 0xFFFF800000000000};

/* Drivers subtract these sizes from the length of a registry value. */
_Static_assert(sizeof(UNICODE_NULL) == sizeof(WCHAR) && sizeof(ANSI_NULL) == sizeof(CHAR), "the size of a terminator");

/* Routines that drivers of serial ports and security tools use. */
static NTSTATUS Smaller(void)
{
    UNICODE_STRING expression, name;
    const CHAR text[] = "ab", *place = text;
    CHAR room[12];
    STRING oem = {0, sizeof(room), room};
    BOOLEAN spaces = TRUE;
    GUID first, second;
    UCHAR *image, *found;
    ULONG *counts;

    CHECK((PVOID)&name > RangeStart);
    CHECK(Mask << 16 == 0 && Mask >> 48 == 0xFFFF && Pair[0] == ~0ull << 47 && Pair[1] == ~0ull << 47);
    RtlInitUnicodeString(&expression, L"*.SYS");
    RtlInitUnicodeString(&name, L"driver.sys");
    CHECK((UCHAR)CALL(ANY, "FsRtlIsNameInExpression", &expression, &name, TRUE, NULL) == 1);
    CHECK((UCHAR)CALL(ANY, "FsRtlIsNameInExpression", &expression, &name, FALSE, NULL) == 0);
    CHECK((UCHAR)CALL(ANY, "FsRtlDoesNameContainWildCards", &expression) == 1);
    CHECK((UCHAR)CALL(ANY, "FsRtlDoesNameContainWildCards", &name) == 0);
    CHECK(ExUuidCreate(&first) == 0 && ExUuidCreate(&second) == 0 && first.Data1 != second.Data1);
    CHECK(first.Data3 >> 12 == 4 && first.Data4[0] >> 6 == 2);
    CHECK((UCHAR)CALL(ANY, "RtlIsNameLegalDOS8Dot3", &expression, NULL, NULL) == 0);
    CHECK((UCHAR)CALL(ANY, "RtlIsNameLegalDOS8Dot3", &name, &oem, &spaces) == 1 && !spaces);
    CHECK(oem.Length == 10 && room[0] == 'D' && room[9] == 'S');
    CHECK((USHORT)CALL(ANY, "RtlAnsiCharToUnicodeChar", &place) == 'a' && place == text + 1);
    image = TheDriver->DriverStart;
    CHECK(CALL(ANY, "RtlImageNtHeader", image) == (ULONG_PTR)(image + *(ULONG *)(image + 0x3C)));
    CHECK(CALL(ANY, "RtlImageNtHeader", text) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlImageNtHeaderEx", 0, image, 0x1000, &found) == 0 && found != NULL);
    CHECK((NTSTATUS)CALL(ANY, "RtlImageNtHeaderEx", 0, image, 0x80, &found) == STATUS_INVALID_IMAGE_FORMAT && found == NULL);
    /* The headers would be after the page, which is not mapped. Nothing after the given size may be read. */
    image = ExAllocatePool2(POOL_FLAG_NON_PAGED, 0x1000, TAG);
    CHECK(image != NULL);
    *(USHORT *)image = 0x5A4D;
    *(ULONG *)(image + 0x3C) = 0x1800;
    CHECK((NTSTATUS)CALL(ANY, "RtlImageNtHeaderEx", 0, image, 0x1000, &found) == STATUS_INVALID_IMAGE_FORMAT);
    *(USHORT *)(image + 0xFFE) = 0x5A4D;
    CHECK((NTSTATUS)CALL(ANY, "RtlImageNtHeaderEx", 0, image + 0xFFE, 2, &found) == STATUS_INVALID_IMAGE_FORMAT);
    ExFreePoolWithTag(image, TAG);
    image = (UCHAR *)((ULONG_PTR)LookUp(L"IoCreateDevice") & ~(ULONG_PTR)0xFFF);
    while (*(USHORT *)image != 0x5A4D) {
        image -= 0x1000;
    }
    CHECK(CALL(ANY, "RtlFindExportedRoutineByName", image, "IoDeleteDevice") == (ULONG_PTR)LookUp(L"IoDeleteDevice"));
    CHECK(CALL(ANY, "RtlFindExportedRoutineByName", image, "IoNothing") == 0);
    /* The sixth member is the number of serial ports. */
    counts = (ULONG *)CALL(ANY, "IoGetConfigurationInformation");
    CHECK(counts[5] == 0 && counts[8] == 40);
    counts[5]++;
    counts = (ULONG *)CALL(ANY, "IoGetConfigurationInformation");
    CHECK(counts[5]-- == 1);
    CHECK((NTSTATUS)CALL(ANY, "KdSystemDebugControl", 0, NULL, 0, NULL, 0, NULL, 0) == STATUS_DEBUGGER_INACTIVE);
    return 0;
}

/* Information about registry keys. The test sets a value of the subkey. Writing a value creates its key. */
static NTSTATUS Keys(void)
{
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING name;
    ULONG words[64], length, value = 5;
    HANDLE key;

    RtlInitUnicodeString(&name, L"\\Registry\\Machine\\Software\\CSystem");
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240;
    CHECK(ZwOpenKey(&key, 0x20019, &attributes) == 0);
    /* KeyFullInformation: one subkey with a name of 8 bytes, no value. */
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryKey", key, 2, words, sizeof words, &length) == 0);
    CHECK(length == 44 && words[5] == 1 && words[6] == 8 && words[8] == 0);
    /* KeyBasicInformation, KeyNameInformation. */
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryKey", key, 0, words, sizeof words, &length) == 0);
    CHECK(length == 16 + 14 && words[3] == 14 && *(WCHAR *)(words + 4) == 'C');
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryKey", key, 3, words, sizeof words, &length) == 0);
    CHECK(words[0] == name.Length && *(WCHAR *)(words + 1) == '\\');
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryKey", key, 3, words, 8, &length) == STATUS_BUFFER_OVERFLOW);
    CHECK((NTSTATUS)CALL(ANY, "ZwQueryKey", key, 9, words, sizeof words, &length) == STATUS_INVALID_PARAMETER);
    /* KeyFullInformation of the subkey: one value with a name of 10 bytes and 4 bytes of data. */
    CHECK((NTSTATUS)CALL(ANY, "ZwEnumerateKey", key, 0, 2, words, sizeof words, &length) == 0);
    CHECK(words[5] == 0 && words[8] == 1 && words[9] == 10 && words[10] == 4);
    ZwClose(key);
    CHECK((NTSTATUS)CALL(ANY, "RtlWriteRegistryValue", 4, L"SERIALCOMM", L"A", 4, &value, 4) == 0);
    CHECK((NTSTATUS)CALL(ANY, "RtlCheckRegistryKey", 4, L"SERIALCOMM") == 0);
    return 0;
}

/* Sessions: the test has started one. */
static NTSTATUS Sessions(void)
{
    ANY query = (ANY)LookUp(L"WmiQueryTraceInformation");
    UNICODE_STRING name;
    ULONG64 handles[4] = {0}, handle = 0;
    ULONG64 node[6] = {0};
    ULONG length = 0, id = 0;

    CHECK((NTSTATUS)query(6, handles, sizeof(handles), &length, NULL) == 0 && length == 8 && handles[1] == 0);
    CHECK((NTSTATUS)query(6, handles, 0, &length, NULL) == 0x105 && length == 8);
    /* The handle of a provider also has its level and its flags. */
    node[1] = handles[0] | 5 << 16 | 0x12345678ull << 32;
    CHECK((NTSTATUS)query(0, &id, 4, &length, node) == 0 && length == 4 && id == handles[0]);
    CHECK((NTSTATUS)query(1, &handle, 8, NULL, &id) == 0 && handle == handles[0]);
    CHECK((NTSTATUS)query(2, &id, 4, NULL, node) == 0 && id == 0x12345678);
    CHECK((NTSTATUS)query(3, &id, 8, NULL, node) == 0 && id == 5);
    RtlInitUnicodeString(&name, L"nt-host");
    CHECK((NTSTATUS)query(7, &handle, 8, NULL, &name) == 0 && handle == handles[0]);
    CHECK((NTSTATUS)query(7, &handle, 4, &length, &name) == STATUS_INFO_LENGTH_MISMATCH && length == 8);
    RtlInitUnicodeString(&name, L"missing");
    CHECK((NTSTATUS)query(7, &handle, 8, NULL, &name) == STATUS_INVALID_PARAMETER);
    CHECK((NTSTATUS)query(7, &handle, 8, NULL, NULL) == STATUS_INVALID_PARAMETER_MIX);
    node[1] = 77;
    CHECK((NTSTATUS)query(0, &id, 4, NULL, node) == STATUS_INVALID_HANDLE);
    CHECK((NTSTATUS)query(4, &handle, 8, NULL, NULL) == STATUS_NOT_FOUND);
    CHECK((NTSTATUS)query(15, &handle, 8, NULL, NULL) == STATUS_INVALID_INFO_CLASS);
    return 0;
}

static const STEP Steps[] = {
    STEP(the_image_of_the_kernel_exports_its_routines, Image),
    STEP(modules_are_listed_and_found_loaded, Modules),
    STEP(security_descriptors_are_built_and_stored, Security),
    STEP(avl_tables_keep_their_elements_sorted, Tables),
    STEP(an_empty_cancel_safe_queue_returns_no_packet, Queues),
    STEP(the_run_time_library_converts_strings_numbers_and_times, Library),
    STEP(a_count_ends_a_string_as_a_terminator_does, Counts),
    STEP(text_that_does_not_fit_is_truncated_if_the_count_allows_it, Printing),
    STEP(buses_and_ports_without_a_device_read_as_ones, Hardware),
    STEP(objects_have_names, Names),
    STEP(a_handle_of_a_symbolic_link_outlives_its_name, Links),
    STEP(smaller_routines_work, Smaller),
    STEP(keys_have_information, Keys),
    STEP(sessions_have_information, Sessions),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    switch (IoGetCurrentIrpStackLocation(Irp)->MajorFunction) {
    case IRP_MJ_CREATE:
    case IRP_MJ_CLEANUP:
    case IRP_MJ_CLOSE:
        return Finish(Irp, 0, 0);
    case IRP_MJ_READ:
        CALL(ANY, "IoCsqInsertIrp", Csq, Irp, NULL);
        return STATUS_PENDING;
    case IRP_MJ_WRITE: {
        PIRP waiting = (PIRP)CALL(ANY, "IoCsqRemoveNextIrp", Csq, NULL);

        if (waiting != NULL) {
            Finish(waiting, 0, 1);
        }
        return Finish(Irp, waiting == NULL ? STATUS_UNSUCCESSFUL : 0, Canceled);
    }
    case IRP_MJ_DEVICE_CONTROL:
        return RUN_STEPS(Irp);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    NTSTATUS status;
    ULONG index;

    TheDriver = Driver;
    RtlCopyUnicodeString(&RegistryPath, Path);
    RtlInitUnicodeString(&name, DeviceName);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
    if (status < 0) {
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
