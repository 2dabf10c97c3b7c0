/* The part of the framework's C interface that is not in its function table: contexts, and the functions that fill structures with
 * their defaults. wdf.h includes it.
 *
 * Written from Microsoft's documentation; the defaults are facts from Microsoft's public headers for KMDF 1.33. */
#pragma once

#if !defined(WDK_KIT_NO_ROUTINES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES) && !defined(WDF_STUB)

#define WDF_NO_OBJECT_ATTRIBUTES NULL
#define WDF_NO_EVENT_CALLBACK NULL
#define WDF_NO_HANDLE NULL
#define WDF_NO_CONTEXT NULL
#define WDF_NO_SEND_OPTIONS NULL
#define WDF_INSERT_AT_END ((ULONG)-1)
#define IdleTimeoutDefaultValue ((ULONG)0)

/* Other names of the callbacks for an object's end. */
typedef EVT_WDF_OBJECT_CONTEXT_CLEANUP EVT_WDF_DEVICE_CONTEXT_CLEANUP, EVT_WDF_IO_QUEUE_CONTEXT_CLEANUP_CALLBACK, EVT_WDF_FILE_CONTEXT_CLEANUP_CALLBACK;
typedef EVT_WDF_OBJECT_CONTEXT_DESTROY EVT_WDF_DEVICE_CONTEXT_DESTROY, EVT_WDF_IO_QUEUE_CONTEXT_DESTROY_CALLBACK, EVT_WDF_FILE_CONTEXT_DESTROY_CALLBACK;

/* Times in units of 100 ns. Negative ones are relative. */
#define WDF_TIMEOUT_TO_US ((LONGLONG)10)
#define WDF_TIMEOUT_TO_MS (WDF_TIMEOUT_TO_US * 1000)
#define WDF_TIMEOUT_TO_SEC (WDF_TIMEOUT_TO_MS * 1000)
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_SEC(ULONGLONG Time) { return -(LONGLONG)Time * WDF_TIMEOUT_TO_SEC; }
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_MS(ULONGLONG Time) { return -(LONGLONG)Time * WDF_TIMEOUT_TO_MS; }
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_US(ULONGLONG Time) { return -(LONGLONG)Time * WDF_TIMEOUT_TO_US; }
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_SEC(ULONGLONG Time) { return (LONGLONG)Time * WDF_TIMEOUT_TO_SEC; }
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_MS(ULONGLONG Time) { return (LONGLONG)Time * WDF_TIMEOUT_TO_MS; }
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_US(ULONGLONG Time) { return (LONGLONG)Time * WDF_TIMEOUT_TO_US; }
FORCEINLINE size_t WDF_ALIGN_SIZE_DOWN(size_t Length, size_t Alignment) { return Length & ~(Alignment - 1); }
FORCEINLINE size_t WDF_ALIGN_SIZE_UP(size_t Length, size_t Alignment) { return WDF_ALIGN_SIZE_DOWN(Length + Alignment - 1, Alignment); }

/* Contexts. Each type has one description in the image, and its address identifies the type. */
#define WDF_TYPE_NAME_TO_TYPE_INFO(Type) WdkKitContextType_##Type
#define WDF_GET_CONTEXT_TYPE_INFO(Type) (&WDF_TYPE_NAME_TO_TYPE_INFO(Type))
#define WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(Type, Accessor) \
    extern const WDF_OBJECT_CONTEXT_TYPE_INFO WDF_TYPE_NAME_TO_TYPE_INFO(Type); \
    DECLSPEC_SELECTANY const WDF_OBJECT_CONTEXT_TYPE_INFO WDF_TYPE_NAME_TO_TYPE_INFO(Type) = { \
        sizeof(WDF_OBJECT_CONTEXT_TYPE_INFO), #Type, sizeof(Type), &WDF_TYPE_NAME_TO_TYPE_INFO(Type), NULL }; \
    FORCEINLINE Type *Accessor(WDFOBJECT Handle) { return (Type *)WdfObjectGetTypedContextWorker(Handle, WDF_GET_CONTEXT_TYPE_INFO(Type)); }
#define WDF_DECLARE_CONTEXT_TYPE(Type) WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(Type, WdfObjectGet_##Type)
#define WdfObjectGetTypedContext(Handle, Type) ((Type *)WdfObjectGetTypedContextWorker((Handle), WDF_GET_CONTEXT_TYPE_INFO(Type)))
#define WDF_OBJECT_ATTRIBUTES_SET_CONTEXT_TYPE(Attributes, Type) ((Attributes)->ContextTypeInfo = WDF_GET_CONTEXT_TYPE_INFO(Type))
#define WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(Attributes, Type) \
    (WDF_OBJECT_ATTRIBUTES_INIT(Attributes), WDF_OBJECT_ATTRIBUTES_SET_CONTEXT_TYPE((Attributes), Type))

#define WdfObjectReference(Handle) WdfObjectReferenceActual((Handle), NULL, __LINE__, __FILE__)
#define WdfObjectReferenceWithTag(Handle, Tag) WdfObjectReferenceActual((Handle), (Tag), __LINE__, __FILE__)
#define WdfObjectDereference(Handle) WdfObjectDereferenceActual((Handle), NULL, __LINE__, __FILE__)
#define WdfObjectDereferenceWithTag(Handle, Tag) WdfObjectDereferenceActual((Handle), (Tag), __LINE__, __FILE__)
#define WdfDeviceStopIdle(Device, Wait) WdfDeviceStopIdleActual((Device), (Wait), NULL, __LINE__, __FILE__)
#define WdfDeviceResumeIdle(Device) WdfDeviceResumeIdleActual((Device), NULL, __LINE__, __FILE__)
FORCEINLINE WDFDRIVER WdfGetDriver(VOID) { return WdfDriverGlobals->Driver; }

/* States of a queue. */
FORCEINLINE BOOLEAN WDF_IO_QUEUE_IDLE(WDF_IO_QUEUE_STATE State) {
    return (State & WdfIoQueueNoRequests) != 0 && (State & WdfIoQueueDriverNoRequests) != 0;
}
FORCEINLINE BOOLEAN WDF_IO_QUEUE_READY(WDF_IO_QUEUE_STATE State) {
    return (State & WdfIoQueueDispatchRequests) != 0 && (State & WdfIoQueueAcceptRequests) != 0 && (State & WdfIoQueuePnpHeld) == 0;
}
FORCEINLINE BOOLEAN WDF_IO_QUEUE_STOPPED(WDF_IO_QUEUE_STATE State) {
    return (State & WdfIoQueueDispatchRequests) == 0 && (State & WdfIoQueueAcceptRequests) != 0 && (State & WdfIoQueueDriverNoRequests) != 0;
}
FORCEINLINE BOOLEAN WDF_IO_QUEUE_DRAINED(WDF_IO_QUEUE_STATE State) {
    return (State & WdfIoQueueAcceptRequests) == 0 && (State & WdfIoQueueDispatchRequests) != 0 && WDF_IO_QUEUE_IDLE(State);
}
FORCEINLINE BOOLEAN WDF_IO_QUEUE_PURGED(WDF_IO_QUEUE_STATE State) {
    return (State & WdfIoQueueAcceptRequests) == 0 && (State & WdfIoQueueDispatchRequests) == 0 && WDF_IO_QUEUE_IDLE(State);
}

/* Structures with their defaults: the function, the type of its first parameter, its other parameters, the fields that are not zero. */
#define WDK_KIT_INIT(Name, Type, Parameters, ...) \
    FORCEINLINE VOID Name Parameters { \
        RtlZeroMemory(This, sizeof(Type)); \
        This->Size = sizeof(Type); \
        __VA_ARGS__ \
    }
#define WDK_KIT_INIT_SIZE(Type) WDK_KIT_INIT(Type##_INIT, Type, (P##Type This))

/* Fields that KMDF 1.9 does not have. */
#if !defined(KMDF_VERSION_MINOR) || KMDF_VERSION_MINOR >= 11
#define WDK_KIT_SINCE_11(...) __VA_ARGS__
#else
#define WDK_KIT_SINCE_11(...)
#endif

WDK_KIT_INIT_SIZE(WDF_POWER_POLICY_EVENT_CALLBACKS)
WDK_KIT_INIT_SIZE(WDF_PNPPOWER_EVENT_CALLBACKS)
WDK_KIT_INIT_SIZE(WDF_FDO_EVENT_CALLBACKS)
WDK_KIT_INIT_SIZE(WDF_PDO_EVENT_CALLBACKS)
WDK_KIT_INIT_SIZE(WDF_INTERRUPT_INFO)
WDK_KIT_INIT_SIZE(WDF_REQUEST_PARAMETERS)
WDK_KIT_INIT(WDF_OBJECT_ATTRIBUTES_INIT, WDF_OBJECT_ATTRIBUTES, (PWDF_OBJECT_ATTRIBUTES This),
    This->ExecutionLevel = WdfExecutionLevelInheritFromParent; This->SynchronizationScope = WdfSynchronizationScopeInheritFromParent;)
WDK_KIT_INIT(WDF_DRIVER_CONFIG_INIT, WDF_DRIVER_CONFIG, (PWDF_DRIVER_CONFIG This, PFN_WDF_DRIVER_DEVICE_ADD EvtDriverDeviceAdd),
    This->EvtDriverDeviceAdd = EvtDriverDeviceAdd;)
WDK_KIT_INIT(WDF_DRIVER_VERSION_AVAILABLE_PARAMS_INIT, WDF_DRIVER_VERSION_AVAILABLE_PARAMS, (PWDF_DRIVER_VERSION_AVAILABLE_PARAMS This, ULONG MajorVersion, ULONG MinorVersion),
    This->MajorVersion = MajorVersion; This->MinorVersion = MinorVersion;)
WDK_KIT_INIT(WDF_FILEOBJECT_CONFIG_INIT, WDF_FILEOBJECT_CONFIG, (PWDF_FILEOBJECT_CONFIG This, PFN_WDF_DEVICE_FILE_CREATE EvtDeviceFileCreate, PFN_WDF_FILE_CLOSE EvtFileClose, PFN_WDF_FILE_CLEANUP EvtFileCleanup),
    This->EvtDeviceFileCreate = EvtDeviceFileCreate; This->EvtFileClose = EvtFileClose; This->EvtFileCleanup = EvtFileCleanup;
    This->FileObjectClass = WdfFileObjectWdfCannotUseFsContexts; This->AutoForwardCleanupClose = WdfUseDefault;)
WDK_KIT_INIT(WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS_INIT, WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS, (PWDF_DEVICE_POWER_POLICY_IDLE_SETTINGS This, WDF_POWER_POLICY_S0_IDLE_CAPABILITIES IdleCaps),
    This->UserControlOfIdleSettings = IdleAllowUserControl; This->Enabled = WdfUseDefault; This->PowerUpIdleDeviceOnSystemWake = WdfUseDefault;
    WDK_KIT_SINCE_11(This->IdleTimeoutType = DriverManagedIdleTimeout; This->ExcludeD3Cold = WdfUseDefault;) This->IdleCaps = IdleCaps;
    This->DxState = IdleCaps == IdleCanWakeFromS0 || IdleCaps == IdleUsbSelectiveSuspend ? PowerDeviceMaximum : PowerDeviceD3;)
WDK_KIT_INIT(WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS_INIT, WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, (PWDF_DEVICE_POWER_POLICY_WAKE_SETTINGS This),
    This->Enabled = WdfUseDefault; This->DxState = PowerDeviceMaximum; This->UserControlOfWakeSettings = WakeAllowUserControl;)
WDK_KIT_INIT(WDF_DEVICE_STATE_INIT, WDF_DEVICE_STATE, (PWDF_DEVICE_STATE This),
    This->Disabled = WdfUseDefault; This->DontDisplayInUI = WdfUseDefault; This->Failed = WdfUseDefault; This->NotDisableable = WdfUseDefault;
    This->Removed = WdfUseDefault; This->ResourcesChanged = WdfUseDefault;)
WDK_KIT_INIT(WDF_DEVICE_PNP_CAPABILITIES_INIT, WDF_DEVICE_PNP_CAPABILITIES, (PWDF_DEVICE_PNP_CAPABILITIES This),
    This->LockSupported = WdfUseDefault; This->EjectSupported = WdfUseDefault; This->Removable = WdfUseDefault; This->DockDevice = WdfUseDefault;
    This->UniqueID = WdfUseDefault; This->SilentInstall = WdfUseDefault; This->SurpriseRemovalOK = WdfUseDefault;
    This->HardwareDisabled = WdfUseDefault; This->NoDisplayInUI = WdfUseDefault; This->Address = (ULONG)-1; This->UINumber = (ULONG)-1;)
WDK_KIT_INIT(WDF_REMOVE_LOCK_OPTIONS_INIT, WDF_REMOVE_LOCK_OPTIONS, (PWDF_REMOVE_LOCK_OPTIONS This, ULONG Flags), This->Flags = Flags;)
WDK_KIT_INIT(WDF_IO_TYPE_CONFIG_INIT, WDF_IO_TYPE_CONFIG, (PWDF_IO_TYPE_CONFIG This),
    This->ReadWriteIoType = WdfDeviceIoBuffered; This->DeviceControlIoType = WdfDeviceIoBuffered;)
WDK_KIT_INIT(WDF_POWER_FRAMEWORK_SETTINGS_INIT, WDF_POWER_FRAMEWORK_SETTINGS, (PWDF_POWER_FRAMEWORK_SETTINGS This))
WDK_KIT_INIT(WDF_DMA_ENABLER_CONFIG_INIT, WDF_DMA_ENABLER_CONFIG, (PWDF_DMA_ENABLER_CONFIG This, WDF_DMA_PROFILE Profile, size_t MaximumLength),
    This->Profile = Profile; This->MaximumLength = MaximumLength;)
WDK_KIT_INIT(WDF_COMMON_BUFFER_CONFIG_INIT, WDF_COMMON_BUFFER_CONFIG, (PWDF_COMMON_BUFFER_CONFIG This, ULONG AlignmentRequirement),
    This->AlignmentRequirement = AlignmentRequirement;)
WDK_KIT_INIT(WDF_DPC_CONFIG_INIT, WDF_DPC_CONFIG, (PWDF_DPC_CONFIG This, PFN_WDF_DPC EvtDpcFunc),
    This->EvtDpcFunc = EvtDpcFunc; This->AutomaticSerialization = TRUE;)
WDK_KIT_INIT(WDF_WORKITEM_CONFIG_INIT, WDF_WORKITEM_CONFIG, (PWDF_WORKITEM_CONFIG This, PFN_WDF_WORKITEM EvtWorkItemFunc),
    This->EvtWorkItemFunc = EvtWorkItemFunc; This->AutomaticSerialization = TRUE;)
WDK_KIT_INIT(WDF_TIMER_CONFIG_INIT, WDF_TIMER_CONFIG, (PWDF_TIMER_CONFIG This, PFN_WDF_TIMER EvtTimerFunc),
    This->EvtTimerFunc = EvtTimerFunc; This->AutomaticSerialization = TRUE;)
WDK_KIT_INIT(WDF_TIMER_CONFIG_INIT_PERIODIC, WDF_TIMER_CONFIG, (PWDF_TIMER_CONFIG This, PFN_WDF_TIMER EvtTimerFunc, LONG Period),
    This->EvtTimerFunc = EvtTimerFunc; This->Period = Period; This->AutomaticSerialization = TRUE;)
WDK_KIT_INIT(WDF_INTERRUPT_CONFIG_INIT, WDF_INTERRUPT_CONFIG, (PWDF_INTERRUPT_CONFIG This, PFN_WDF_INTERRUPT_ISR EvtInterruptIsr, PFN_WDF_INTERRUPT_DPC EvtInterruptDpc),
    This->ShareVector = WdfUseDefault; This->EvtInterruptIsr = EvtInterruptIsr; This->EvtInterruptDpc = EvtInterruptDpc;
    WDK_KIT_SINCE_11(This->ReportInactiveOnPowerDown = WdfUseDefault;))
WDK_KIT_INIT(WDF_INTERRUPT_EXTENDED_POLICY_INIT, WDF_INTERRUPT_EXTENDED_POLICY, (PWDF_INTERRUPT_EXTENDED_POLICY This),
    This->Policy = WdfIrqPolicyMachineDefault; This->Priority = WdfIrqPriorityUndefined;)
WDK_KIT_INIT(WDF_IO_QUEUE_CONFIG_INIT, WDF_IO_QUEUE_CONFIG, (PWDF_IO_QUEUE_CONFIG This, WDF_IO_QUEUE_DISPATCH_TYPE DispatchType),
    This->PowerManaged = WdfUseDefault; This->DispatchType = DispatchType;
    This->Settings.Parallel.NumberOfPresentedRequests = DispatchType == WdfIoQueueDispatchParallel ? (ULONG)-1 : 0;)
WDK_KIT_INIT(WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE, WDF_IO_QUEUE_CONFIG, (PWDF_IO_QUEUE_CONFIG This, WDF_IO_QUEUE_DISPATCH_TYPE DispatchType),
    This->PowerManaged = WdfUseDefault; This->DefaultQueue = TRUE; This->DispatchType = DispatchType;
    This->Settings.Parallel.NumberOfPresentedRequests = DispatchType == WdfIoQueueDispatchParallel ? (ULONG)-1 : 0;)
WDK_KIT_INIT(WDF_IO_QUEUE_FORWARD_PROGRESS_POLICY_DEFAULT_INIT, WDF_IO_QUEUE_FORWARD_PROGRESS_POLICY, (PWDF_IO_QUEUE_FORWARD_PROGRESS_POLICY This, ULONG Total),
    This->TotalForwardProgressRequests = Total; This->ForwardProgressReservedPolicy = WdfIoForwardProgressReservedPolicyAlwaysUseReservedRequest;)
WDK_KIT_INIT(WDF_IO_QUEUE_FORWARD_PROGRESS_POLICY_PAGINGIO_INIT, WDF_IO_QUEUE_FORWARD_PROGRESS_POLICY, (PWDF_IO_QUEUE_FORWARD_PROGRESS_POLICY This, ULONG Total),
    This->TotalForwardProgressRequests = Total; This->ForwardProgressReservedPolicy = WdfIoForwardProgressReservedPolicyPagingIO;)
WDK_KIT_INIT(WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE, WDF_IO_TARGET_OPEN_PARAMS, (PWDF_IO_TARGET_OPEN_PARAMS This, PDEVICE_OBJECT Device),
    This->Type = WdfIoTargetOpenUseExistingDevice; This->TargetDeviceObject = Device;)
WDK_KIT_INIT(WDF_IO_TARGET_OPEN_PARAMS_INIT_CREATE_BY_NAME, WDF_IO_TARGET_OPEN_PARAMS, (PWDF_IO_TARGET_OPEN_PARAMS This, PCUNICODE_STRING Name, ACCESS_MASK Access),
    This->Type = WdfIoTargetOpenByName; This->TargetDeviceName = *Name; This->DesiredAccess = Access; This->CreateOptions = FILE_NON_DIRECTORY_FILE;)
WDK_KIT_INIT(WDF_IO_TARGET_OPEN_PARAMS_INIT_OPEN_BY_NAME, WDF_IO_TARGET_OPEN_PARAMS, (PWDF_IO_TARGET_OPEN_PARAMS This, PCUNICODE_STRING Name, ACCESS_MASK Access),
    This->Type = WdfIoTargetOpenByName; This->TargetDeviceName = *Name; This->DesiredAccess = Access; This->CreateOptions = FILE_NON_DIRECTORY_FILE;
    This->CreateDisposition = FILE_OPEN;)
WDK_KIT_INIT(WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN, WDF_IO_TARGET_OPEN_PARAMS, (PWDF_IO_TARGET_OPEN_PARAMS This), This->Type = WdfIoTargetOpenReopen;)
WDK_KIT_INIT(WDF_QUERY_INTERFACE_CONFIG_INIT, WDF_QUERY_INTERFACE_CONFIG, (PWDF_QUERY_INTERFACE_CONFIG This, PINTERFACE Interface, const GUID *InterfaceType, PFN_WDF_DEVICE_PROCESS_QUERY_INTERFACE_REQUEST Callback),
    This->Interface = Interface; This->InterfaceType = InterfaceType; This->EvtDeviceProcessQueryInterfaceRequest = Callback;)
WDK_KIT_INIT(WDF_REQUEST_COMPLETION_PARAMS_INIT, WDF_REQUEST_COMPLETION_PARAMS, (PWDF_REQUEST_COMPLETION_PARAMS This),
    This->Type = WdfRequestTypeNoFormat;)
WDK_KIT_INIT(WDF_REQUEST_REUSE_PARAMS_INIT, WDF_REQUEST_REUSE_PARAMS, (PWDF_REQUEST_REUSE_PARAMS This, ULONG Flags, NTSTATUS Status),
    This->Flags = Flags; This->Status = Status;)
WDK_KIT_INIT(WDF_REQUEST_SEND_OPTIONS_INIT, WDF_REQUEST_SEND_OPTIONS, (PWDF_REQUEST_SEND_OPTIONS This, ULONG Flags), This->Flags = Flags;)
WDK_KIT_INIT(WDF_REQUEST_FORWARD_OPTIONS_INIT, WDF_REQUEST_FORWARD_OPTIONS, (PWDF_REQUEST_FORWARD_OPTIONS This),
    This->Flags = WDF_REQUEST_FORWARD_OPTION_SEND_AND_FORGET;)
WDK_KIT_INIT(WDF_CHILD_LIST_CONFIG_INIT, WDF_CHILD_LIST_CONFIG, (PWDF_CHILD_LIST_CONFIG This, ULONG Identification, PFN_WDF_CHILD_LIST_CREATE_DEVICE Create),
    This->IdentificationDescriptionSize = Identification; This->EvtChildListCreateDevice = Create;)
WDK_KIT_INIT(WDF_CHILD_LIST_ITERATOR_INIT, WDF_CHILD_LIST_ITERATOR, (PWDF_CHILD_LIST_ITERATOR This, ULONG Flags), This->Flags = Flags;)
WDK_KIT_INIT(WDF_CHILD_RETRIEVE_INFO_INIT, WDF_CHILD_RETRIEVE_INFO, (PWDF_CHILD_RETRIEVE_INFO This, PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER Identification),
    This->IdentificationDescription = Identification;)
WDK_KIT_INIT(WDF_WMI_PROVIDER_CONFIG_INIT, WDF_WMI_PROVIDER_CONFIG, (PWDF_WMI_PROVIDER_CONFIG This, const GUID *Identifier),
    This->Guid = *Identifier;)
WDK_KIT_INIT(WDF_WMI_INSTANCE_CONFIG_INIT_PROVIDER, WDF_WMI_INSTANCE_CONFIG, (PWDF_WMI_INSTANCE_CONFIG This, WDFWMIPROVIDER Provider),
    This->Provider = Provider;)
WDK_KIT_INIT(WDF_WMI_INSTANCE_CONFIG_INIT_PROVIDER_CONFIG, WDF_WMI_INSTANCE_CONFIG, (PWDF_WMI_INSTANCE_CONFIG This, PWDF_WMI_PROVIDER_CONFIG Config),
    This->ProviderConfig = Config;)

FORCEINLINE VOID WDF_DEVICE_POWER_CAPABILITIES_INIT(PWDF_DEVICE_POWER_CAPABILITIES This) {
    ULONG Index;
    RtlZeroMemory(This, sizeof *This);
    This->Size = sizeof *This;
    This->DeviceD1 = This->DeviceD2 = This->WakeFromD0 = This->WakeFromD1 = This->WakeFromD2 = This->WakeFromD3 = WdfUseDefault;
    for (Index = 0; Index < ARRAYSIZE(This->DeviceState); Index++) {
        This->DeviceState[Index] = PowerDeviceMaximum;
    }
    This->DeviceWake = This->IdealDxStateForSx = PowerDeviceMaximum;
    This->SystemWake = PowerSystemMaximum;
    This->D1Latency = This->D2Latency = This->D3Latency = (ULONG)-1;
}

/* Structures without a size. */
FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(PWDF_MEMORY_DESCRIPTOR This, PVOID Buffer, ULONG Length) {
    RtlZeroMemory(This, sizeof *This);
    This->Type = WdfMemoryDescriptorTypeBuffer;
    This->u.BufferType.Buffer = Buffer;
    This->u.BufferType.Length = Length;
}
FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_HANDLE(PWDF_MEMORY_DESCRIPTOR This, WDFMEMORY Memory, PWDFMEMORY_OFFSET Offsets) {
    RtlZeroMemory(This, sizeof *This);
    This->Type = WdfMemoryDescriptorTypeHandle;
    This->u.HandleType.Memory = Memory;
    This->u.HandleType.Offsets = Offsets;
}
FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_MDL(PWDF_MEMORY_DESCRIPTOR This, PMDL Mdl, ULONG Length) {
    RtlZeroMemory(This, sizeof *This);
    This->Type = WdfMemoryDescriptorTypeMdl;
    This->u.MdlType.Mdl = Mdl;
    This->u.MdlType.BufferLength = Length;
}
FORCEINLINE VOID WDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER_INIT(PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER This, ULONG Size) {
    RtlZeroMemory(This, sizeof *This);
    This->IdentificationDescriptionSize = Size;
}
FORCEINLINE VOID WDF_CHILD_ADDRESS_DESCRIPTION_HEADER_INIT(PWDF_CHILD_ADDRESS_DESCRIPTION_HEADER This, ULONG Size) {
    RtlZeroMemory(This, sizeof *This);
    This->AddressDescriptionSize = Size;
}
FORCEINLINE VOID WDF_REQUEST_REUSE_PARAMS_SET_NEW_IRP(PWDF_REQUEST_REUSE_PARAMS This, PIRP Irp) {
    This->Flags |= WDF_REQUEST_REUSE_SET_NEW_IRP;
    This->NewIrp = Irp;
}
FORCEINLINE VOID WDF_REQUEST_SEND_OPTIONS_SET_TIMEOUT(PWDF_REQUEST_SEND_OPTIONS This, LONGLONG Timeout) {
    This->Flags |= WDF_REQUEST_SEND_OPTION_TIMEOUT;
    This->Timeout = Timeout;
}
#endif
