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
NTSTATUS NTAPI FwpmProviderGetByKey0(HANDLE engineHandle, const GUID *key, FWPM_PROVIDER0 **provider);
NTSTATUS NTAPI FwpmProviderCreateEnumHandle0(HANDLE engineHandle, const FWPM_PROVIDER_ENUM_TEMPLATE0 *enumTemplate, HANDLE *enumHandle);
NTSTATUS NTAPI FwpmProviderEnum0(HANDLE engineHandle, HANDLE enumHandle, UINT32 numEntriesRequested, FWPM_PROVIDER0 ***entries, UINT32 *numEntriesReturned);
NTSTATUS NTAPI FwpmProviderDestroyEnumHandle0(HANDLE engineHandle, HANDLE enumHandle);
NTSTATUS NTAPI FwpmSubLayerGetByKey0(HANDLE engineHandle, const GUID *key, FWPM_SUBLAYER0 **subLayer);
NTSTATUS NTAPI FwpmSubLayerCreateEnumHandle0(HANDLE engineHandle, const FWPM_SUBLAYER_ENUM_TEMPLATE0 *enumTemplate, HANDLE *enumHandle);
NTSTATUS NTAPI FwpmSubLayerEnum0(HANDLE engineHandle, HANDLE enumHandle, UINT32 numEntriesRequested, FWPM_SUBLAYER0 ***entries, UINT32 *numEntriesReturned);
NTSTATUS NTAPI FwpmSubLayerDestroyEnumHandle0(HANDLE engineHandle, HANDLE enumHandle);
NTSTATUS NTAPI FwpmCalloutGetById0(HANDLE engineHandle, UINT32 id, FWPM_CALLOUT0 **callout);
NTSTATUS NTAPI FwpmCalloutGetByKey0(HANDLE engineHandle, const GUID *key, FWPM_CALLOUT0 **callout);
NTSTATUS NTAPI FwpmCalloutCreateEnumHandle0(HANDLE engineHandle, const FWPM_CALLOUT_ENUM_TEMPLATE0 *enumTemplate, HANDLE *enumHandle);
NTSTATUS NTAPI FwpmCalloutEnum0(HANDLE engineHandle, HANDLE enumHandle, UINT32 numEntriesRequested, FWPM_CALLOUT0 ***entries, UINT32 *numEntriesReturned);
NTSTATUS NTAPI FwpmCalloutDestroyEnumHandle0(HANDLE engineHandle, HANDLE enumHandle);
NTSTATUS NTAPI FwpmFilterGetById0(HANDLE engineHandle, UINT64 id, FWPM_FILTER0 **filter);
NTSTATUS NTAPI FwpmFilterGetByKey0(HANDLE engineHandle, const GUID *key, FWPM_FILTER0 **filter);
NTSTATUS NTAPI FwpmFilterCreateEnumHandle0(HANDLE engineHandle, const FWPM_FILTER_ENUM_TEMPLATE0 *enumTemplate, HANDLE *enumHandle);
NTSTATUS NTAPI FwpmFilterEnum0(HANDLE engineHandle, HANDLE enumHandle, UINT32 numEntriesRequested, FWPM_FILTER0 ***entries, UINT32 *numEntriesReturned);
NTSTATUS NTAPI FwpmFilterDestroyEnumHandle0(HANDLE engineHandle, HANDLE enumHandle);
NTSTATUS NTAPI FwpmProviderContextDeleteById0(HANDLE engineHandle, UINT64 id);
NTSTATUS NTAPI FwpmProviderContextDeleteByKey0(HANDLE engineHandle, const GUID *key);
NTSTATUS NTAPI FwpmProviderContextAdd0(HANDLE engineHandle, const FWPM_PROVIDER_CONTEXT0 *providerContext, PSECURITY_DESCRIPTOR sd, UINT64 *id);
NTSTATUS NTAPI FwpmProviderContextGetById0(HANDLE engineHandle, UINT64 id, FWPM_PROVIDER_CONTEXT0 **providerContext);
NTSTATUS NTAPI FwpmProviderContextGetByKey0(HANDLE engineHandle, const GUID *key, FWPM_PROVIDER_CONTEXT0 **providerContext);
NTSTATUS NTAPI FwpmProviderContextAdd1(HANDLE engineHandle, const FWPM_PROVIDER_CONTEXT1 *providerContext, PSECURITY_DESCRIPTOR sd, UINT64 *id);
NTSTATUS NTAPI FwpmProviderContextGetById1(HANDLE engineHandle, UINT64 id, FWPM_PROVIDER_CONTEXT1 **providerContext);
NTSTATUS NTAPI FwpmProviderContextGetByKey1(HANDLE engineHandle, const GUID *key, FWPM_PROVIDER_CONTEXT1 **providerContext);
NTSTATUS NTAPI FwpmProviderContextAdd2(HANDLE engineHandle, const FWPM_PROVIDER_CONTEXT2 *providerContext, PSECURITY_DESCRIPTOR sd, UINT64 *id);
NTSTATUS NTAPI FwpmProviderContextGetById2(HANDLE engineHandle, UINT64 id, FWPM_PROVIDER_CONTEXT2 **providerContext);
NTSTATUS NTAPI FwpmProviderContextGetByKey2(HANDLE engineHandle, const GUID *key, FWPM_PROVIDER_CONTEXT2 **providerContext);
NTSTATUS NTAPI FwpmProviderContextAdd3(HANDLE engineHandle, const FWPM_PROVIDER_CONTEXT3 *providerContext, PSECURITY_DESCRIPTOR sd, UINT64 *id);
NTSTATUS NTAPI FwpmProviderContextGetById3(HANDLE engineHandle, UINT64 id, FWPM_PROVIDER_CONTEXT3 **providerContext);
NTSTATUS NTAPI FwpmProviderContextGetByKey3(HANDLE engineHandle, const GUID *key, FWPM_PROVIDER_CONTEXT3 **providerContext);
VOID NTAPI FwpmFreeMemory0(VOID **p);
#endif
#endif
