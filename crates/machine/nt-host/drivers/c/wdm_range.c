/* A WDM driver that compares addresses with the start of the system's addresses, as a variable and in instructions, and
   uses the same bits as masks. DriverEntry fails with the number of the line that found something wrong. */

#include "plain.h"

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

/* In the image of a public driver, MM_SYSTEM_RANGE_START has this value. */
PVOID RangeStart = (PVOID)0xFFFF000000000000;
/* The same bits, which must not change: code uses them as masks, or finds them in a table. */
ULONG64 Mask = 0xFFFF000000000000, CheckedMask = 0xFFFF000000000000;
ULONG64 Table[] = {0xFFFE000000000000, 0xFFFF000000000000, 0xFFFFC00000000000};
volatile ULONG Shift = 48;

static __attribute__((noinline)) ULONG IsSystem(PVOID Address)
{
    return Address > RangeStart;
}

#define ABOVE(name, limit)                                                                                            \
    static __attribute__((noinline)) ULONG name(ULONG64 Address)                                                      \
    {                                                                                                                 \
        return Address > (limit);                                                                                     \
    }

ABOVE(IsAboveUser, 0xFFFF000000000000)
ABOVE(IsAboveOldStart, 0xFFFF080000000000)
ABOVE(IsAboveStart, 0xFFFF800000000000)

static __attribute__((noinline)) ULONG64 UpperBits(ULONG64 Address)
{
    return Address & 0xFFFF000000000000;
}

static __attribute__((noinline)) ULONG IsFirst(ULONG64 Address)
{
    return Address == 0xFFFF000000000000;
}

static __attribute__((noinline)) ULONG64 Sum(ULONG64 Address)
{
    return Address > CheckedMask ? Address & CheckedMask : Address | CheckedMask;
}

static NTSTATUS Check(PVOID Address)
{
    ULONG64 address = (ULONG64)Address, upper = ~0ull << Shift;
    ULONG index;

    CHECK(IsSystem(Address) && !IsSystem(NULL) && !IsSystem((PVOID)0x1000));
    CHECK(IsAboveUser(address) && IsAboveOldStart(address) && IsAboveStart(address));
    CHECK(!IsAboveUser(0) && !IsAboveOldStart(0) && !IsAboveStart(0));
    CHECK(UpperBits(~0ull) == upper && (address & Mask) == 0 && (address | Mask) >> Shift == 0xFFFF);
    CHECK(IsFirst(upper) && !IsFirst(address));
    CHECK(Sum(address) == (address | upper));
    for (index = 0; index < 3; index++) {
        CHECK(Table[index] >> Shift >= 0xFFFE);
    }
    CHECK(Table[Shift / 48] == upper);
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->DriverUnload = Unload;
    return Check(Path);
}
