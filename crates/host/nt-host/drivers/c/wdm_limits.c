/* A WDM driver that uses too much of a resource or does something forbidden. The control code selects the action. */

#include "plain.h"

#define CODE(function) (0x222000 + (function) * 4)

static PDEVICE_OBJECT TheDevice;
static KDPC Dpc;
static KTIMER Timer;
static KEVENT Never;
static struct {
    ULONG Value;
} *Global;

/* Many allocations at the same time, each with different contents. */
static NTSTATUS Many(ULONG Count)
{
    ULONG **all = ExAllocatePool2(0x42, Count * sizeof *all, TAG);
    ULONG index, wrong = 0;

    if (all == NULL) {
        return STATUS_NO_MEMORY_;
    }
    for (index = 0; index < Count; index++) {
        all[index] = ExAllocatePool2(0x42, 4 + index % 60, TAG);
        if (all[index] == NULL) {
            return STATUS_NO_MEMORY_;
        }
        *all[index] = index;
    }
    for (index = 0; index < Count; index++) {
        wrong += *all[index] != index;
        ExFreePoolWithTag(all[index], TAG);
    }
    ExFreePoolWithTag(all, TAG);
    return wrong == 0 ? 0 : STATUS_UNSUCCESSFUL_;
}

/* Allocates 1 MiB at a time until no memory is left. Returns the number of allocations. */
static ULONG Exhaust(void)
{
    PVOID *last = NULL;
    ULONG count = 0;

    for (;;) {
        PVOID *next = ExAllocatePool2(0x42, 1 << 20, TAG);

        if (next == NULL) {
            break;
        }
        *next = last;
        last = next;
        count++;
    }
    while (last != NULL) {
        PVOID *next = *last;

        ExFreePoolWithTag(last, TAG);
        last = next;
    }
    return count;
}

/* Allocates and frees 1 GiB in total, 64 MiB at a time. */
static void Churn(void)
{
    ULONG index;

    for (index = 0; index < 16; index++) {
        UCHAR *memory = ExAllocatePool2(0x42, 64 << 20, TAG);

        if (memory != NULL) {
            memory[0] = 1;
            ExFreePoolWithTag(memory, TAG);
        }
    }
}

static VOID NTAPI Spin(PKDPC Unused, PVOID Context, PVOID One, PVOID Two)
{
    (void)Unused;
    (void)Context;
    (void)One;
    (void)Two;
    for (;;) { /* spin */
        __asm__ volatile("pause");
    }
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = Current(Irp);
    LARGE_INTEGER due;
    ULONG64 number = 39;

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case CODE(0):
        return Finish(Irp, Many(*(ULONG *)Irp->AssociatedIrp.SystemBuffer), 0);
    case CODE(1):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = Exhaust();
        return Finish(Irp, 0, 4);
    case CODE(2):
        __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory"); /* syscall */
        break;
    case CODE(3):
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory"); /* interrupt */
        break;
    case CODE(4):
        due.QuadPart = MILLISECONDS(1);
        KeSetTimer(&Timer, due, &Dpc);
        KeWaitForSingleObject(&Never, 0, 0, FALSE, NULL);
        break;
    case CODE(5):
        Global->Value = 1; /* global */
        break;
    case CODE(6):
        Churn();
        break;
    }
    return Finish(Irp, 0, 0);
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

    (void)Path;
    RtlInitUnicodeString(&name, L"\\Device\\CLimits");
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
    if (status < 0) {
        return status;
    }
    KeInitializeTimer(&Timer);
    KeInitializeDpc(&Dpc, Spin, NULL);
    KeInitializeEvent(&Never, 0, FALSE);
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    TheDevice->Flags |= DO_BUFFERED_IO;
    TheDevice->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    return 0;
}
