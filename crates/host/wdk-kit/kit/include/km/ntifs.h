/* The header for file system drivers. In this kit, it has the same declarations as ntddk.h. */
#pragma once

#include "ntddk.h"
