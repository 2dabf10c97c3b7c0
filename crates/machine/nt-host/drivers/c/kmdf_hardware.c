/* A KMDF driver for a device with interrupts. It logs its resources. With BUG 2 or 3 it preprocesses IRPs, with BUG 4 it
   handles interrupts at passive level, with BUG 5 it creates its interrupt objects in EvtDevicePrepareHardware, and with
   BUG 6 in the wrong places. With BUG 7 the interrupt cannot be enabled, with BUG 8 it cannot be disabled. */

#include "framework.h"

#define LOCK 0x222000    /* acquires the interrupt lock, then calls WdfInterruptSynchronize */
#define TWICE 0x222004   /* disables and enables the interrupt, and changes whether the ISR claims it */
#define KEEP 0x222008    /* keeps the request until it is canceled */
#define PACKET 0x22200C  /* logs the IRP of the request */
#define REFUSED 0x222010 /* completed by the preprocess callback */
#define COUNTED 0x222014 /* passed to the framework with a completion routine */
#define DELETE_ 0x222018 /* deletes objects that only the framework may delete */

#define INFO 0x22201C     /* logs what is known about the first interrupt */
#define SYNC 0x222020
#define ACQUIRE 0x222024 /* acquires and releases the interrupt lock */
#define ENABLE 0x222028
#define DISABLE 0x22202C
#define POLICY 0x222030 /* sets policies that do not exist */


static WDFINTERRUPT Interrupts[2];
static ULONG Count, Claims = 1;

#if BUG == 4
static KEVENT Ran;
static KTIMER Timer;
static KDPC Timed;

static VOID NTAPI TimerDpc(PKDPC Unused, PVOID Context, PVOID One, PVOID Two)
{
    (void)Unused, (void)Context, (void)One, (void)Two;
    KeSetEvent(&Ran, 0, FALSE);
}

static VOID NTAPI Work(WDFINTERRUPT Interrupt, WDFOBJECT Device)
{
    (void)Device;
    /* Waits for the service routine to release the lock. A thread that holds it could not acquire it again. */
    WDF(WDFINTERRUPTACQUIRELOCK, WdfInterruptAcquireLock, Interrupt);
    WDF(WDFINTERRUPTRELEASELOCK, WdfInterruptReleaseLock, Interrupt);
    LOG("work item, irql %u, lock %d\n", Irql(),
        WDF(WDFINTERRUPTTRYTOACQUIRELOCK, WdfInterruptTryToAcquireLock, Interrupt));
    WDF(WDFINTERRUPTRELEASELOCK, WdfInterruptReleaseLock, Interrupt);
}
#endif

static BOOLEAN NTAPI Isr(WDFINTERRUPT Interrupt, ULONG Message)
{
    LOG("isr %u, message %u, irql %u\n", Interrupt == Interrupts[1], Message, Irql());
    if (Claims == 0) {
        return FALSE;
    }
#if BUG == 1
    /* The mistake: waits above DISPATCH_LEVEL. */
    LARGE_INTEGER time = {.QuadPart = MILLISECONDS(1)};
    KeDelayExecutionThread(0, FALSE, &time);
#endif
    Count++;
#if BUG == 4
    /* Waits for a DPC, which is allowed at passive level. */
    LARGE_INTEGER due = {.QuadPart = MILLISECONDS(1)};
    KeInitializeEvent(&Ran, 1, FALSE);
    KeInitializeDpc(&Timed, TimerDpc, NULL);
    KeInitializeTimer(&Timer);
    KeSetTimer(&Timer, due, &Timed);
    LOG("waited %x\n", KeWaitForSingleObject(&Ran, 0, 0, FALSE, NULL));
    LOG("queued %d\n", WDF(WDFINTERRUPTQUEUEWORKITEMFORISR, WdfInterruptQueueWorkItemForIsr, Interrupt));
    return TRUE;
#endif
    LOG("queued %d\n", WDF(WDFINTERRUPTQUEUEDPCFORISR, WdfInterruptQueueDpcForIsr, Interrupt));
    return TRUE;
}

static VOID NTAPI Dpc(WDFINTERRUPT Interrupt, WDFOBJECT Device)
{
    LOG("dpc, irql %u, device %d\n", Irql(),
        (WDFDEVICE)Device == WDF(WDFINTERRUPTGETDEVICE, WdfInterruptGetDevice, Interrupt));
}

static NTSTATUS NTAPI Enable(WDFINTERRUPT Interrupt, WDFDEVICE Device)
{
    (void)Device;
    LOG("enable %u, irql %u\n", Interrupt == Interrupts[1], Irql());
    return BUG == 7 ? STATUS_UNSUCCESSFUL : 0;
}

static NTSTATUS NTAPI Disable(WDFINTERRUPT Interrupt, WDFDEVICE Device)
{
    (void)Device;
    LOG("disable %u, irql %u\n", Interrupt == Interrupts[1], Irql());
    return BUG == 8 ? STATUS_UNSUCCESSFUL : 0;
}

static BOOLEAN NTAPI Synchronized(WDFINTERRUPT Interrupt, WDFCONTEXT Context)
{
    (void)Interrupt;
    LOG("synchronised, irql %u, context %u\n", Irql(), (ULONG)(ULONG_PTR)Context);
    return TRUE;
}

static VOID Initialize(WDF_INTERRUPT_CONFIG *Config)
{
    WDF_INTERRUPT_CONFIG config = {0};

    config.Size = sizeof(config);
    config.ShareVector = WdfUseDefault;
    config.EvtInterruptIsr = Isr;
    config.EvtInterruptDpc = Dpc;
    config.EvtInterruptEnable = Enable;
    config.EvtInterruptDisable = Disable;
#if BUG == 4
    config.PassiveHandling = TRUE;
    config.EvtInterruptDpc = NULL;
    config.EvtInterruptWorkItem = Work;
#endif
    *Config = config;
}

#if BUG == 5 || BUG == 6
static WDFCMRESLIST RawList, TranslatedList;

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    LOG("cleanup of %u\n", (WDFINTERRUPT)Object == Interrupts[1]);
}

/* Creates an interrupt object for a descriptor of the lists, or without a descriptor. */
static NTSTATUS CreateFor(WDFDEVICE Device, LONG Index, WDFINTERRUPT *Interrupt)
{
    WDF_INTERRUPT_CONFIG config;
    WDF_OBJECT_ATTRIBUTES attributes;

    Initialize(&config);
    InitAttributes(&attributes, NULL);
    attributes.EvtCleanupCallback = Cleanup;
    if (Index >= 0) {
        config.InterruptRaw = WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, RawList, Index);
        config.InterruptTranslated =
            WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, TranslatedList, Index);
    }
    return WDF(WDFINTERRUPTCREATE, WdfInterruptCreate, Device, &config, &attributes, Interrupt);
}

static NTSTATUS NTAPI Release(WDFDEVICE Device, WDFCMRESLIST Translated)
{
    (void)Device, (void)Translated;
    LOG("release\n");
    return 0;
}
#endif

static NTSTATUS NTAPI Prepare(WDFDEVICE Device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    ULONG count = WDF(WDFCMRESOURCELISTGETCOUNT, WdfCmResourceListGetCount, Translated);

    (void)Device;
    LOG("prepare: %u raw\n", WDF(WDFCMRESOURCELISTGETCOUNT, WdfCmResourceListGetCount, Raw));
    for (ULONG i = 0; i < count; i++) {
        PCM_PARTIAL_RESOURCE_DESCRIPTOR descriptor =
            WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, Translated, i);

        LOG("resource %u, flags %x: %x %x\n", descriptor->Type, descriptor->Flags, ((ULONG *)descriptor)[1],
            ((ULONG *)descriptor)[2]);
    }
#if BUG == 5
    /* The objects are not in the order of the interrupts. */
    RawList = Raw;
    TranslatedList = Translated;
    for (LONG i = 0; i < 2; i++) {
        LOG("created %x\n", CreateFor(Device, 1 - i, &Interrupts[i]));
    }
#elif BUG == 6
    RawList = Raw;
    TranslatedList = Translated;
    LOG("without descriptors %x\n", CreateFor(Device, -1, &Interrupts[0]));
#endif
    return WDF(WDFCMRESOURCELISTGETDESCRIPTOR, WdfCmResourceListGetDescriptor, Translated, count) == NULL
               ? 0
               : STATUS_UNSUCCESSFUL;
}

static NTSTATUS NTAPI D0Entry(WDFDEVICE Device, WDF_POWER_DEVICE_STATE From)
{
    (void)Device, (void)From;
    LOG("d0 entry\n");
#if BUG == 6
    LOG("too late %x\n", CreateFor(Device, 0, &Interrupts[0]));
#endif
    return 0;
}

static NTSTATUS NTAPI D0Exit(WDFDEVICE Device, WDF_POWER_DEVICE_STATE To)
{
    (void)Device, (void)To;
    LOG("d0 exit\n");
    return 0;
}

static VOID NTAPI Canceled(WDFREQUEST Request)
{
    LOG("canceled\n");
    Complete(Request, STATUS_CANCELLED, 0);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    WDF_INTERRUPT_INFO info = {sizeof(info)};
    PIRP irp;

    (void)Input;
    switch (Code) {
    case DELETE_:
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Interrupts[0]);
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Queue);
        break;
    case LOCK:
        WDF(WDFINTERRUPTACQUIRELOCK, WdfInterruptAcquireLock, Interrupts[0]);
        LOG("locked, irql %u\n", Irql());
        WDF(WDFINTERRUPTRELEASELOCK, WdfInterruptReleaseLock, Interrupts[0]);
        LOG("synchronised: %d, irql %u\n",
            WDF(WDFINTERRUPTSYNCHRONIZE, WdfInterruptSynchronize, Interrupts[0], Synchronized, (WDFCONTEXT)6), Irql());
        WDF(WDFINTERRUPTGETINFO, WdfInterruptGetInfo, Interrupts[0], &info);
        LOG("vector %x, irql %u, message %u\n", info.Vector, info.Irql, info.MessageSignaled);
        break;
    case INFO:
        WDF(WDFINTERRUPTGETINFO, WdfInterruptGetInfo, Interrupts[0], &info);
        LOG("info: processors %x, number %u, vector %x, irql %u, mode %u, polarity %u, message %u, share %u, object %d\n",
            (ULONG)info.TargetProcessorSet, info.MessageNumber, info.Vector, info.Irql, info.Mode, info.Polarity,
            info.MessageSignaled, info.ShareDisposition,
            WDF(WDFINTERRUPTWDMGETINTERRUPT, WdfInterruptWdmGetInterrupt, Interrupts[0]) != NULL);
        WDF(WDFINTERRUPTGETINFO, WdfInterruptGetInfo, Interrupts[1], &info);
        LOG("info: processors %x, number %u, vector %x\n", (ULONG)info.TargetProcessorSet, info.MessageNumber, info.Vector);
        break;
    case SYNC:
        WDF(WDFINTERRUPTSYNCHRONIZE, WdfInterruptSynchronize, Interrupts[0], Synchronized, (WDFCONTEXT)6);
        break;
    case ACQUIRE:
        WDF(WDFINTERRUPTACQUIRELOCK, WdfInterruptAcquireLock, Interrupts[0]);
        LOG("acquired, irql %u\n", Irql());
        WDF(WDFINTERRUPTRELEASELOCK, WdfInterruptReleaseLock, Interrupts[0]);
        break;
    case ENABLE:
        WDF(WDFINTERRUPTENABLE, WdfInterruptEnable, Interrupts[0]);
        break;
    case DISABLE:
        WDF(WDFINTERRUPTDISABLE, WdfInterruptDisable, Interrupts[0]);
        break;
    case POLICY:
        WDF(WDFINTERRUPTSETPOLICY, WdfInterruptSetPolicy, Interrupts[0], 9, WdfIrqPriorityNormal, 1);
        WDF(WDFINTERRUPTSETPOLICY, WdfInterruptSetPolicy, Interrupts[0], WdfIrqPolicyMachineDefault, 0, 1);
        break;
    case TWICE:
        WDF(WDFINTERRUPTDISABLE, WdfInterruptDisable, Interrupts[0]);
        WDF(WDFINTERRUPTENABLE, WdfInterruptEnable, Interrupts[0]);
        Claims = !Claims;
        break;
    case KEEP:
        WDF(WDFREQUESTMARKCANCELABLE, WdfRequestMarkCancelable, Request, Canceled);
        return;
    case PACKET:
        irp = WDF(WDFREQUESTWDMGETIRP, WdfRequestWdmGetIrp, Request);
        LOG("packet: major %x, code %x\n", IoGetCurrentIrpStackLocation(irp)->MajorFunction,
            IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode);
        break;
    case COUNTED: {
        UCHAR *out, *in;

        if (Output >= 2 && WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, 2, (PVOID *)&out, NULL) >= 0 &&
            WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, 1, (PVOID *)&in, NULL) >= 0) {
            out[1] = in[0];
            Complete(Request, 0, 2);
            return;
        }
        break;
    }
    }
    Complete(Request, 0, 0);
}

static NTSTATUS NTAPI Counted(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    (void)Device;
    LOG("completion routine: %x, %u bytes, context %u\n", Irp->IoStatus.Status, (ULONG)Irp->IoStatus.Information,
        (ULONG)(ULONG_PTR)Context);
    if (Irp->PendingReturned) {
        IoMarkIrpPending(Irp);
    }
    return 0;
}

/* Gets IRPs before the framework does. */
static NTSTATUS NTAPI Preprocess(WDFDEVICE Device, PIRP Irp)
{
    PIO_STACK_LOCATION place = IoGetCurrentIrpStackLocation(Irp);
    ULONG code = place->Parameters.DeviceIoControl.IoControlCode;

    LOG("packet %x.%x\n", place->MajorFunction, place->MinorFunction);
    if (place->MajorFunction == IRP_MJ_DEVICE_CONTROL && code == REFUSED) {
        Irp->IoStatus.Status = STATUS_ACCESS_DENIED;
        Irp->IoStatus.Information = 0;
        IofCompleteRequest(Irp, 0);
        return STATUS_ACCESS_DENIED;
    }
    if (place->MajorFunction == IRP_MJ_DEVICE_CONTROL && code == COUNTED) {
        PIO_STACK_LOCATION next = place - 1;

        __builtin_memcpy(next, place, __builtin_offsetof(IO_STACK_LOCATION, CompletionRoutine));
        next->Control = 0xE0;
        next->CompletionRoutine = Counted;
        next->Context = (PVOID)8;
        return WDF(WDFDEVICEWDMDISPATCHPREPROCESSEDIRP, WdfDeviceWdmDispatchPreprocessedIrp, Device, Irp);
    }
#if BUG != 2
    IoSkipCurrentIrpStackLocation(Irp);
#endif
    return WDF(WDFDEVICEWDMDISPATCHPREPROCESSEDIRP, WdfDeviceWdmDispatchPreprocessedIrp, Device, Irp);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS power = {0};
    WDF_INTERRUPT_CONFIG config;
    /* IRP_MN_START_DEVICE, IRP_MN_QUERY_REMOVE_DEVICE, IRP_MN_REMOVE_DEVICE, IRP_MN_SURPRISE_REMOVAL */
    UCHAR minors[] = {0, 1, 2, 0x17};
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    power.Size = sizeof(power);
    power.EvtDevicePrepareHardware = Prepare;
    power.EvtDeviceD0Entry = D0Entry;
    power.EvtDeviceD0Exit = D0Exit;
#if BUG == 5 || BUG == 6
    power.EvtDeviceReleaseHardware = Release;
#endif
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &power);
#if BUG == 2 || BUG == 3
    WDF(WDFDEVICEINITASSIGNWDMIRPPREPROCESSCALLBACK, WdfDeviceInitAssignWdmIrpPreprocessCallback, Init, Preprocess,
        IRP_MJ_DEVICE_CONTROL, NULL, 0);
    WDF(WDFDEVICEINITASSIGNWDMIRPPREPROCESSCALLBACK, WdfDeviceInitAssignWdmIrpPreprocessCallback, Init, Preprocess,
        IRP_MJ_CREATE, NULL, 0);
    WDF(WDFDEVICEINITASSIGNWDMIRPPREPROCESSCALLBACK, WdfDeviceInitAssignWdmIrpPreprocessCallback, Init, Preprocess,
        IRP_MJ_PNP, minors, sizeof(minors));
#else
    (void)Preprocess, (void)minors;
#endif
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    Initialize(&config);
#if BUG == 6
    config.InterruptRaw = config.InterruptTranslated = (PVOID)&config;
    LOG("too early %x\n", WDF(WDFINTERRUPTCREATE, WdfInterruptCreate, device, &config, NULL, &Interrupts[0]));
#endif
    for (int i = 0; i < 2 && BUG != 5 && BUG != 6; i++) {
        status = WDF(WDFINTERRUPTCREATE, WdfInterruptCreate, device, &config, NULL, &Interrupts[i]);
        if (status < 0) {
            return status;
        }
    }
    return CreateControlQueue(device, WdfIoQueueDispatchParallel, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
