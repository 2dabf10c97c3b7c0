/* Calls the routine that a request names, once with each list of six arguments. The input has the number of lists, the
   lists, and the name. A dot in the debug output precedes each call. The other request has one list of sixteen arguments,
   and returns the result. */
#include "plain.h"

typedef ULONG64 (*Routine)(ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64);

/* Valid memory: an argument of THERE is replaced with an address in it, an argument of ODD with an odd address in it. */
#define THERE 0x4845524500000000
#define ODD (THERE + 1)
static UCHAR Room[16][4096];

#define CALL_ONCE 0x222004
typedef ULONG64 (*Wide)(ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64,
                        ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64);

static void Call(Routine Target, const ULONG64 *List)
{
    ULONG64 value[6];
    for (ULONG index = 0; index < 6; index++)
        value[index] = List[index] == THERE  ? (ULONG64)Room[index] + 64
                       : List[index] == ODD ? (ULONG64)Room[index] + 65
                                            : List[index];
    Target(value[0], value[1], value[2], value[3], value[4], value[5]); /* mark */
}

/* The memory is zero, so that the result of a call does not depend on earlier ones. */
static NTSTATUS CallOnce(PIRP Irp, ULONG Length)
{
    ULONG64 *value = Irp->AssociatedIrp.SystemBuffer;
    USHORT rest = (USHORT)(Length - 16 * sizeof(*value));
    UNICODE_STRING name = {rest, rest, (PWSTR)(value + 16)};
    Wide routine = (Wide)MmGetSystemRoutineAddress(&name);
    if (routine == NULL)
        return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
    for (ULONG index = 0; index < sizeof(Room); index++)
        ((volatile UCHAR *)Room)[index] = 0;
    for (ULONG index = 0; index < 16; index++)
        if (value[index] == THERE)
            value[index] = (ULONG64)Room[index] + 64;
    *value = routine(value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7], value[8], value[9],
                     value[10], value[11], value[12], value[13], value[14], value[15]);
    return Finish(Irp, 0, sizeof(*value));
}

static NTSTATUS Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    ULONG64 *input = Irp->AssociatedIrp.SystemBuffer;
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.InputBufferLength;
    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode == CALL_ONCE)
        return CallOnce(Irp, length);
    ULONG64 *lists = input + 1, *end = lists + 6 * input[0];
    USHORT rest = (USHORT)(length - ((UCHAR *)end - (UCHAR *)input));
    UNICODE_STRING name = {rest, rest, (PWSTR)end};
    Routine routine = (Routine)MmGetSystemRoutineAddress(&name);
    if (routine == NULL)
        return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
    DbgPrint("\n");
    for (; lists < end; lists += 6) {
        DbgPrint(".");
        Call(routine, lists);
    }
    return Finish(Irp, 0, 0);
}

static NTSTATUS Open(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static void Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    RtlInitUnicodeString(&name, L"\\Device\\Call");
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[0] = Open;
    Driver->MajorFunction[2] = Open;
    Driver->MajorFunction[18] = Open;
    Driver->MajorFunction[14] = Control;
    return IoCreateDevice(Driver, 0, &name, 0x22, 0, FALSE, &device);
}
