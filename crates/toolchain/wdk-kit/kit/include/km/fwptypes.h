/* Values of the filter engine; fwpmtypes.h has them all. */
#pragma once
#include "fwpmtypes.h"
