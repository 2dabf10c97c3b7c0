/* The management of the filter engine, for programs. Drivers that include it get what fwpmk.h declares: fwpkclnt.sys exports
 * these functions to drivers with the same names and parameters, and they return an NTSTATUS there. */
#include "fwpmk.h"
