/* The header for device drivers. In this kit, it has the same declarations as wdm.h. */
#pragma once

#include "wdm.h"
