/* A minifilter that changes the target of a request, which the types of the kit must allow. */

#include <fltKernel.h>

FLT_PREOP_CALLBACK_STATUS FLTAPI Redirect(_Inout_ PFLT_CALLBACK_DATA Data, _In_ PCFLT_RELATED_OBJECTS Objects,
                                          _Flt_CompletionContext_Outptr_ PVOID *CompletionContext)
{
    *CompletionContext = NULL;
    if (FLT_IS_IRP_OPERATION(Data)) {
        Data->Iopb->TargetFileObject = Objects->FileObject;
        FltSetCallbackDataDirty(Data);
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
}
