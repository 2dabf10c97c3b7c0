/* The library of processor groups, for drivers that also run on releases before Windows 7. Every release that the kit builds for has the routines
 * of processor groups, so the library has nothing to do.
 *
 * Written from Microsoft's documentation. */
#pragma once

#include "wdm.h"

#if !defined(WDK_KIT_NO_TYPES) && !defined(WDK_KIT_NO_ROUTINES)
FORCEINLINE NTSTATUS WdmlibProcgrpInitialize(VOID) { return STATUS_SUCCESS; }
#endif
