/* Shared code of the WDM drivers. */
#pragma once

#include <ntddk.h>

#define LOG(...) DbgPrint(__VA_ARGS__)
#define TAG 'tseT'
#define STATUS_PENDING_ ((NTSTATUS)0x103)
#define STATUS_UNSUCCESSFUL_ ((NTSTATUS)0xC0000001)
#define STATUS_CANCELLED_ ((NTSTATUS)0xC0000120)
#define STATUS_NO_MEMORY_ ((NTSTATUS)0xC000009A)
#define STATUS_INVALID_DEVICE_REQUEST_ ((NTSTATUS)0xC0000010)
#define MILLISECONDS(count) (-(LONGLONG)(count) * 10000)

static inline ULONG Irql(void)
{
    ULONG64 irql;
    __asm__ volatile("mov %%cr8, %0" : "=r"(irql));
    return (ULONG)irql;
}

static inline PIO_STACK_LOCATION Current(PIRP Irp)
{
    return Irp->Tail.Overlay.CurrentStackLocation;
}

static inline void Skip(PIRP Irp)
{
    Irp->CurrentLocation++;
    Irp->Tail.Overlay.CurrentStackLocation++;
}

static inline void MarkPending(PIRP Irp)
{
    Current(Irp)->Control |= 1;
}

static inline PDRIVER_CANCEL SetCancelRoutine(PIRP Irp, PDRIVER_CANCEL Routine)
{
    return (PDRIVER_CANCEL)__atomic_exchange_n((ULONG_PTR *)&Irp->CancelRoutine, (ULONG_PTR)Routine, __ATOMIC_SEQ_CST);
}

static inline NTSTATUS Finish(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IofCompleteRequest(Irp, 0);
    return Status;
}
