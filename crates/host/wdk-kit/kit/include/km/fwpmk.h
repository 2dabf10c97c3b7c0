/* The management of the filter engine, for drivers.
 *
 * Written from Microsoft's documentation; fwpmtypes.h is from Microsoft's metadata. */
#include "ntddk.h"
#include "fwpmtypes.h"
#include "fwpvi.h"
#include "nt/fwpm_keys.h"

#ifndef WDK_KIT_FWPMK_H
#define WDK_KIT_FWPMK_H

/* The authentication services of RPC that FwpmEngineOpen0 accepts. */
#define RPC_C_AUTHN_WINNT 10
#define RPC_C_AUTHN_DEFAULT 0xFFFFFFFF

#ifndef WDK_KIT_NO_TYPES
typedef VOID NTAPI FWPM_SERVICE_STATE_CHANGE_CALLBACK0(VOID *context, FWPM_SERVICE_STATE newState);

FWPM_SERVICE_STATE NTAPI FwpmBfeStateGet0(VOID);
NTSTATUS NTAPI FwpmBfeStateSubscribeChanges0(VOID *deviceObject, FWPM_SERVICE_STATE_CHANGE_CALLBACK0 *callback, VOID *context, HANDLE *changeHandle);
NTSTATUS NTAPI FwpmBfeStateUnsubscribeChanges0(HANDLE changeHandle);
NTSTATUS NTAPI FwpmEngineOpen0(const WCHAR *serverName, UINT32 authnService, PVOID authIdentity, const FWPM_SESSION0 *session, HANDLE *engineHandle);
NTSTATUS NTAPI FwpmEngineClose0(HANDLE engineHandle);
NTSTATUS NTAPI FwpmTransactionBegin0(HANDLE engineHandle, UINT32 flags);
NTSTATUS NTAPI FwpmTransactionCommit0(HANDLE engineHandle);
NTSTATUS NTAPI FwpmTransactionAbort0(HANDLE engineHandle);
NTSTATUS NTAPI FwpmProviderAdd0(HANDLE engineHandle, const FWPM_PROVIDER0 *provider, PSECURITY_DESCRIPTOR sd);
NTSTATUS NTAPI FwpmProviderDeleteByKey0(HANDLE engineHandle, const GUID *key);
NTSTATUS NTAPI FwpmSubLayerAdd0(HANDLE engineHandle, const FWPM_SUBLAYER0 *subLayer, PSECURITY_DESCRIPTOR sd);
NTSTATUS NTAPI FwpmSubLayerDeleteByKey0(HANDLE engineHandle, const GUID *key);
NTSTATUS NTAPI FwpmCalloutAdd0(HANDLE engineHandle, const FWPM_CALLOUT0 *callout, PSECURITY_DESCRIPTOR sd, UINT32 *id);
NTSTATUS NTAPI FwpmCalloutDeleteById0(HANDLE engineHandle, UINT32 id);
NTSTATUS NTAPI FwpmCalloutDeleteByKey0(HANDLE engineHandle, const GUID *key);
NTSTATUS NTAPI FwpmFilterAdd0(HANDLE engineHandle, const FWPM_FILTER0 *filter, PSECURITY_DESCRIPTOR sd, UINT64 *id);
NTSTATUS NTAPI FwpmFilterDeleteById0(HANDLE engineHandle, UINT64 id);
NTSTATUS NTAPI FwpmFilterDeleteByKey0(HANDLE engineHandle, const GUID *key);
VOID NTAPI FwpmFreeMemory0(VOID **p);
#endif
#endif
