/* Security descriptors for devices, as text in the security descriptor definition language.
 *
 * Written from Microsoft's documentation ("SDDL for Device Objects"). In a WDK these are variables of wdmsec.lib. The kit does not have that
 * library, so it does not declare IoCreateDeviceSecure either. */
#pragma once

#include "wdm.h"

#define WDK_KIT_SDDL(Name, Text) EXTERN_C DECLSPEC_SELECTANY const UNICODE_STRING SDDL_DEVOBJ_##Name = RTL_CONSTANT_STRING(Text)

#if !defined(WDK_KIT_NO_TYPES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_ROUTINES)
WDK_KIT_SDDL(KERNEL_ONLY, L"D:P");
WDK_KIT_SDDL(SYS_ALL, L"D:P(A;;GA;;;SY)");
WDK_KIT_SDDL(SYS_ALL_ADM_ALL, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
WDK_KIT_SDDL(SYS_ALL_ADM_RX, L"D:P(A;;GA;;;SY)(A;;GRGX;;;BA)");
WDK_KIT_SDDL(SYS_ALL_ADM_RWX_WORLD_R, L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GR;;;WD)");
WDK_KIT_SDDL(SYS_ALL_ADM_RWX_WORLD_R_RES_R, L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GR;;;WD)(A;;GR;;;RC)");
WDK_KIT_SDDL(SYS_ALL_ADM_RWX_WORLD_RW_RES_R, L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GRGW;;;WD)(A;;GR;;;RC)");
WDK_KIT_SDDL(SYS_ALL_ADM_RWX_WORLD_RWX_RES_RWX, L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GRGWGX;;;WD)(A;;GRGWGX;;;RC)");
#endif
