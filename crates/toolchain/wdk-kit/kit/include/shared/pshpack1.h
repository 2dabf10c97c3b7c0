/* Packs the structures that follow to 1 byte, until poppack.h. */
#pragma pack(push, 1)
