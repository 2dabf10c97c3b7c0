/* Control codes: wdm.h has CTL_CODE and its constants. */
#pragma once

#ifdef _KERNEL_MODE
#include "wdm.h"
#endif
