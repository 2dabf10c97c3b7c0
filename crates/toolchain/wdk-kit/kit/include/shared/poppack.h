/* Ends what pshpack1.h and its siblings began. */
#pragma pack(pop)
