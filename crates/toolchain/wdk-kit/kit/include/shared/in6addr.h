/* Addresses of IPv6; ws2def.h has them all. */
#pragma once
#include "ws2def.h"
