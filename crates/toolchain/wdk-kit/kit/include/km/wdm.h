/* The Windows Driver Model: declarations for drivers of every kind. */
#pragma once

/* Code for drivers and programs asks for this name. */
#define _WDMDDK_

#include "ntdef.h"
#include "nt/arguments.h"
#include "guiddef.h"

/* A driver defines this name. The metadata has a constant of the same name. */
#ifdef POOL_NX_OPTIN_AUTO
#define WDK_KIT_NX_AUTO
#endif

#include "nt/names.h"
#include "nt/generated_names.h"
#include "nt/generated.h"
#include "nt/crt.h"
#include "nt/routines.h"
#include "nt/supplement.h"
#include "ntstatus.h"
#include "nt/interlocked.h"
#include "nt/inline.h"
#include "nt/registers.h"
