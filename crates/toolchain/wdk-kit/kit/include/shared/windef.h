/* Names of base types that programs use. */
#pragma once

#include "minwindef.h"
