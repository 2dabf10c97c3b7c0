/* The class extension for controllers of simple peripheral buses: from Microsoft's documentation of spbcx.h. Its functions are inline in a WDK. */
#pragma once

#include "spb.h"
#include "wdf.h"

#ifndef WDK_KIT_NO_TYPES
DECLARE_HANDLE(SPBREQUEST);
DECLARE_HANDLE(SPBTARGET);

typedef enum _SPB_REQUEST_TYPE {
    SpbRequestTypeUndefined,
    SpbRequestTypeRead,
    SpbRequestTypeWrite,
    SpbRequestTypeSequence,
    SpbRequestTypeLockController,
    SpbRequestTypeUnlockController,
    SpbRequestTypeLockConnection,
    SpbRequestTypeUnlockConnection,
    SpbRequestTypeOther,
    SpbRequestTypeMax
} SPB_REQUEST_TYPE, *PSPB_REQUEST_TYPE;

typedef enum _SPB_REQUEST_SEQUENCE_POSITION {
    SpbRequestSequencePositionInvalid,
    SpbRequestSequencePositionSingle,
    SpbRequestSequencePositionFirst,
    SpbRequestSequencePositionContinue,
    SpbRequestSequencePositionLast,
    SpbRequestSequencePositionMax
} SPB_REQUEST_SEQUENCE_POSITION, *PSPB_REQUEST_SEQUENCE_POSITION;

typedef NTSTATUS EVT_SPB_TARGET_CONNECT(WDFDEVICE Controller, SPBTARGET Target);
typedef VOID EVT_SPB_TARGET_DISCONNECT(WDFDEVICE Controller, SPBTARGET Target);
typedef VOID EVT_SPB_CONTROLLER_LOCK(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST LockRequest);
typedef VOID EVT_SPB_CONTROLLER_UNLOCK(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST UnlockRequest);
typedef VOID EVT_SPB_CONTROLLER_READ(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST Request, size_t Length);
typedef VOID EVT_SPB_CONTROLLER_WRITE(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST Request, size_t Length);
typedef VOID EVT_SPB_CONTROLLER_SEQUENCE(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST Request, ULONG TransferCount);
typedef VOID EVT_SPB_CONTROLLER_OTHER(WDFDEVICE Controller, SPBTARGET Target, SPBREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength, ULONG IoControlCode);

typedef EVT_SPB_TARGET_CONNECT *PFN_SPB_TARGET_CONNECT;
typedef EVT_SPB_TARGET_DISCONNECT *PFN_SPB_TARGET_DISCONNECT;
typedef EVT_SPB_CONTROLLER_LOCK *PFN_SPB_CONTROLLER_LOCK;
typedef EVT_SPB_CONTROLLER_UNLOCK *PFN_SPB_CONTROLLER_UNLOCK;
typedef EVT_SPB_CONTROLLER_READ *PFN_SPB_CONTROLLER_READ;
typedef EVT_SPB_CONTROLLER_WRITE *PFN_SPB_CONTROLLER_WRITE;
typedef EVT_SPB_CONTROLLER_SEQUENCE *PFN_SPB_CONTROLLER_SEQUENCE;
typedef EVT_SPB_CONTROLLER_OTHER *PFN_SPB_CONTROLLER_OTHER;

typedef struct _SPB_CONTROLLER_CONFIG {
    ULONG Size;
    WDF_IO_QUEUE_DISPATCH_TYPE ControllerDispatchType;
    WDF_TRI_STATE PowerManaged;
    PFN_SPB_TARGET_CONNECT EvtSpbTargetConnect;
    PFN_SPB_TARGET_DISCONNECT EvtSpbTargetDisconnect;
    PFN_SPB_CONTROLLER_LOCK EvtSpbControllerLock;
    PFN_SPB_CONTROLLER_UNLOCK EvtSpbControllerUnlock;
    PFN_SPB_CONTROLLER_READ EvtSpbIoRead;
    PFN_SPB_CONTROLLER_WRITE EvtSpbIoWrite;
    PFN_SPB_CONTROLLER_SEQUENCE EvtSpbIoSequence;
} SPB_CONTROLLER_CONFIG, *PSPB_CONTROLLER_CONFIG;

typedef struct _SPB_CONNECTION_PARAMETERS {
    USHORT Size;
    PCWSTR ConnectionTag;
    PVOID ConnectionParameters;
} SPB_CONNECTION_PARAMETERS, *PSPB_CONNECTION_PARAMETERS;

typedef struct _SPB_REQUEST_PARAMETERS {
    USHORT Size;
    SPB_REQUEST_TYPE Type;
    SPB_REQUEST_SEQUENCE_POSITION Position;
    SPB_TRANSFER_DIRECTION PreviousTransferDirection;
    size_t Length;
    ULONG SequenceTransferCount;
} SPB_REQUEST_PARAMETERS, *PSPB_REQUEST_PARAMETERS;

typedef struct SPB_TRANSFER_DESCRIPTOR {
    USHORT Size;
    SPB_TRANSFER_DIRECTION Direction;
    size_t TransferLength;
    ULONG DelayInUs;
} SPB_TRANSFER_DESCRIPTOR, *PSPB_TRANSFER_DESCRIPTOR;
#endif
