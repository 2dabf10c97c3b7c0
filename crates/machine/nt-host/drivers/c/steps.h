/* Shared code of the WDM drivers that run a list of steps. */
#pragma once

#include "plain.h"
#include "checks.h"

static inline PVOID LookUp(PWSTR Name)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

/* Calls a routine that the kit's import library does not have. */
#define CALL(type, name, ...) ((type)LookUp(L##name))(__VA_ARGS__)
typedef ULONG64(NTAPI *ANY)();

/* Runs the steps that a client names, and returns what failed. */
static inline NTSTATUS Answer(PIRP Irp, const STEP *Steps, ULONG Count)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    ULONG room = location->Parameters.DeviceIoControl.OutputBufferLength;
    ULONG_PTR length;
    NTSTATUS status;

    if (room == 0) {
        return Finish(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    }
    status = RunSteps(Steps, Count, Irp->AssociatedIrp.SystemBuffer, location->Parameters.DeviceIoControl.InputBufferLength,
                      room, &length);
    return Finish(Irp, status, length);
}

#define RUN_STEPS(irp) Answer(irp, Steps, sizeof(Steps) / sizeof(Steps[0]))

static inline VOID NTAPI DeleteDevice(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

/* Creates the only device of a driver, whose routine gets the requests of its clients. */
static inline NTSTATUS CreateDevice(PDRIVER_OBJECT Driver, PWSTR Name, PDRIVER_DISPATCH Dispatch, PDEVICE_OBJECT *Device)
{
    UNICODE_STRING name;
    NTSTATUS status;

    RtlInitUnicodeString(&name, Name);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, Device);
    if (status < 0) {
        return status;
    }
    Driver->MajorFunction[IRP_MJ_CREATE] = Dispatch;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Dispatch;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Dispatch;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Dispatch;
    Driver->DriverUnload = DeleteDevice;
    (*Device)->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}
