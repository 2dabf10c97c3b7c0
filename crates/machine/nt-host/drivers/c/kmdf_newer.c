/* A driver for KMDF 1.33 that also runs on older versions, and logs the framework's version data. With BUG it
 * calls a function that the framework does not have. */

#include "framework.h"

/* The last function of the table, which KMDF 1.31 added. */
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
