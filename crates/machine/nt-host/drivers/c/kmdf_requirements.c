/* A KMDF driver that changes what its device requires, and logs the lists. With BUG 1 or 2, one of the callbacks that filter the
   requirements fails; with BUG 3 or 4, the one that removes added resources fails at the first or the second start. With BUG 5 it
   changes lists in wrong ways, with BUG 6 it does not remove what it adds. */

#include "framework.h"

#define LIST_COUNT(list) WDF(WDFIORESOURCELISTGETCOUNT, WdfIoResourceListGetCount, list)
#define LISTS(requirements)                                                                                            \
    WDF(WDFIORESOURCEREQUIREMENTSLISTGETCOUNT, WdfIoResourceRequirementsListGetCount, requirements)
#define NTH(requirements, index)                                                                                       \
    WDF(WDFIORESOURCEREQUIREMENTSLISTGETIORESLIST, WdfIoResourceRequirementsListGetIoResList, requirements, index)
#define DESCRIPTOR(list, index) WDF(WDFIORESOURCELISTGETDESCRIPTOR, WdfIoResourceListGetDescriptor, list, index)
#define ASSIGNED(list) WDF(WDFCMRESOURCELISTGETCOUNT, WdfCmResourceListGetCount, list)

static ULONG Starts;

static VOID Show(WDFDEVICE Device, const char *Title)
{
    LOG("%s, pnp %x, irql %u\n", Title, WDF(WDFDEVICEGETDEVICEPNPSTATE, WdfDeviceGetDevicePnpState, Device), Irql());
}

static VOID ShowLists(WDFIORESREQLIST Requirements)
{
    for (ULONG i = 0; i <= LISTS(Requirements); i++) {
        WDFIORESLIST list = NTH(Requirements, i);

        if (list == NULL) {
            LOG("no list %u\n", i);
            break;
        }
        LOG("list %u: %u\n", i, LIST_COUNT(list));
        for (ULONG j = 0; j < LIST_COUNT(list); j++) {
            IO_RESOURCE_DESCRIPTOR *one = DESCRIPTOR(list, j);

            LOG("type %u, share %u, flags %x, %x\n", one->Type, one->ShareDisposition, one->Flags,
                one->u.Generic.Length);
        }
    }
}

static NTSTATUS NTAPI FilterRemove(WDFDEVICE Device, WDFIORESREQLIST Requirements)
{
    WDFIORESLIST list = NTH(Requirements, 0);
    IO_RESOURCE_DESCRIPTOR copy, *seen;
    ULONG last;

    Show(Device, "filter, remove");
    ShowLists(Requirements);
    if (list == NULL) {
        return 0;
    }
    /* A driver sees copies of the descriptors. */
    seen = DESCRIPTOR(list, 0);
    copy = *seen;
    seen->Flags = 0x77;
    last = LIST_COUNT(list);
    LOG("same place %d, flags %x, after the last %d\n", seen == DESCRIPTOR(list, 0), seen->Flags,
        DESCRIPTOR(list, last) == NULL);
    WDF(WDFIORESOURCELISTREMOVEBYDESCRIPTOR, WdfIoResourceListRemoveByDescriptor, list, &copy);
    LOG("removed: %u left\n", LIST_COUNT(list));
    LOG("inserted: %x\n", WDF(WDFIORESOURCELISTINSERTDESCRIPTOR, WdfIoResourceListInsertDescriptor, list, &copy, 0));
    LOG("inserted: %x\n", WDF(WDFIORESOURCELISTINSERTDESCRIPTOR, WdfIoResourceListInsertDescriptor, list, &copy, 9));
    last = LIST_COUNT(list) - 1;
    WDF(WDFIORESOURCELISTREMOVE, WdfIoResourceListRemove, list, last);
    WDF(WDFIORESOURCEREQUIREMENTSLISTSETSLOTNUMBER, WdfIoResourceRequirementsListSetSlotNumber, Requirements, 7);
    WDF(WDFIORESOURCEREQUIREMENTSLISTSETINTERFACETYPE, WdfIoResourceRequirementsListSetInterfaceType, Requirements,
        PCIBus);
    return BUG == 1 ? STATUS_UNSUCCESSFUL : 0;
}

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    (void)Object;
    LOG("cleanup of a list\n");
}

static NTSTATUS Create(WDFIORESREQLIST Requirements, WDFOBJECT Parent, WDFIORESLIST *List)
{
    WDF_OBJECT_ATTRIBUTES attributes;

    InitAttributes(&attributes, Parent);
    attributes.EvtCleanupCallback = Cleanup;
    return WDF(WDFIORESOURCELISTCREATE, WdfIoResourceListCreate, Requirements, &attributes, List);
}

static NTSTATUS NTAPI FilterAdd(WDFDEVICE Device, WDFIORESREQLIST Requirements)
{
    IO_RESOURCE_DESCRIPTOR port = {0};
    WDFIORESLIST lists[3] = {0};

    Show(Device, "filter, add");
    ShowLists(Requirements);
    port.Type = CmResourceTypePort;
    port.ShareDisposition = CmResourceShareDeviceExclusive;
    port.Flags = CM_RESOURCE_PORT_IO;
    port.u.Port.Length = 8;
    port.u.Port.Alignment = 8;
    port.u.Port.MaximumAddress.LowPart = 0xFFFF;
#if BUG == 5
    /* A mistake: the framework chooses the parent. */
    LOG("created with a parent: %x\n", Create(Requirements, Device, &lists[0]));
#endif
    for (int i = 0; i < 3; i++) {
        LOG("created: %x\n", Create(Requirements, NULL, &lists[i]));
        LOG("appended: %x\n", WDF(WDFIORESOURCELISTAPPENDDESCRIPTOR, WdfIoResourceListAppendDescriptor, lists[i], &port));
        port.u.Port.Length *= 2;
    }
    WDF(WDFIORESOURCELISTUPDATEDESCRIPTOR, WdfIoResourceListUpdateDescriptor, lists[0], &port, 0);
    LOG("appended: %x\n", WDF(WDFIORESOURCEREQUIREMENTSLISTAPPENDIORESLIST,
                              WdfIoResourceRequirementsListAppendIoResList, Requirements, lists[0]));
    LOG("inserted: %x\n", WDF(WDFIORESOURCEREQUIREMENTSLISTINSERTIORESLIST,
                              WdfIoResourceRequirementsListInsertIoResList, Requirements, lists[1], 0));
    LOG("inserted: %x\n", WDF(WDFIORESOURCEREQUIREMENTSLISTINSERTIORESLIST,
                              WdfIoResourceRequirementsListInsertIoResList, Requirements, lists[2], 9));
    ShowLists(Requirements);
    WDF(WDFIORESOURCEREQUIREMENTSLISTREMOVEBYIORESLIST, WdfIoResourceRequirementsListRemoveByIoResList, Requirements,
        lists[1]);
    WDF(WDFIORESOURCEREQUIREMENTSLISTREMOVE, WdfIoResourceRequirementsListRemove, Requirements, 0);
    ShowLists(Requirements);
#if BUG == 5
    /* The mistakes: there are no such lists. */
    WDF(WDFIORESOURCEREQUIREMENTSLISTREMOVE, WdfIoResourceRequirementsListRemove, Requirements, 5);
#endif
    return BUG == 2 ? STATUS_UNSUCCESSFUL : 0;
}

static NTSTATUS NTAPI RemoveAdded(WDFDEVICE Device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    CM_PARTIAL_RESOURCE_DESCRIPTOR copy =
        *WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, Translated, 0);

    Show(Device, "remove added");
    WDF(WDFCMRESOURCELISTREMOVE, WdfCmResourceListRemove, Raw, 0);
    WDF(WDFCMRESOURCELISTREMOVEBYDESCRIPTOR, WdfCmResourceListRemoveByDescriptor, Translated, &copy);
    LOG("left: %u and %u\n", ASSIGNED(Raw), ASSIGNED(Translated));
    LOG("appended: %x\n", WDF(WDFCMRESOURCELISTAPPENDDESCRIPTOR, WdfCmResourceListAppendDescriptor, Translated, &copy));
    LOG("inserted: %x\n", WDF(WDFCMRESOURCELISTINSERTDESCRIPTOR, WdfCmResourceListInsertDescriptor, Translated, &copy, 0));
    LOG("left: %u and %u\n", ASSIGNED(Raw), ASSIGNED(Translated));
    return BUG == 3 + (LONG)Starts++ ? STATUS_UNSUCCESSFUL : 0;
}

static NTSTATUS NTAPI Prepare(WDFDEVICE Device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    Show(Device, "prepare");
    LOG("has %u and %u\n", ASSIGNED(Raw), ASSIGNED(Translated));
#if BUG == 5
    /* The mistake: the device has its resources. */
    CM_PARTIAL_RESOURCE_DESCRIPTOR *first = WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, Raw, 0);
    LOG("appended: %x\n", WDF(WDFCMRESOURCELISTAPPENDDESCRIPTOR, WdfCmResourceListAppendDescriptor, Raw, first));
#endif
    return 0;
}

static NTSTATUS NTAPI Release(WDFDEVICE Device, WDFCMRESLIST Translated)
{
    Show(Device, "release");
    LOG("has %u\n", ASSIGNED(Translated));
    return 0;
}

static NTSTATUS NTAPI IoInit(WDFDEVICE Device)
{
    Show(Device, "init");
    return 0;
}

static VOID NTAPI Flush(WDFDEVICE Device)
{
    Show(Device, "flush");
}

static VOID NTAPI Surprise(WDFDEVICE Device)
{
    Show(Device, "surprise");
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS power = {0};
    WDF_FDO_EVENT_CALLBACKS callbacks = {0};
    WDFDEVICE device;

    (void)Driver;
    power.Size = sizeof(power);
    power.EvtDevicePrepareHardware = Prepare;
    power.EvtDeviceReleaseHardware = Release;
    power.EvtDeviceSelfManagedIoInit = IoInit;
    power.EvtDeviceSelfManagedIoFlush = Flush;
    power.EvtDeviceSurpriseRemoval = Surprise;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &power);
    callbacks.Size = sizeof(callbacks);
    callbacks.EvtDeviceFilterRemoveResourceRequirements = FilterRemove;
    callbacks.EvtDeviceFilterAddResourceRequirements = FilterAdd;
    callbacks.EvtDeviceRemoveAddedResources = BUG == 6 ? NULL : RemoveAdded;
    WDF(WDFFDOINITSETEVENTCALLBACKS, WdfFdoInitSetEventCallbacks, Init, &callbacks);
    return WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
