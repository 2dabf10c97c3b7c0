/* Calls the routine that a request names, once with each list of six arguments. The input has the number of lists, the
   lists, and the name. A dot in the debug output precedes each call. */
#include "plain.h"

typedef ULONG64 (*Routine)(ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64);

/* Valid memory: an argument of THERE is replaced with an address in it, an argument of ODD with an odd address in it. */
#define THERE 0x4845524500000000
#define ODD (THERE + 1)
static UCHAR Room[6][4096];

static void Call(Routine Target, const ULONG64 *List)
{
    ULONG64 value[6];
    for (ULONG index = 0; index < 6; index++)
        value[index] = List[index] == THERE  ? (ULONG64)Room[index] + 64
                       : List[index] == ODD ? (ULONG64)Room[index] + 65
                                            : List[index];
    Target(value[0], value[1], value[2], value[3], value[4], value[5]); /* mark */
}

static NTSTATUS Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    ULONG64 *input = Irp->AssociatedIrp.SystemBuffer;
    ULONG length = Current(Irp)->Parameters.DeviceIoControl.InputBufferLength;
    ULONG64 *lists = input + 1, *end = lists + 6 * input[0];
    USHORT rest = (USHORT)(length - ((UCHAR *)end - (UCHAR *)input));
    UNICODE_STRING name = {rest, rest, (PWSTR)end};
    Routine routine = (Routine)MmGetSystemRoutineAddress(&name);
    if (routine == NULL)
        return Finish(Irp, STATUS_UNSUCCESSFUL_, 0);
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
