/* Virtual human interface devices: the names of handles. The rest is in hidclass.h. */
#pragma once

#include "hidclass.h"

typedef PVOID VHFHANDLE, *PVHFHANDLE;
typedef PVOID VHFOPERATIONHANDLE;
