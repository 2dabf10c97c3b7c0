/* Text of IP addresses; wdm.h has the routines. */
#pragma once
#include "ws2def.h"
