/* Shared code of the callout drivers: a session that ends with its handle, its sublayer, and callouts with a filter each. Include
   initguid.h first. */
#pragma once

#include <fwpsk.h>
#include <fwpmk.h>

static inline NTSTATUS OpenSession(HANDLE *Engine)
{
    FWPM_SESSION session = {0};

    session.flags = FWPM_SESSION_FLAG_DYNAMIC;
    return FwpmEngineOpen(NULL, RPC_C_AUTHN_WINNT, NULL, &session, Engine);
}

static inline NTSTATUS AddSublayer(HANDLE Engine, GUID Key, UINT16 Weight)
{
    FWPM_SUBLAYER sublayer = {0};

    sublayer.subLayerKey = Key;
    sublayer.displayData.name = L"sublayer";
    sublayer.weight = Weight;
    return FwpmSubLayerAdd(Engine, &sublayer, NULL);
}

/* Registers a callout and adds it to a layer. With a function for the end of flows, it sees only flows with a context. */
static inline NTSTATUS AddCallout(HANDLE Engine, PVOID Device, FWPS_CALLOUT *Callout, const GUID *Layer, UINT32 *Id)
{
    FWPM_CALLOUT managed = {0};
    NTSTATUS status;

    Callout->flags = Callout->flowDeleteFn != NULL ? FWP_CALLOUT_FLAG_CONDITIONAL_ON_FLOW : 0;
    status = FwpsCalloutRegister(Device, Callout, Id);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    managed.calloutKey = Callout->calloutKey;
    managed.displayData.name = L"callout";
    managed.applicableLayer = *Layer;
    return FwpmCalloutAdd(Engine, &managed, NULL, NULL);
}

/* Describes a filter that gives what passes a layer to a callout. */
static inline void InitFilter(FWPM_FILTER *Filter, const GUID *Layer, GUID Sublayer, GUID Callout, FWP_ACTION_TYPE Action)
{
    __builtin_memset(Filter, 0, sizeof(*Filter));
    Filter->displayData.name = L"filter";
    Filter->layerKey = *Layer;
    Filter->subLayerKey = Sublayer;
    Filter->action.type = Action;
    Filter->action.calloutKey = Callout;
}
