/* Structured exception handling: filters and termination handlers run in the defined order after a fault or a raised
   status. BUG selects an exception that no handler may catch.

   Each faulting instruction is in a separate function, because clang's __try guards calls, not single instructions. */

#include <ntddk.h>

#ifndef BUG
#define BUG 0
#endif
#define NOINLINE __attribute__((noinline))

static volatile ULONG Sink;

static NOINLINE ULONG Touch(volatile UCHAR *Address)
{
    return *Address + Sink; /* mark 1 */
}

static NOINLINE VOID Divide(ULONG A, ULONG B)
{
    Sink = A / B;
}

/* Faults at an instruction of two bytes, which a filter can skip. */
static NOINLINE ULONG Skip(volatile UCHAR *Address)
{
    ULONG value = 7;
    __asm__ volatile("movb (%1), %%al" : "+a"(value) : "c"(Address));
    return value;
}

static NOINLINE ULONG Ask(const char *Name, ULONG Code, ULONG Answer)
{
    DbgPrint("%s filter %x\n", Name, Code);
    return Answer;
}

static NOINLINE ULONG Fault(VOID)
{
    ULONG code = 0;
    __try {
        Touch(NULL);
        code = 1;
    } __except (1) {
        code = _exception_code();
    }
    return code;
}

static NOINLINE VOID WithFinally(VOID)
{
    __try {
        __try {
            DbgPrint("body\n");
            Touch((volatile UCHAR *)16);
            DbgPrint("not reached\n");
        } __finally {
            DbgPrint("inner finally %d\n", _abnormal_termination());
        }
    } __finally {
        DbgPrint("outer finally %d\n", _abnormal_termination());
    }
}

static NOINLINE VOID Order(VOID)
{
    __try {
        __try {
            __try {
                WithFinally();
            } __except (Ask("first", _exception_code(), 0)) {
                DbgPrint("not reached\n");
            }
        } __finally {
            DbgPrint("own finally %d\n", _abnormal_termination());
        }
    } __except (Ask("second", _exception_code(), 1)) {
        DbgPrint("except\n");
    }
    __try {
        Sink += 0;
    } __finally {
        DbgPrint("plain finally %d\n", _abnormal_termination());
    }
}

static NOINLINE ULONG Step(ULONG64 *Pointers)
{
    /* CONTEXT.Rip */
    *(ULONG64 *)(Pointers[1] + 0xF8) += 2;
    return (ULONG)-1;
}

static NOINLINE ULONG Continued(VOID)
{
    ULONG value = 0;
    __try {
        value = Skip((volatile UCHAR *)32);
    } __except (Step((ULONG64 *)_exception_info())) {
        value = 1;
    }
    return value;
}

/* Copies with a kernel routine. A fault in that routine is an exception of the driver. */
static NOINLINE VOID Copy(PVOID To, PVOID From, SIZE_T Length)
{
    memmove(To, From, Length);
    Sink += 0;
}

/* Sets `code` to the code of the exception that a statement raises. */
#define CODE_OF(Statement)              \
    __try {                             \
        Statement;                      \
    } __except (1) {                    \
        code = _exception_code();       \
    }

static NOINLINE VOID Codes(VOID)
{
    UCHAR buffer[16];
    ULONG code = 0;

    CODE_OF(Divide(Sink + 100, Sink));
    DbgPrint("divide %x\n", code);
    CODE_OF(Touch((volatile UCHAR *)0x8000000000001234));
    DbgPrint("address %x\n", code);
    CODE_OF(Copy(buffer, (PVOID)16, sizeof(buffer)));
    DbgPrint("copy %x\n", code);
    CODE_OF(ProbeForRead((PVOID)3, 4, 4));
    DbgPrint("alignment %x\n", code);
    CODE_OF(ProbeForRead((PVOID)0xFFFF800000000000, 4, 4));
    DbgPrint("probe %x\n", code);
    CODE_OF(ProbeForWrite((PVOID)0x1000, 4, 4));
    DbgPrint("write %x\n", code);
    code = 0;
    CODE_OF(ProbeForRead(buffer, sizeof(buffer), 1));
    CODE_OF(ProbeForWrite(buffer, sizeof(buffer), 1));
    DbgPrint("fine %x\n", code);
    CODE_OF(ExRaiseStatus((NTSTATUS)0xC0000123));
    DbgPrint("status %x\n", code);
}

/* A handler sees the values that its function keeps in registers. */
static NOINLINE ULONG Kept(ULONG A, ULONG B, ULONG C, ULONG D)
{
    ULONG sum = A * 3 + B * 5 + C * 7 + D * 11;
    ULONG code = 0;
    ULONG index;

    for (index = 0; index < 200; index++) {
        CODE_OF(Touch((volatile UCHAR *)(ULONG_PTR)(index % 8)));
        sum += (code == 0xC0000005) + A - B + C - D;
    }
    return sum;
}

typedef VOID(NTAPI *RAISE)(PVOID Record);

static NOINLINE ULONG Raised(RAISE Raise)
{
    ULONG64 record[19] = {0xE0001234};
    ULONG value = 1;

    __try {
        Raise(record);
        value = 2;
    } __except ((ULONG)-1) {
        value = 3;
    }
    return value;
}

/* Filters and termination handlers may raise exceptions that they handle themselves. */
static NOINLINE ULONG FaultingFilter(VOID)
{
    return Fault() == 0xC0000005;
}

static NOINLINE ULONG Nested(VOID)
{
    ULONG value = 0;

    __try {
        __try {
            Touch((volatile UCHAR *)16);
        } __finally {
            value += Fault() == 0xC0000005;
        }
    } __except (FaultingFilter()) {
        value += _exception_code() == 0xC0000005 ? 2 : 0;
    }
    return value;
}

static NOINLINE VOID FilterFaults(VOID)
{
    __try {
        ExRaiseStatus((NTSTATUS)0xC0000123);
    } __except (Touch((volatile UCHAR *)16)) {
        DbgPrint("not reached\n");
    }
}

static NOINLINE VOID Declined(VOID)
{
    __try {
        Touch((volatile UCHAR *)16);
    } __except (Ask("only", _exception_code(), 0)) {
        DbgPrint("not reached\n");
    }
}

static NOINLINE VOID Freed(VOID)
{
    UCHAR *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tseT');

    ExFreePoolWithTag(memory, 'tseT');
    __try {
        Touch(memory);
    } __except (1) {
        DbgPrint("not reached\n");
    }
}

static NOINLINE VOID AtDispatch(VOID)
{
    KIRQL old = KfRaiseIrql(2);

    __try {
        Touch((volatile UCHAR *)16);
    } __except (1) {
        DbgPrint("not reached\n");
    }
    KeLowerIrql(old);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;

    (void)Path;
    Driver->DriverUnload = Unload;
    DbgPrint("fault %x\n", Fault());
    Order();
    DbgPrint("continued %u\n", Continued());
    Codes();
    DbgPrint("kept %u\n", Kept(1, 2, 3, 4));
    DbgPrint("nested %u\n", Nested());
    RtlInitUnicodeString(&name, L"RtlRaiseException");
    DbgPrint("raised %u\n", Raised((RAISE)MmGetSystemRoutineAddress(&name)));
    switch (BUG) { /* a constant, so that each mistake is a separate image */
    case 1:
        Declined();
        break;
    case 2:
        ExRaiseStatus((NTSTATUS)0xC0000123); /* mark 2 */
        break;
    case 3:
        Freed();
        break;
    case 4:
        AtDispatch();
        break;
    case 5:
        FilterFaults();
        break;
    default:
        break;
    }
    return 0;
}
