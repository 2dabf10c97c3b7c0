/* Calls the routine that a request names. The input has six arguments, followed by the name. */
#include "plain.h"

typedef ULONG64 (*Routine)(ULONG64, ULONG64, ULONG64, ULONG64, ULONG64, ULONG64);

/* Valid memory: an argument of 1 is replaced with an address in it, an argument of 3 with an odd address in it. */
static UCHAR Room[6][4096];

static NTSTATUS Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    ULONG64 *input = Irp->AssociatedIrp.SystemBuffer;
    ULONG length = Current(Irp)->Parameters.DeviceIoControl.InputBufferLength;
    UNICODE_STRING name = {(USHORT)(length - 48), (USHORT)(length - 48), (PWSTR)(input + 6)};
    Routine routine = (Routine)MmGetSystemRoutineAddress(&name);
    ULONG64 value[6];
    for (ULONG index = 0; index < 6; index++)
        value[index] = input[index] == 1   ? (ULONG64)Room[index] + 64
                       : input[index] == 3 ? (ULONG64)Room[index] + 65
                                           : input[index];
    if (routine == NULL)
        return Finish(Irp, STATUS_UNSUCCESSFUL_, 0);
    routine(value[0], value[1], value[2], value[3], value[4], value[5]); /* mark */
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
