/* uuid.lib: the identifiers of the filtering platform, for drivers that only declare them. */

#include "initguid.h"
#include "fwpmk.h"
