/* A driver for KMDF 1.33 that runs on 1.25 and later, and says what it found. With BUG it calls a function without a look
 * at what there is. */

#include "framework.h"

/* The last of the table came with 1.31. */
#define LAST (WdfFunctionTableNumEntries - 1)

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    LOG("minimum %u, newer %u, functions %u, structures %u, device state %u\n", WdfMinimumVersionRequired,
        WdfClientVersionHigherThanFramework, WdfFunctionCount, WdfStructureCount, (ULONG)WdfStructures[20]);
    if (BUG && LAST >= WdfFunctionCount) {
        ((VOID (*)(PWDF_DRIVER_GLOBALS))WdfFunctions_01033[LAST])(WdfDriverGlobals);
    }
    return CreateDriver(Driver, Path, NULL);
}
