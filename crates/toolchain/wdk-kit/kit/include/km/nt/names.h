/* Names of types that the metadata replaces by the types behind them, and callbacks whose parameters the metadata does not have. */
#pragma once

typedef ULONG ACCESS_MASK, *PACCESS_MASK;
typedef ULONG DEVICE_TYPE;
typedef ULONG SECURITY_INFORMATION, *PSECURITY_INFORMATION;
typedef USHORT SECURITY_DESCRIPTOR_CONTROL, *PSECURITY_DESCRIPTOR_CONTROL;
typedef PVOID PACCESS_TOKEN;
typedef ULONG64 POOL_FLAGS;
/* POOL_TYPE is declared later, so its parameter is an int here. */
struct _LOOKASIDE_LIST_EX;
typedef PVOID ALLOCATE_FUNCTION_EX(int PoolType, SIZE_T NumberOfBytes, ULONG Tag, struct _LOOKASIDE_LIST_EX *Lookaside);
typedef ALLOCATE_FUNCTION_EX *PALLOCATE_FUNCTION_EX;
typedef VOID FREE_FUNCTION_EX(PVOID Buffer, struct _LOOKASIDE_LIST_EX *Lookaside);
typedef FREE_FUNCTION_EX *PFREE_FUNCTION_EX;
/* RTL_RUN_ONCE under its name in user mode, which the metadata uses. */
typedef union _RTL_RUN_ONCE INIT_ONCE, *PINIT_ONCE;
typedef ULONGLONG REGHANDLE, *PREGHANDLE;
typedef ULONG_PTR KSPIN_LOCK, *PKSPIN_LOCK;
typedef ULONG_PTR EX_PUSH_LOCK, *PEX_PUSH_LOCK;
typedef LONG EX_SPIN_LOCK, *PEX_SPIN_LOCK;
typedef ULONG_PTR ERESOURCE_THREAD, *PERESOURCE_THREAD;
typedef ULONG PFN_COUNT;
typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;
typedef LONGLONG USN;
/* The metadata has the numbers with the types of the values added, which only source-code analysis uses. */
typedef enum DEVICE_REGISTRY_PROPERTY {
    DevicePropertyDeviceDescription = 0, DevicePropertyHardwareID = 1, DevicePropertyCompatibleIDs = 2, DevicePropertyBootConfiguration = 3,
    DevicePropertyBootConfigurationTranslated = 4, DevicePropertyClassName = 5, DevicePropertyClassGuid = 6, DevicePropertyDriverKeyName = 7,
    DevicePropertyManufacturer = 8, DevicePropertyFriendlyName = 9, DevicePropertyLocationInformation = 10,
    DevicePropertyPhysicalDeviceObjectName = 11, DevicePropertyBusTypeGuid = 12, DevicePropertyLegacyBusType = 13, DevicePropertyBusNumber = 14,
    DevicePropertyEnumeratorName = 15, DevicePropertyAddress = 16, DevicePropertyUINumber = 17, DevicePropertyInstallState = 18,
    DevicePropertyRemovalPolicy = 19, DevicePropertyResourceRequirements = 20, DevicePropertyAllocatedResources = 21, DevicePropertyContainerID = 22
} DEVICE_REGISTRY_PROPERTY;
typedef enum COMPARTMENT_ID { UNSPECIFIED_COMPARTMENT_ID = 0, DEFAULT_COMPARTMENT_ID = 1 } COMPARTMENT_ID, *PCOMPARTMENT_ID;
typedef ULONG FLT_REGISTRATION_FLAGS, FLT_OPERATION_REGISTRATION_FLAGS, FLT_CONTEXT_REGISTRATION_FLAGS, FLT_FILTER_UNLOAD_FLAGS;
typedef ULONG FLT_INSTANCE_SETUP_FLAGS, FLT_INSTANCE_QUERY_TEARDOWN_FLAGS, FLT_INSTANCE_TEARDOWN_FLAGS, FLT_CALLBACK_DATA_FLAGS;
typedef ULONG FLT_POST_OPERATION_FLAGS, FLT_IO_OPERATION_FLAGS, FLT_NORMALIZE_NAME_FLAGS, FLT_FILE_NAME_OPTIONS;
typedef USHORT FLT_CONTEXT_TYPE;
/* FLT_PORT_CONNECT and STANDARD_RIGHTS_ALL. */
#define FLT_PORT_ALL_ACCESS 0x001F0001
typedef LONG USBD_STATUS;
typedef PVOID USBD_PIPE_HANDLE, USBD_CONFIGURATION_HANDLE, USBD_INTERFACE_HANDLE;

/* Types of exported variables. */
typedef struct _OBJECT_TYPE *POBJECT_TYPE;
typedef struct _KPROCESS *PEPROCESS;
typedef struct _PEB *PPEB;
typedef struct _SE_EXPORTS *PSE_EXPORTS;

/* Pointer types with the prefix PR. Each is another name of the type with the prefix P. */
typedef struct _KAPC *PRKAPC;
typedef struct _KDEVICE_QUEUE *PRKDEVICE_QUEUE;
typedef struct _KDEVICE_QUEUE_ENTRY *PRKDEVICE_QUEUE_ENTRY;
typedef struct _KDPC *PRKDPC;
typedef struct _KEVENT *PRKEVENT;
typedef struct _KMUTANT *PRKMUTANT, *PKMUTEX, *PRKMUTEX;
typedef struct _KMUTANT KMUTEX;
typedef struct _KQUEUE *PRKQUEUE;
typedef struct _KSEMAPHORE *PRKSEMAPHORE;
typedef struct _KTIMER *PRKTIMER;
typedef struct _KWAIT_BLOCK *PRKWAIT_BLOCK;
typedef struct _FAST_MUTEX KGUARDED_MUTEX, *PKGUARDED_MUTEX;

typedef struct _OSVERSIONINFOW RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;
typedef struct _OSVERSIONINFOEXW RTL_OSVERSIONINFOEXW, *PRTL_OSVERSIONINFOEXW;
typedef struct _PO_FX_COMPONENT_V1 PO_FX_COMPONENT, *PPO_FX_COMPONENT;
typedef struct _EXT_SET_PARAMETERS_V0 EXT_SET_PARAMETERS, *PEXT_SET_PARAMETERS;
typedef struct _SECURITY_DESCRIPTOR *PISECURITY_DESCRIPTOR;

typedef VOID NTAPI CALLBACK_FUNCTION(PVOID CallbackContext, PVOID Argument1, PVOID Argument2);
typedef CALLBACK_FUNCTION *PCALLBACK_FUNCTION;
struct _KE_PROCESSOR_CHANGE_NOTIFY_CONTEXT;
typedef VOID NTAPI PROCESSOR_CALLBACK_FUNCTION(PVOID CallbackContext, struct _KE_PROCESSOR_CHANGE_NOTIFY_CONTEXT *ChangeContext, PNTSTATUS OperationStatus);
typedef PROCESSOR_CALLBACK_FUNCTION *PPROCESSOR_CALLBACK_FUNCTION;

/* IRQLs of 64-bit processors; the metadata has the IRQLs of 32-bit processors. */
#define PASSIVE_LEVEL 0
#define LOW_LEVEL 0
#define APC_LEVEL 1
#define DISPATCH_LEVEL 2
#define CMCI_LEVEL 5
#define CLOCK_LEVEL 13
#define IPI_LEVEL 14
#define DRS_LEVEL 14
#define POWER_LEVEL 14
#define PROFILE_LEVEL 15
#define HIGH_LEVEL 15

/* Macros that the metadata does not have. */
#define GENERIC_READ 0x80000000L
#define GENERIC_WRITE 0x40000000L
#define GENERIC_EXECUTE 0x20000000L
#define GENERIC_ALL 0x10000000L
#define MAXIMUM_ALLOWED 0x02000000L
#define FILE_SPECIAL_ACCESS 0
#define MAXIMUM_VOLUME_LABEL_LENGTH 64
#define KI_USER_SHARED_DATA 0xFFFFF78000000000ULL
#define PAGE_SIZE 0x1000
#define PAGE_SHIFT 12
#define MDL_MAPPED_TO_SYSTEM_VA 0x0001
#define MDL_PAGES_LOCKED 0x0002
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#define MDL_ALLOCATED_FIXED_SIZE 0x0008
#define MDL_PARTIAL 0x0010
#define MDL_PARTIAL_HAS_BEEN_MAPPED 0x0020
#define MDL_IO_PAGE_READ 0x0040
#define MDL_WRITE_OPERATION 0x0080
#define MDL_IO_SPACE 0x0800
#define MDL_NETWORK_HEADER 0x1000
#define MDL_MAPPING_CAN_FAIL 0x2000
#define DPFLTR_ERROR_LEVEL 0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL 2
#define DPFLTR_INFO_LEVEL 3
#define DPFLTR_MASK 0x80000000
