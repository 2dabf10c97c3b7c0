/* Virtual HID Framework: the types of handles. The other declarations are in hidclass.h. */
#pragma once

#include "hidclass.h"

typedef PVOID VHFHANDLE, *PVHFHANDLE;
typedef PVOID VHFOPERATIONHANDLE;
