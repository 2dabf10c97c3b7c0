/* The header for device drivers. In this kit, it has the same declarations as wdm.h. */
#pragma once

/* Code for drivers and programs asks for this name. */
#define _NTDDK_

#include "wdm.h"
