/* Calls a routine with processor state that the calling convention forbids. */
#include "plain.h"

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    LARGE_INTEGER time;
    ULONG control = BUG == 2 ? 0x7F80 : 0x1F80;
    Driver->DriverUnload = Unload;
    __asm__ volatile("ldmxcsr %0" ::"m"(control));
#if BUG == 1
    __asm__ volatile("std");
#endif
    KeQuerySystemTimePrecise(&time); /* mark */
    __asm__ volatile("cld");
    control = 0x1F80;
    __asm__ volatile("ldmxcsr %0" ::"m"(control));
    return 0;
}
