/* Shared code of the WDM drivers. */
#pragma once

#include <ntddk.h>

#define LOG(...) DbgPrint(__VA_ARGS__)
#define TAG 'tseT'
#define MILLISECONDS(count) (-(LONGLONG)(count) * 10000)

static inline ULONG Irql(void)
{
    ULONG64 irql;
    __asm__ volatile("mov %%cr8, %0" : "=r"(irql));
    return (ULONG)irql;
}

static inline NTSTATUS Finish(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IofCompleteRequest(Irp, 0);
    return Status;
}
