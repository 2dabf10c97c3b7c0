/* A minifilter that changes the target of a request, which the types of the kit must allow. */

#include <fltKernel.h>

/* The offsets that follow from POINTER_ALIGNMENT in the documentation: each parameter is in a word of its own. */
#define AT(member, offset) C_ASSERT(FIELD_OFFSET(FLT_PARAMETERS, member) == (offset))
AT(Create.Options, 8);
AT(Create.FileAttributes, 16);
AT(Create.ShareAccess, 18);
AT(Create.EaLength, 24);
AT(Create.AllocationSize, 40);
AT(Read.Key, 8);
AT(Read.ByteOffset, 16);
AT(Read.ReadBuffer, 24);
AT(Read.MdlAddress, 32);
AT(Write.WriteBuffer, 24);
AT(QueryFileInformation.FileInformationClass, 8);
AT(QueryFileInformation.InfoBuffer, 16);
AT(SetFileInformation.ParentOfTarget, 16);
AT(SetFileInformation.InfoBuffer, 32);
AT(QueryVolumeInformation.VolumeBuffer, 16);
AT(DirectoryControl.QueryDirectory.FileInformationClass, 16);
AT(DirectoryControl.QueryDirectory.DirectoryBuffer, 32);
AT(DirectoryControl.QueryDirectory.MdlAddress, 40);
AT(FileSystemControl.Buffered.SystemBuffer, 24);
AT(DeviceIoControl.Direct.OutputMdlAddress, 40);
C_ASSERT(sizeof(FLT_PARAMETERS) == 48);
C_ASSERT(sizeof(FLT_IO_PARAMETER_BLOCK) == 0x48);

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
