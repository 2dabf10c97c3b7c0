/* Shared code of the drivers that run a list of steps. Each step returns 0, a status, or the number of the line that
   found something wrong. */
#pragma once

#include "plain.h"

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

static inline PVOID LookUp(PWSTR Name)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

/* Calls a routine that the kit's import library does not have. */
#define CALL(type, name, ...) ((type)LookUp(L##name))(__VA_ARGS__)
typedef ULONG64(NTAPI *ANY)();

typedef NTSTATUS (*STEP)(void);

/* Runs the steps, and returns their results to the client. */
static inline NTSTATUS RunSteps(PIRP Irp, const STEP *Steps, ULONG Count)
{
    NTSTATUS *results = Irp->AssociatedIrp.SystemBuffer;
    ULONG index;

    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.OutputBufferLength < Count * sizeof(NTSTATUS)) {
        return Finish(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    }
    for (index = 0; index < Count; index++) {
        results[index] = Steps[index]();
    }
    return Finish(Irp, 0, Count * sizeof(NTSTATUS));
}

#define RUN_STEPS(irp) RunSteps(irp, Steps, sizeof(Steps) / sizeof(Steps[0]))

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
