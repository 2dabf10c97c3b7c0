/* What Microsoft's metadata lacks of fltKernel.h. */
#pragma once

#include "fltUserStructures.h"

#ifndef WDK_KIT_NO_TYPES
typedef IO_CSQ_IRP_CONTEXT FLT_CALLBACK_DATA_QUEUE_IO_CONTEXT, *PFLT_CALLBACK_DATA_QUEUE_IO_CONTEXT;
#endif

/* Code that can also be in other drivers asks for this name. */
#define __FLTKERNEL__
#define FLTAPI NTAPI
#define FLT_TAG_DATA_BUFFER_HEADER_SIZE FIELD_OFFSET(FLT_TAG_DATA_BUFFER, GenericReparseBuffer)
#define FLT_MAX_TRANSACTION_NOTIFICATIONS 0x3fffffff
#define FLT_VARIABLE_SIZED_CONTEXTS ((SIZE_T)-1)
#define FLT_IS_IRP_OPERATION(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_IRP_OPERATION) != 0)
#define FLT_IS_FASTIO_OPERATION(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_FAST_IO_OPERATION) != 0)
#define FLT_IS_FS_FILTER_OPERATION(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_FS_FILTER_OPERATION) != 0)
#define FLT_IS_REISSUED_IO(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_REISSUED_IO) != 0)
#define FLT_IS_SYSTEM_BUFFER(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_SYSTEM_BUFFER) != 0)
#define FLT_CALLBACK_DATA_IS_DIRTY(Data) (((Data)->Flags & FLTFL_CALLBACK_DATA_DIRTY) != 0)
#define FltGetFileNameFormat(Options) ((Options) & 0xff)
#define FltGetFileNameQueryMethod(Options) ((Options) & 0xff00)
#define NULL_CONTEXT ((PFLT_CONTEXT)NULL)
