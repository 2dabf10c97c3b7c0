/* Data that drivers read without a call: KUSER_SHARED_DATA and exported variables. */
#include "plain.h"

#define PAGE 0xFFFFF78000000000ULL
#define AT(type, offset) (*(volatile type *)(PAGE + (offset)))

typedef UCHAR Block __attribute__((vector_size(16)));

static UCHAR Copied[32];

/* The instruction contains the whole address. */
static ULONG Absolute(void)
{
    ULONG value;
    __asm__ volatile("movabsl 0xFFFFF78000000260, %%eax" : "=a"(value));
    return value;
}

static ULONG AbsoluteByte(void)
{
    ULONG64 value = ~0ULL;
    __asm__ volatile("movabsb 0xFFFFF78000000268, %%al" : "+a"(value));
    return (ULONG)value;
}

/* The destination register is also the register with the address. */
static ULONG64 Over(void)
{
    ULONG64 value = PAGE;
    __asm__ volatile("mov 0x300(%0), %0" : "+r"(value));
    return value;
}

static ULONG64 Strings(void)
{
    ULONG64 from = PAGE + 0x30, to = (ULONG64)Copied, count = 20;
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count)::"memory");
    return from - PAGE;
}

static NTSTATUS Read(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Driver;
    (void)Path;
    LARGE_INTEGER time, before;
    KeQuerySystemTimePrecise(&time);
    before.QuadPart = AT(LONGLONG, 0x14);
    LOG("time %d\n", before.QuadPart == time.QuadPart);
    LOG("build %u %u, version %u.%u\n", AT(ULONG, 0x260), Absolute(), AT(ULONG, 0x26C), AT(ULONG, 0x270));
    LOG("bytes %x %x\n", AbsoluteByte(), AT(UCHAR, 0x2D4));
    LOG("frequency %d, over %d\n", AT(LONGLONG, 0x300) == 10000000, Over() == 10000000);
    Block block = *(Block *)(PAGE + 0x30);
    LOG("root %c%c%c\n", block[0], block[2], block[4]);
    LOG("string %llx %ws\n", Strings(), (PWSTR)Copied);
    SIZE_T same = RtlCompareMemory((void *)(PAGE + 0x30), Copied, 20);
    LOG("routine %u, valid %d\n", (ULONG)same, MmIsAddressValid((void *)PAGE));
    LARGE_INTEGER delay = {.QuadPart = MILLISECONDS(1000)};
    KeDelayExecutionThread(KernelMode, FALSE, &delay);
    LOG("passed %lld, ticks %u\n", AT(LONGLONG, 0x14) - before.QuadPart, AT(ULONG, 0x320));
#if BUG == 1
    AT(ULONG, 0x260) = 1; /* mark 1 */
#endif
    return 0;
}

static void *Find(PCWSTR Name)
{
    UNICODE_STRING name;
    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->DriverUnload = Unload;
    LOG("process %d\n", *(PVOID *)Find(L"PsInitialSystemProcess") == (PVOID)IoGetCurrentProcess());
    LOG("number %x, processors %u\n", *(ULONG *)Find(L"NtBuildNumber"), *(UCHAR *)Find(L"KeNumberProcessors"));
    LOG("types %d\n", *(PVOID *)Find(L"ExEventObjectType") != *(PVOID *)Find(L"PsThreadType"));
    return Read(Driver, Path);
}
