/* The Windows Driver Model: declarations for drivers of every kind. */
#pragma once

#include "ntdef.h"

#include "nt/names.h"
#include "nt/generated_names.h"
#include "nt/generated.h"
#include "nt/crt.h"
#include "nt/routines.h"
#include "nt/supplement.h"
#include "ntstatus.h"
#include "nt/inline.h"
