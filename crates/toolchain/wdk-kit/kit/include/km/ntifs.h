/* The header for file system drivers. In this kit, it has the same declarations as ntddk.h. */
#pragma once

/* Code for drivers and programs asks for this name. */
#define _NTIFS_

#include "ntddk.h"
