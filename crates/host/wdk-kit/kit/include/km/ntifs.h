/* What file system drivers include. The kit has the part that device drivers share with them. */
#pragma once

#include "ntddk.h"
