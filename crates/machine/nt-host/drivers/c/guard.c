/* Checks the environment of a loaded image: the security cookie, the Control Flow Guard pointers, the protection of
   sections, the GS segment and the IRQL register (CR8). BUG selects a mistake that must stop the driver. */

#include <ntddk.h>

#ifndef BUG
#define BUG 0
#endif
#define NOINLINE __attribute__((noinline))

extern ULONG_PTR __security_cookie;
void __security_check_cookie(ULONG_PTR cookie);

/* The initial target of both guard pointers. A loader that supports Control Flow Guard replaces the pointers. */
static void Unguarded(void)
{
    KeBugCheckEx(0xE2, 0, 0, 0, 0);
}
void *__guard_check_icall_fptr = (void *)Unguarded;
void *__guard_dispatch_icall_fptr = (void *)Unguarded;

/* IMAGE_LOAD_CONFIG_DIRECTORY64 up to GuardFlags, as 64-bit words. The linker finds it by this name. */
const ULONG64 _load_config_used[19] = {
    [0] = sizeof(_load_config_used),
    [11] = (ULONG64)&__security_cookie,
    [14] = (ULONG64)&__guard_check_icall_fptr,
    [15] = (ULONG64)&__guard_dispatch_icall_fptr,
};

static const volatile ULONG Constant = 5;
static volatile ULONG Variable = 6;

static NOINLINE ULONG Twice(ULONG Value)
{
    return Value * 2;
}
static ULONG (*volatile Indirect)(ULONG) = Twice;

static NOINLINE ULONG64 Gs(ULONG Offset)
{
    ULONG64 value;
    __asm__ volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"((ULONG64)Offset));
    return value;
}

static NOINLINE ULONG RaisedByInstruction(VOID)
{
    ULONG64 before, level = 2;
    ULONG seen;

    __asm__ volatile("movq %%cr8, %0" : "=r"(before));
    __asm__ volatile("movq %0, %%cr8" : : "r"(level));
    seen = KeGetCurrentIrql();
    __asm__ volatile("movq %0, %%cr8" : : "r"(before));
    return seen * 16 + KeGetCurrentIrql();
}

static NOINLINE __attribute__((section("INIT"))) ULONG Early(VOID)
{
    return Variable + 1;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    if (BUG == 4) {
        Variable = Early(); /* mark 4 */
    }
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    Driver->DriverUnload = Unload;
    DbgPrint("cookie %d\n", __security_cookie != 0x00002B992DDFA232 && __security_cookie >> 48 == 0);
    DbgPrint("indirect %u\n", Indirect(21));
    DbgPrint("early %u\n", Early());
    DbgPrint("self %d\n", Gs(0x18) != 0 && *(ULONG64 *)(Gs(0x18) + 0x18) == Gs(0x18));
    DbgPrint("thread %d\n", Gs(0x188) == (ULONG64)KeGetCurrentThread());
    DbgPrint("irql %x\n", RaisedByInstruction());
    if (BUG == 1) {
        *(volatile ULONG *)&Constant = 7; /* mark 1 */
    }
    if (BUG == 2) {
        *(volatile UCHAR *)Twice = 0xC3; /* mark 2 */
    }
    if (BUG == 3) {
        __security_check_cookie(__security_cookie + 1);
    }
    if (BUG == 5) {
        Variable = 0xC3;
        Indirect = (ULONG(*)(ULONG))&Variable;
        Variable = Indirect(1); /* mark 5 */
    }
    return 0;
}
