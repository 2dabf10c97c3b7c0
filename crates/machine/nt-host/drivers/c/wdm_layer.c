/* Leaks an ETW registration, and memory that an inlined layer allocated. The caller of the layer is inlined, too. */
#include "../layer/layer.h"
#include "plain.h"

static const GUID Provider = {0x0D7A0B5E, 0x3B70, 0x4C36, {1, 2, 3, 4, 5, 6, 7, 8}};

static PVOID Kept;
static REGHANDLE Handle;

static __forceinline void Push(void)
{
    Kept = LayerAllocate(48); /* mark user */
}

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    Driver->DriverUnload = Unload;
    Push(); /* mark entry */
    return EtwRegister(&Provider, NULL, NULL, &Handle); /* mark registration */
}
