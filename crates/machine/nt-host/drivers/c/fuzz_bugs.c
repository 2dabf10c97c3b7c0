/* A driver with one bug of each class, each behind its own control code and a condition: for the fuzzer. Without BUG, the
   same driver without the bugs. If BUG is 2, it has all bugs but the overflow of the stack: what that one does depends on the
   addresses beside the buffer, which differ from process to process. */

#include "plain.h"

#if BUG == 2
#undef BUG
#define BUG 1
#define STACK_IS_SAFE 1
#else
#define STACK_IS_SAFE !BUG
#endif

#define CODE(number) CTL_CODE(0x22, 0x800 + (number), 0, 0)

/* What a handler knows about its request. */
typedef struct {
    PIRP irp;
    UCHAR *data;
    ULONG input, output;
    /* How much is returned. */
    ULONG_PTR information;
    /* Whether the handler has completed the request, or keeps it. */
    BOOLEAN taken;
} REQUEST;

/* What a handle refers to. */
typedef struct {
    ULONG kind;
    union {
        ULONG *pointer;
        ULONG64 number;
    } value;
} OBJECT;

static WCHAR DeviceName[] = L"\\Device\\FuzzBugs";
static WCHAR LinkName[] = L"\\DosDevices\\FuzzBugs";
static KSPIN_LOCK First, Second;
static KTIMER Timer;
/* One request at a time. */
static KEVENT Gate;
static ULONG *Used, *Freed, *Shared, *Slot;
static OBJECT Object;
static PIRP Pending;
static ULONG Stage;
static volatile ULONG Sink;
static ULONG Modes[4] = {1, 2, 3, 4};

static ULONG Field(REQUEST *Request, ULONG Index)
{
    return Request->input >= (Index + 1) * 4 ? ((ULONG *)Request->data)[Index] : 0;
}

static void *Allocate(SIZE_T Size)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, Size, TAG);
}

static NTSTATUS MissingLengthCheck(REQUEST *Request)
{
    if (!BUG && Request->input < 4) {
        return STATUS_INVALID_PARAMETER;
    }
    Sink = *(ULONG *)Request->data;
    return 0;
}

static NTSTATUS PoolOverflow(REQUEST *Request)
{
    UCHAR *copy;
    ULONG index;

    if (Field(Request, 0) != 0x4C4F4F50 || (!BUG && Request->input > 64)) {
        return STATUS_INVALID_PARAMETER;
    }
    copy = Allocate(64);
    if (copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (index = 0; index < Request->input; index++) {
        copy[index] = Request->data[index];
    }
    ExFreePoolWithTag(copy, TAG);
    return 0;
}

/* Finds its mistake like a function that is compiled with /GS. One instruction copies, with its operands in registers: what
 * it overwrites must not decide how it goes on. */
static NTSTATUS StackOverflow(REQUEST *Request)
{
    struct {
        UCHAR copy[32];
        ULONG64 cookie;
    } volatile frame = {.cookie = 0x2B992DDFA232};
    const UCHAR *from = Request->data;
    volatile UCHAR *to = frame.copy;
    SIZE_T length = Request->input;

    if (Field(Request, 0) != 0x4B435453 || (STACK_IS_SAFE && length > sizeof(frame.copy))) {
        return STATUS_INVALID_PARAMETER;
    }
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(length) : : "memory");
    if (frame.cookie != 0x2B992DDFA232) {
        KeBugCheckEx(0xF7, 0, 0, 0, 0);
    }
    return 0;
}

static NTSTATUS IntegerOverflow(REQUEST *Request)
{
    ULONG count = Field(Request, 0), index;
    ULONG *table;

    if (count * 16 > 4096 || (!BUG && count > 256)) {
        return STATUS_INVALID_PARAMETER;
    }
    table = Allocate(count * 16 + 16);
    if (table == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (index = 0; index < count; index++) {
        table[index * 4] = index;
    }
    ExFreePoolWithTag(table, TAG);
    return 0;
}

static NTSTATUS UseAfterFree(REQUEST *Request)
{
    switch (Field(Request, 0)) {
    case 0x11:
        if (Used == NULL) {
            Used = Allocate(32);
        }
        return Used == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
    case 0x12:
        if (Used != NULL && Stage == 0) {
            ExFreePoolWithTag(Used, TAG);
            if (BUG) {
                Stage = 0x20;
            } else {
                Used = NULL;
            }
        }
        return 0;
    case 0x13:
        if (Used != NULL) {
            Sink = *Used;
        }
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

static NTSTATUS DoubleFree(REQUEST *Request)
{
    switch (Field(Request, 1)) {
    case 0x21:
        if (Freed == NULL) {
            Freed = Allocate(48);
        }
        return Freed == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
    case 0x22:
        if (Freed != NULL) {
            ExFreePoolWithTag(Freed, TAG);
            if (!BUG) {
                Freed = NULL;
            }
        }
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

static NTSTATUS TypeConfusion(REQUEST *Request)
{
    switch (Field(Request, 0)) {
    case 0x31:
        Object.kind = 1;
        Object.value.pointer = Modes;
        return 0;
    case 0x32:
        Object.kind = 2;
        Object.value.number = Field(Request, 1);
        return 0;
    case 0x33:
        if (Object.kind == 0 || (!BUG && Object.kind != 1)) {
            return STATUS_INVALID_PARAMETER;
        }
        Sink = *Object.value.pointer;
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

static NTSTATUS UninitializedOutput(REQUEST *Request)
{
    ULONG index;

    if (Request->output < 64 || Field(Request, 0) != 0x41) {
        return STATUS_INVALID_PARAMETER;
    }
    for (index = BUG ? 8 : 64; index != 0; index--) {
        Request->data[index - 1] = 0;
    }
    Request->information = 64;
    return 0;
}

static NTSTATUS TooMuchInformation(REQUEST *Request)
{
    if (Field(Request, 1) != 0x51) {
        return STATUS_INVALID_PARAMETER;
    }
    Request->information = Field(Request, 0);
    /* Behind the input, the buffer has what others left there. */
    if (!BUG && Request->information > Request->input) {
        Request->information = Request->input;
    }
    if (!BUG && Request->information > Request->output) {
        Request->information = Request->output;
    }
    return 0;
}

static NTSTATUS PoolLeak(REQUEST *Request)
{
    ULONG *copy = Allocate(40);

    if (copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (Field(Request, 0) == 0x61 && Field(Request, 2) == 0x62) {
        if (!BUG) {
            ExFreePoolWithTag(copy, TAG);
        }
        return STATUS_DEVICE_BUSY;
    }
    ExFreePoolWithTag(copy, TAG);
    return 0;
}

static NTSTATUS OpenSoftware(HANDLE *Key)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = {0};

    RtlInitUnicodeString(&name, L"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion");
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240;
    return ZwOpenKey(Key, 0x20019, &attributes);
}

static NTSTATUS HandleLeak(REQUEST *Request)
{
    HANDLE key;
    NTSTATUS status;

    if (Field(Request, 0) < 0x71) {
        return STATUS_INVALID_PARAMETER;
    }
    status = OpenSoftware(&key);
    if (status >= 0 && !(BUG && Field(Request, 0) == 0x77)) {
        ZwClose(key);
    }
    return status;
}

static NTSTATUS WrongIrql(REQUEST *Request)
{
    HANDLE key;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&First);

    if (BUG && Field(Request, 3) == 0x81818181 && OpenSoftware(&key) >= 0) {
        ZwClose(key);
    }
    KeReleaseSpinLock(&First, old);
    return 0;
}

static NTSTATUS Deadlock(REQUEST *Request)
{
    BOOLEAN reverse = BUG && Field(Request, 0) == 0x91919191;
    KSPIN_LOCK *outer = reverse ? &Second : &First, *inner = reverse ? &First : &Second;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(outer);

    KeAcquireSpinLockAtDpcLevel(inner);
    KeReleaseSpinLockFromDpcLevel(inner);
    KeReleaseSpinLock(outer, old);
    return 0;
}

static NTSTATUS LockLeak(REQUEST *Request)
{
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&Second);

    if (Request->input == 37 && BUG) {
        return STATUS_INVALID_PARAMETER;
    }
    KeReleaseSpinLock(&Second, old);
    return 0;
}

static NTSTATUS CompletedTwice(REQUEST *Request)
{
    if (Request->input != 13) {
        return STATUS_INVALID_PARAMETER;
    }
    Request->taken = TRUE;
    Finish(Request->irp, 0, 0);
    if (BUG) {
        Finish(Request->irp, 0, 0);
    }
    return 0;
}

static NTSTATUS NeverCompleted(REQUEST *Request)
{
    if (BUG && Field(Request, 0) == 0xA1 && Request->output == 8) {
        Request->taken = TRUE;
    }
    return 0;
}

static VOID NTAPI Cancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    if (!BUG) {
        Pending = NULL;
    }
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    Finish(Irp, STATUS_CANCELLED, 0);
}

static NTSTATUS CanceledState(REQUEST *Request)
{
    PIRP irp;
    KIRQL old;

    switch (Field(Request, 0)) {
    case 0xB1:
        IoAcquireCancelSpinLock(&old);
        if (Pending != NULL || Request->irp->Cancel) {
            IoReleaseCancelSpinLock(old);
            return STATUS_DEVICE_BUSY;
        }
        Request->taken = TRUE;
        IoMarkIrpPending(Request->irp);
        Pending = Request->irp;
        IoSetCancelRoutine(Request->irp, Cancel);
        IoReleaseCancelSpinLock(old);
        return STATUS_PENDING;
    case 0xB2:
        IoAcquireCancelSpinLock(&old);
        irp = Pending;
        Pending = NULL;
        if (irp != NULL) {
            IoSetCancelRoutine(irp, NULL);
        }
        IoReleaseCancelSpinLock(old);
        if (irp != NULL) {
            Finish(irp, 0, 0);
        }
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

static NTSTATUS UncheckedAllocation(REQUEST *Request)
{
    ULONG *copy = Allocate(24);

    if (!BUG && copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *copy = Request->input;
    ExFreePoolWithTag(copy, TAG);
    return 0;
}

static NTSTATUS DivisionByZero(REQUEST *Request)
{
    ULONG divisor = Field(Request, 1);

    if (Field(Request, 0) != 0xC1C1 || (!BUG && divisor == 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    Sink = 1000 / divisor;
    return 0;
}

static NTSTATUS EndlessLoop(REQUEST *Request)
{
    ULONG at;

    if (Field(Request, 0) != 0xD1D1 || (!BUG && (Field(Request, 1) & 0xFF) == 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    for (at = 0; at < 100; at += Field(Request, 1) & 0xFF) {
        Sink = at;
    }
    return 0;
}

static NTSTATUS WrongTag(REQUEST *Request)
{
    void *copy = Allocate(16);

    if (copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    ExFreePoolWithTag(copy, BUG && Field(Request, 1) == 0xE1E1E1E1 ? 'gnrW' : TAG);
    return 0;
}

static NTSTATUS SignedIndex(REQUEST *Request)
{
    LONG index = (LONG)Field(Request, 1);
    ULONG *table;

    if (Field(Request, 0) != 0xF1 || index >= 16 || (!BUG && index < 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    table = Allocate(64);
    if (table == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    table[index] = 1;
    ExFreePoolWithTag(table, TAG);
    return 0;
}

static NTSTATUS TimerLeft(REQUEST *Request)
{
    LARGE_INTEGER due;

    due.QuadPart = MILLISECONDS(3600000);
    KeSetTimer(&Timer, due, NULL);
    if (!BUG || Field(Request, 0) != 0x01010101) {
        KeCancelTimer(&Timer);
    }
    return 0;
}

static NTSTATUS Race(REQUEST *Request)
{
    LARGE_INTEGER time;
    ULONG *shared;

    switch (Field(Request, 0)) {
    case 0x0201:
        if (Shared == NULL) {
            Shared = Allocate(16);
        }
        return Shared == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
    case 0x0202:
        shared = Shared;
        if (shared != NULL) {
            time.QuadPart = MILLISECONDS(1);
            KeDelayExecutionThread(0, FALSE, &time);
            ExFreePoolWithTag(shared, TAG);
            Shared = NULL;
        }
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

/* Without a wait: another request comes in between only if its thread runs there. */
static NTSTATUS CloseRace(REQUEST *Request)
{
    switch (Field(Request, 0)) {
    case 0x0211:
        if (Slot == NULL) {
            Slot = Allocate(16);
        }
        return Slot == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
    case 0x0212:
        if (Slot != NULL) {
            ExFreePoolWithTag(Slot, TAG);
            Slot = NULL;
        }
        return 0;
    }
    return STATUS_INVALID_PARAMETER;
}

/* Not a bug: a register of a device. */
static NTSTATUS ReadPort(REQUEST *Request)
{
    if (Field(Request, 0) != 0x0411) {
        return STATUS_INVALID_PARAMETER;
    }
    Sink = READ_PORT_UCHAR((PUCHAR)0x80);
    return 0;
}

static NTSTATUS WrongOrder(REQUEST *Request)
{
    static ULONG order;
    ULONG word = Field(Request, 0);

    if (order == 0 && word == 0x0311) {
        order = 1;
    } else if (order == 1 && word == 0x0322) {
        order = 2;
    } else if (order == 2 && word == 0x0333) {
        order = 0;
        if (BUG) {
            *(volatile ULONG *)0 = 1;
        }
    } else {
        order = 0;
        return STATUS_INVALID_PARAMETER;
    }
    return 0;
}

/* The input is a program's memory: a length, which is checked, and data. */
static NTSTATUS DoubleFetch(REQUEST *Request)
{
    volatile ULONG *user = (ULONG *)Request->data;
    ULONG length, index;
    UCHAR *copy;

    if (Request->input < 8) {
        return STATUS_INVALID_PARAMETER;
    }
    length = *user;
    if (length > 64 || length + 4 > Request->input) {
        return STATUS_INVALID_PARAMETER;
    }
    copy = Allocate(64);
    if (copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    length = BUG ? *user : length;
    for (index = 0; index < length; index++) {
        copy[index] = 0;
    }
    ExFreePoolWithTag(copy, TAG);
    return 0;
}

static NTSTATUS (*const Handlers[])(REQUEST *) = {
    MissingLengthCheck, PoolOverflow,   StackOverflow,       IntegerOverflow, UseAfterFree,        DoubleFree,
    TypeConfusion,      UninitializedOutput, TooMuchInformation, PoolLeak,    HandleLeak,          WrongIrql,
    Deadlock,           LockLeak,       CompletedTwice,      NeverCompleted,  CanceledState,       UncheckedAllocation,
    DivisionByZero,     EndlessLoop,    WrongTag,            SignedIndex,     TimerLeft,           Race,
    WrongOrder,         CloseRace,      ReadPort,
};

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    ULONG code = location->Parameters.DeviceIoControl.IoControlCode;
    ULONG number = (code - CODE(0)) / 4;
    REQUEST request = {Irp, Irp->AssociatedIrp.SystemBuffer, location->Parameters.DeviceIoControl.InputBufferLength,
                       location->Parameters.DeviceIoControl.OutputBufferLength, 0, FALSE};
    BOOLEAN gated;
    NTSTATUS status;

    (void)Device;
    if (code == CTL_CODE(0x22, 0x900, 3, 0)) {
        request.data = location->Parameters.DeviceIoControl.Type3InputBuffer;
        return Finish(Irp, DoubleFetch(&request), 0);
    }
    if (code < CODE(0) || number >= sizeof(Handlers) / sizeof(Handlers[0]) || code % 4 != 0) {
        return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
    /* The bug of these is that others run at the same time. */
    gated = !BUG || (Handlers[number] != Race && Handlers[number] != CloseRace);
    if (gated) {
        KeWaitForSingleObject(&Gate, 0, 0, FALSE, NULL);
    }
    status = Handlers[number](&request);
    if (gated) {
        KeSetEvent(&Gate, 0, FALSE);
    }
    return request.taken ? status : Finish(Irp, status, request.information);
}

/* A read returns zeroes from a buffer of 256 bytes. */
static NTSTATUS NTAPI Read(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length, index;
    UCHAR *zeroes;

    (void)Device;
    if (!BUG && length > 256) {
        return Finish(Irp, STATUS_INVALID_PARAMETER, 0);
    }
    zeroes = Allocate(256);
    if (zeroes == NULL) {
        return Finish(Irp, STATUS_INSUFFICIENT_RESOURCES, 0);
    }
    for (index = 0; index < length; index++) {
        ((UCHAR *)Irp->AssociatedIrp.SystemBuffer)[index] = zeroes[index];
    }
    ExFreePoolWithTag(zeroes, TAG);
    return Finish(Irp, 0, length);
}

/* A write has a command of four letters, which are compared one by one. */
static NTSTATUS NTAPI Write(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.Write.Length;
    UCHAR *text = Irp->AssociatedIrp.SystemBuffer;

    (void)Device;
    if (length >= 4 && text[0] == 'S') {
        if (text[1] == 'T') {
            if (text[2] == 'O') {
                if (text[3] == 'P' && BUG) {
                    KeBugCheckEx(0xE2, 0, 0, 0, 0);
                }
            }
        }
    }
    return Finish(Irp, 0, length);
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);
    IoDeleteSymbolicLink(&link);
    IoDeleteDevice(Driver->DeviceObject);
    if (Used != NULL && Stage == 0) {
        ExFreePoolWithTag(Used, TAG);
    }
    /* With the bug, the driver does not know whether this one is freed. */
    if (!BUG && Freed != NULL) {
        ExFreePoolWithTag(Freed, TAG);
    }
    if (Shared != NULL) {
        ExFreePoolWithTag(Shared, TAG);
    }
    if (Slot != NULL) {
        ExFreePoolWithTag(Slot, TAG);
    }
}

/* Reads the value Mode, which selects an entry of a table. */
static void ReadMode(PUNICODE_STRING Path)
{
    static WCHAR parameters[] = L"Parameters", mode[] = L"Mode";
    RTL_QUERY_REGISTRY_TABLE table[3] = {0};
    ULONG value = 0;

    table[0].Flags = 1;
    table[0].Name = parameters;
    table[1].Flags = 0x20 | 0x100;
    table[1].Name = mode;
    table[1].EntryContext = &value;
    table[1].DefaultType = 4 << 24;
    if (RtlQueryRegistryValues(0, Path->Buffer, table, NULL, NULL) >= 0 && (BUG || value < 4)) {
        Sink = ((volatile ULONG *)Modes)[value];
    }
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name, link;
    PDEVICE_OBJECT device;
    NTSTATUS status;

    RtlInitUnicodeString(&name, DeviceName);
    RtlInitUnicodeString(&link, LinkName);
    KeInitializeSpinLock(&First);
    KeInitializeSpinLock(&Second);
    KeInitializeTimer(&Timer);
    KeInitializeEvent(&Gate, SynchronizationEvent, TRUE);
    ReadMode(Path);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;
    }
    status = IoCreateSymbolicLink(&link, &name);
    if (status < 0) {
        IoDeleteDevice(device);
        return status;
    }
    device->Flags |= DO_BUFFERED_IO;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_READ] = Read;
    Driver->MajorFunction[IRP_MJ_WRITE] = Write;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return 0;
}
