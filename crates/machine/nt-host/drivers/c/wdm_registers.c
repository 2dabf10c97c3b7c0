/* Uses ports and registers: a printer at 0x378, and a device with registers at 0xFE000000. */
#include "plain.h"

#define DATA ((PUCHAR)0x378)
#define STATUS_PORT ((PUCHAR)0x379)
#define WIDE ((PULONG)0x1F0)
#define DEVICE 0xFE000000

static void Ports(void)
{
    UCHAR text[3] = {'a', 'b', 'c'};
    USHORT words[2] = {0, 0};
    ULONG waits = 0, value, count;
    PVOID at;

    while ((READ_PORT_UCHAR(STATUS_PORT) & 0x80) == 0 && waits < 100)
        waits++;
    WRITE_PORT_UCHAR(DATA, 0x41);
    value = READ_PORT_ULONG(WIDE);
    WRITE_PORT_USHORT((PUSHORT)WIDE, 0x1234);
    LOG("waited %u times, wide %x, unknown %x\n", waits, value, READ_PORT_UCHAR((PUCHAR)0x70));
    /* __outbytestring and __inwordstring */
    at = text, count = 3;
    __asm__ volatile("rep outsb" : "+S"(at), "+c"(count) : "d"(0x378) : "memory");
    at = words, count = 2;
    __asm__ volatile("rep insw" : "+D"(at), "+c"(count) : "d"(0x1F0) : "memory");
    LOG("words %x %x, left %u\n", words[0], words[1], count);
}

static void Registers(void)
{
    PHYSICAL_ADDRESS where = {.QuadPart = DEVICE};
    volatile ULONG *registers = MmMapIoSpace(where, 0x1000, MmNonCached);
    ULONG buffer[2] = {0, 0};
    ULONG first;

    if (registers == NULL)
        return;
    first = READ_REGISTER_ULONG((PULONG)&registers[4]);
    LOG("register %x, then %x\n", first, READ_REGISTER_ULONG((PULONG)&registers[4]));
    WRITE_REGISTER_ULONG((PULONG)&registers[1], 0x11223344);
    registers[5] |= 2;
    first = READ_REGISTER_ULONG((PULONG)&registers[1]);
    LOG("memory %x, byte %x\n", first, READ_REGISTER_UCHAR((PUCHAR)&registers[5]));
    RtlCopyMemory(buffer, (PVOID)&registers[4], sizeof(buffer));
    LOG("copied %x %x\n", buffer[0], buffer[1]);
    MmUnmapIoSpace((PVOID)registers, 0x1000);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    Driver->DriverUnload = Unload;
    Ports();
    Registers();
    return 0;
}
