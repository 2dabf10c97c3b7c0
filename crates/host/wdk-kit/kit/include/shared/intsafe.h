/* In kernel mode, ntintsafe.h has the functions. */
#pragma once

#include "ntintsafe.h"
