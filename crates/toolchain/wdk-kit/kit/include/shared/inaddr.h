/* Addresses of IPv4; ws2def.h has them all. */
#pragma once
#include "ws2def.h"
