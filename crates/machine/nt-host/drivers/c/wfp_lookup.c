/* A driver that adds objects to the filter engine, looks them up and lists them. DriverEntry returns the number of the line that found
   something wrong. With BUG, it does not free what it got. */

#include <initguid.h>
#include "callouts.h"

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

DEFINE_GUID(PROVIDER, 0x6a7d1f00, 0x0002, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 1);
DEFINE_GUID(SUBLAYER, 0x6a7d1f00, 0x0002, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 2);
DEFINE_GUID(CALLOUT, 0x6a7d1f00, 0x0002, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 3);
DEFINE_GUID(NO_KEY, 0x6a7d1f00, 0x0002, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 4);

static HANDLE Engine;
static UINT64 Ids[3];
static UINT8 Data[] = {7, 8, 9};

static BOOLEAN Same(const WCHAR *One, const WCHAR *Other)
{
    while (*One != 0 && *One == *Other) {
        One++;
        Other++;
    }
    return *One == *Other;
}

static BOOLEAN IsKey(const GUID *Key, const GUID *Other)
{
    return RtlCompareMemory(Key, Other, sizeof *Key) == sizeof *Key;
}

static NTSTATUS Add(void)
{
    FWPM_PROVIDER provider = {.providerKey = PROVIDER, .displayData = {L"provider", L"for a test"}};
    FWPM_SUBLAYER sublayer = {.subLayerKey = SUBLAYER, .displayData = {L"sublayer", NULL}, .weight = 9};
    FWPM_CALLOUT callout = {.calloutKey = CALLOUT, .displayData = {L"callout", NULL}};
    FWPM_FILTER filter;
    FWPM_FILTER_CONDITION conditions[3] = {{{0}}};
    FWP_V4_ADDR_AND_MASK network = {0x0a000000, 0xff000000};
    FWP_RANGE ports = {{FWP_UINT16, {.uint16 = 80}}, {FWP_UINT16, {.uint16 = 90}}};
    FWP_BYTE_BLOB path = {sizeof(Data), Data};
    GUID key = PROVIDER;
    ULONG index;

    provider.providerData = path;
    CHECK(FwpmProviderAdd(Engine, &provider, NULL) == STATUS_SUCCESS);
    sublayer.providerKey = &key;
    CHECK(FwpmSubLayerAdd(Engine, &sublayer, NULL) == STATUS_SUCCESS);
    callout.providerKey = &key;
    callout.applicableLayer = FWPM_LAYER_ALE_AUTH_CONNECT_V4;
    CHECK(FwpmCalloutAdd(Engine, &callout, NULL, NULL) == STATUS_SUCCESS);
    conditions[0].fieldKey = FWPM_CONDITION_IP_REMOTE_ADDRESS;
    conditions[0].conditionValue.type = FWP_V4_ADDR_MASK;
    conditions[0].conditionValue.v4AddrMask = &network;
    conditions[1].fieldKey = FWPM_CONDITION_IP_REMOTE_PORT;
    conditions[1].matchType = FWP_MATCH_RANGE;
    conditions[1].conditionValue.type = FWP_RANGE_TYPE;
    conditions[1].conditionValue.rangeValue = &ports;
    conditions[2].fieldKey = FWPM_CONDITION_ALE_APP_ID;
    conditions[2].conditionValue.type = FWP_BYTE_BLOB_TYPE;
    conditions[2].conditionValue.byteBlob = &path;
    for (index = 0; index < 3; index++) {
        InitFilter(&filter, index == 2 ? &FWPM_LAYER_ALE_AUTH_RECV_ACCEPT_V4 : &FWPM_LAYER_ALE_AUTH_CONNECT_V4, SUBLAYER, NO_KEY,
                   FWP_ACTION_BLOCK);
        filter.providerKey = index == 1 ? NULL : &key;
        filter.filterCondition = conditions;
        filter.numFilterConditions = 3;
        filter.weight.type = FWP_UINT8;
        filter.weight.uint8 = 3;
        CHECK(FwpmFilterAdd(Engine, &filter, NULL, &Ids[index]) == STATUS_SUCCESS);
    }
    /* What the engine keeps does not change with the driver's memory. */
    __builtin_memset(conditions, 0xFF, sizeof conditions);
    __builtin_memset(&network, 0xFF, sizeof network);
    __builtin_memset(&ports, 0xFF, sizeof ports);
    return STATUS_SUCCESS;
}

static NTSTATUS GetObjects(void)
{
    FWPM_PROVIDER *provider = NULL;
    FWPM_SUBLAYER *sublayer = NULL;
    FWPM_CALLOUT *callout = NULL, *same = NULL;

    CHECK(FwpmProviderGetByKey(Engine, &NO_KEY, &provider) == STATUS_FWP_PROVIDER_NOT_FOUND && provider == NULL);
    CHECK(FwpmSubLayerGetByKey(Engine, &NO_KEY, &sublayer) == STATUS_FWP_SUBLAYER_NOT_FOUND);
    CHECK(FwpmCalloutGetByKey(Engine, &NO_KEY, &callout) == STATUS_FWP_CALLOUT_NOT_FOUND);
    CHECK(FwpmProviderGetByKey(Engine, &PROVIDER, &provider) == STATUS_SUCCESS && IsKey(&provider->providerKey, &PROVIDER));
    CHECK(Same(provider->displayData.name, L"provider") && Same(provider->displayData.description, L"for a test"));
    CHECK(provider->providerData.size == 3 && provider->providerData.data != Data && provider->providerData.data[2] == 9);
    CHECK(provider->serviceName == NULL);
    CHECK(FwpmSubLayerGetByKey(Engine, &SUBLAYER, &sublayer) == STATUS_SUCCESS && sublayer->weight == 9);
    CHECK(IsKey(sublayer->providerKey, &PROVIDER) && Same(sublayer->displayData.name, L"sublayer"));
    CHECK(FwpmCalloutGetByKey(Engine, &CALLOUT, &callout) == STATUS_SUCCESS && callout->calloutId != 0);
    CHECK(IsKey(&callout->applicableLayer, &FWPM_LAYER_ALE_AUTH_CONNECT_V4));
    CHECK(FwpmCalloutGetById(Engine, callout->calloutId, &same) == STATUS_SUCCESS && IsKey(&same->calloutKey, &CALLOUT));
    FwpmFreeMemory((VOID **)&provider);
    CHECK(provider == NULL);
    FwpmFreeMemory((VOID **)&provider);
    FwpmFreeMemory((VOID **)&sublayer);
    FwpmFreeMemory((VOID **)&callout);
    FwpmFreeMemory((VOID **)&same);
    return STATUS_SUCCESS;
}

static NTSTATUS GetFilters(void)
{
    FWPM_FILTER *filter = NULL, *same = NULL;
    const FWPM_FILTER_CONDITION *conditions;

    CHECK(FwpmFilterGetById(Engine, 0, &filter) == STATUS_FWP_FILTER_NOT_FOUND);
    CHECK(FwpmFilterGetById(Engine, Ids[0], &filter) == STATUS_SUCCESS && filter->filterId == Ids[0]);
    CHECK(filter->effectiveWeight.type == FWP_UINT64 && *filter->effectiveWeight.uint64 >> 60 == 3);
    CHECK(filter->weight.type == FWP_UINT8 && filter->weight.uint8 == 3 && IsKey(filter->providerKey, &PROVIDER));
    CHECK(filter->numFilterConditions == 3);
    conditions = filter->filterCondition;
    CHECK(conditions[0].conditionValue.v4AddrMask->addr == 0x0a000000 && conditions[0].conditionValue.v4AddrMask->mask == 0xff000000);
    CHECK(conditions[1].conditionValue.rangeValue->valueHigh.uint16 == 90);
    CHECK(conditions[2].conditionValue.byteBlob->size == 3 && conditions[2].conditionValue.byteBlob->data[0] == 7);
    CHECK(FwpmFilterGetByKey(Engine, &filter->filterKey, &same) == STATUS_SUCCESS && same->filterId == Ids[0]);
    FwpmFreeMemory((VOID **)&same);
#if BUG != 1
    FwpmFreeMemory((VOID **)&filter);
#endif
    return STATUS_SUCCESS;
}

static NTSTATUS List(void)
{
    FWPM_FILTER_ENUM_TEMPLATE filters = {0};
    FWPM_CALLOUT_ENUM_TEMPLATE callouts = {0};
    FWPM_FILTER **found = NULL;
    FWPM_PROVIDER **providers;
    FWPM_SUBLAYER **sublayers;
    FWPM_CALLOUT **registered;
    GUID key = PROVIDER, other = NO_KEY;
    HANDLE list;
    UINT32 count;

    CHECK(FwpmFilterCreateEnumHandle(Engine, NULL, &list) == STATUS_SUCCESS);
    CHECK(FwpmFilterEnum(Engine, list, 2, &found, &count) == STATUS_SUCCESS && count == 2);
    CHECK(found[0]->filterId == Ids[0] && found[1]->filterId == Ids[1] && found[1]->filterCondition[2].conditionValue.byteBlob->data[1] == 8);
    FwpmFreeMemory((VOID **)&found);
    CHECK(FwpmFilterEnum(Engine, list, 10, &found, &count) == STATUS_SUCCESS && count == 1 && found[0]->filterId == Ids[2]);
    FwpmFreeMemory((VOID **)&found);
    CHECK(FwpmFilterEnum(Engine, list, 10, &found, &count) == STATUS_SUCCESS && count == 0);
    FwpmFreeMemory((VOID **)&found);
    CHECK(FwpmFilterDestroyEnumHandle(Engine, list) == STATUS_SUCCESS);
    CHECK(FwpmFilterDestroyEnumHandle(Engine, list) == STATUS_INVALID_HANDLE);
    filters.providerKey = &key;
    filters.layerKey = FWPM_LAYER_ALE_AUTH_CONNECT_V4;
    CHECK(FwpmFilterCreateEnumHandle(Engine, &filters, &list) == STATUS_SUCCESS);
    CHECK(FwpmFilterEnum(Engine, list, 10, &found, &count) == STATUS_SUCCESS && count == 1 && found[0]->filterId == Ids[0]);
    FwpmFreeMemory((VOID **)&found);
    FwpmFilterDestroyEnumHandle(Engine, list);
    CHECK(FwpmProviderCreateEnumHandle(Engine, NULL, &list) == STATUS_SUCCESS);
    CHECK(FwpmProviderEnum(Engine, list, 10, &providers, &count) == STATUS_SUCCESS && count == 1);
    FwpmFreeMemory((VOID **)&providers);
    FwpmProviderDestroyEnumHandle(Engine, list);
    CHECK(FwpmSubLayerCreateEnumHandle(Engine, NULL, &list) == STATUS_SUCCESS);
    CHECK(FwpmSubLayerEnum(Engine, list, 10, &sublayers, &count) == STATUS_SUCCESS && count == 1 && sublayers[0]->weight == 9);
    FwpmFreeMemory((VOID **)&sublayers);
    FwpmSubLayerDestroyEnumHandle(Engine, list);
    callouts.providerKey = &other;
    CHECK(FwpmCalloutCreateEnumHandle(Engine, &callouts, &list) == STATUS_SUCCESS);
    CHECK(FwpmCalloutEnum(Engine, list, 10, &registered, &count) == STATUS_SUCCESS && count == 0);
    /* This list ends with its session. */
    return STATUS_SUCCESS;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNREFERENCED_PARAMETER(Driver);
    FwpmEngineClose(Engine);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    static NTSTATUS (*const Steps[])(void) = {Add, GetObjects, GetFilters, List};
    NTSTATUS status;
    ULONG step;

    UNREFERENCED_PARAMETER(Path);
    Driver->DriverUnload = Unload;
    status = OpenSession(&Engine);
    for (step = 0; NT_SUCCESS(status) && step < sizeof(Steps) / sizeof(Steps[0]); step++) {
        status = Steps[step]();
    }
    if (!NT_SUCCESS(status)) {
        FwpmEngineClose(Engine);
    }
    return status;
}
