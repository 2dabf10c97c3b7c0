/* Calls a routine, or returns, with processor state that a driver must not change. */
#include "plain.h"

static void Set(int Kind)
{
    ULONG control = 0x7F80;
    if (Kind == 1)
        __asm__ volatile("std");
    if (Kind == 2)
        __asm__ volatile("ldmxcsr %0" ::"m"(control));
    /* The first selector is one of Linux whose base is 0: not every processor clears the base for a null selector. */
    if (Kind == 3)
        __asm__ volatile("mov %0, %%fs; mov %1, %%fs" ::"r"(0x2B), "r"(0));
    if (Kind == 4)
        __asm__ volatile("pushfq; orl $0x40000, (%%rsp); popfq" ::: "memory");
    if (Kind == 5)
        __asm__ volatile("mov %0, %%gs; mov %1, %%gs" ::"r"(0x2B), "r"(0));
}

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    LARGE_INTEGER time;
    ULONG control = 0x1F80;
    ULONG bytes[2] = {0};
    Driver->DriverUnload = Unload;
    if (BUG < 10)
        Set(BUG);
#if BUG == 20
    Set(4);
    *(volatile ULONG *)((UCHAR *)bytes + 1) = 1; /* unaligned */
#endif
    KeQuerySystemTimePrecise(&time); /* mark */
    (void)bytes;
    __asm__ volatile("cld");
    __asm__ volatile("ldmxcsr %0" ::"m"(control));
    if (BUG > 10)
        Set(BUG - 10);
    return 0;
}
