/* What device drivers include: the same declarations as wdm.h in this kit. */
#pragma once

#include "wdm.h"
