/* The Windows Driver Model: everything a driver of any kind uses. */
#pragma once

#include "ntdef.h"

#include "nt/crt.h"
#include "nt/security.h"
#include "nt/kernel.h"
#include "nt/executive.h"
#include "nt/power.h"
#include "nt/resources.h"
#include "nt/io_types.h"
#include "nt/file.h"
#include "nt/io_stack.h"
#include "nt/io.h"
#include "nt/memory.h"
#include "nt/registry.h"
#include "nt/runtime.h"
#include "nt/etw.h"
