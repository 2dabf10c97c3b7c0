/* Shared code of the KMDF drivers: calls of framework functions, initialised structures, a log. */
#pragma once

#include <ntddk.h>
#include <wdf.h>

/* The version is part of the name of the function table. */
#if KMDF_VERSION_MINOR == 9
#define FUNCTIONS WdfFunctions_01009
#else
#define FUNCTIONS WdfFunctions_01033
#endif

/* Calls a framework function: its PFN_ type without the prefix, its name, its arguments. */
#define WDF(type, name, ...) ((PFN_##type)FUNCTIONS[name##TableIndex])(WdfDriverGlobals, ##__VA_ARGS__)

/* Writes a line of the log, which the tests compare. */
#define LOG(...) DbgPrint(__VA_ARGS__)

#define MILLISECONDS(count) (-(LONGLONG)(count) * 10000)

static inline ULONG Irql(void)
{
    ULONG64 irql;
    __asm__ volatile("mov %%cr8, %0" : "=r"(irql));
    return (ULONG)irql;
}

static inline void InitAttributes(WDF_OBJECT_ATTRIBUTES *attributes, WDFOBJECT parent)
{
    WDF_OBJECT_ATTRIBUTES_INIT(attributes);
    attributes->ParentObject = parent;
}

/* Creates the default queue of a device, which presents control requests. */
static inline NTSTATUS CreateControlQueue(WDFDEVICE device, WDF_IO_QUEUE_DISPATCH_TYPE type,
                                          PFN_WDF_IO_QUEUE_IO_DEVICE_CONTROL control)
{
    WDF_IO_QUEUE_CONFIG config;

    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, type);
    config.EvtIoDeviceControl = control;
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, NULL);
}

static inline void Complete(WDFREQUEST request, NTSTATUS status, ULONG_PTR information)
{
    WDF(WDFREQUESTCOMPLETEWITHINFORMATION, WdfRequestCompleteWithInformation, request, status, information);
}

static inline NTSTATUS CreateDriver(PDRIVER_OBJECT driver, PUNICODE_STRING path, PFN_WDF_DRIVER_DEVICE_ADD add)
{
    WDF_DRIVER_CONFIG config;

    WDF_DRIVER_CONFIG_INIT(&config, add);
    return WDF(WDFDRIVERCREATE, WdfDriverCreate, driver, path, NULL, &config, NULL);
}
