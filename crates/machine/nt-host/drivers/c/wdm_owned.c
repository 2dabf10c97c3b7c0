/* State that belongs to the kernel: the thread's object, model-specific registers, and whether interrupts are enabled. Variants
   from 1 on change it as a driver must not; those from 20 on use it as a driver may. */

#include "plain.h"

#define IA32_PERF_CTL 0x199
#define IA32_LSTAR 0xC0000082
#define IA32_GS_BASE 0xC0000101

static inline __attribute__((unused)) VOID WriteRegister(ULONG Number, ULONG64 Value)
{
    __asm__ volatile("wrmsr" : : "c"(Number), "a"((ULONG)Value), "d"((ULONG)(Value >> 32)));
}

static VOID Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    volatile UCHAR *thread = (volatile UCHAR *)KeGetCurrentThread();

    (void)Path;
    (void)thread;
    Driver->DriverUnload = Unload;
#if BUG == 1
    for (ULONG index = 0; index < 0x100; index++) {
        thread[index] = 0x41;
    }
#elif BUG == 2
    thread[0x98] = 1;
#elif BUG == 3
    WriteRegister(IA32_GS_BASE, 0);             /* mark 3 */
#elif BUG == 4
    WriteRegister(IA32_LSTAR, (ULONG64)Unload); /* mark 4 */
#elif BUG == 5
    __asm__ volatile("cli");
#elif BUG == 6
    __asm__ volatile("cli");
    DbgPrint("with interrupts disabled\n");     /* mark 6 */
    __asm__ volatile("sti");
#elif BUG == 20
    WriteRegister(IA32_PERF_CTL, 0x1000);
    __asm__ volatile("cli; nop; sti");
#elif BUG == 21
    ULONG64 flags;
    __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags));
    __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "cc");
#endif
    return 0;
}
