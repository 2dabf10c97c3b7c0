/* Packs the structures that follow to 4 bytes, until poppack.h. */
#pragma pack(push, 4)
