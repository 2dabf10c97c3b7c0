/* Writes events from known call stacks: in DriverEntry, and in the enable callback that runs during EtwRegister. One
   function has a frame of variable size, so the unwinder needs its frame register to find the caller. */

#include <ntddk.h>

#define NOINLINE __attribute__((noinline))

static const GUID Provider = {0x5D3F7A10, 0x1B2C, 0x4E8D, {0x90, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77}};
static REGHANDLE Handle;
static volatile ULONG Sink;

static NOINLINE VOID Write(USHORT Id)
{
    EVENT_DESCRIPTOR descriptor = {0};

    descriptor.Id = Id;
    descriptor.Level = 4;
    EtwWrite(Handle, &descriptor, NULL, 0, NULL);
    Sink += Id;
}

static NOINLINE VOID Inner(USHORT Id, ULONG Depth)
{
    if (Depth == 0) {
        Write(Id);
    } else {
        Inner(Id, Depth - 1);
    }
    Sink += 1;
}

static NOINLINE ULONG Middle(USHORT Id, ULONG Size)
{
    volatile UCHAR *bytes = __builtin_alloca(Size);

    bytes[0] = (UCHAR)Id;
    Inner(Id, 2);
    return bytes[0] + Sink;
}

static NOINLINE ULONG Outer(USHORT Id)
{
    /* More than a page, so that the prolog calls __chkstk. */
    volatile UCHAR large[5000];

    large[0] = (UCHAR)Id;
    return Middle(Id, 64 + Sink % 2) + large[0];
}

static NOINLINE VOID Announce(VOID)
{
    Write(1);
    Sink += 2;
}

static VOID NTAPI Enabled(
    LPCGUID Source,
    ULONG Control,
    UCHAR Level,
    ULONGLONG Any,
    ULONGLONG All,
    PEVENT_FILTER_DESCRIPTOR Filter,
    PVOID Context)
{
    (void)Source, (void)Level, (void)Any, (void)All, (void)Filter, (void)Context;
    if (Control == 1) {
        Announce();
    }
    Sink += 3;
}

static NOINLINE NTSTATUS Register(VOID)
{
    NTSTATUS status = EtwRegister(&Provider, Enabled, NULL, &Handle);

    Sink += 4;
    return status;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    EtwUnregister(Handle);
}

typedef USHORT(NTAPI *CAPTURE)(ULONG Skip, ULONG Count, PVOID *Addresses, ULONG *Hash);

static NOINLINE VOID Capture(VOID)
{
    UNICODE_STRING name;
    PVOID addresses[8] = {0};
    ULONG hash = 0;
    USHORT count;
    CAPTURE capture;

    RtlInitUnicodeString(&name, L"RtlCaptureStackBackTrace");
    capture = (CAPTURE)MmGetSystemRoutineAddress(&name);
    count = capture(0, 8, addresses, &hash);
    DbgPrint("%u %d %d\n", count, addresses[0] != NULL && addresses[1] != NULL, hash != 0);
    count = capture(1, 8, addresses, NULL);
    DbgPrint("%u\n", count);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status;

    (void)Path;
    Driver->DriverUnload = Unload;
    status = Register();
    if (status >= 0) {
        Outer(2);
        Capture();
    }
    return status;
}
