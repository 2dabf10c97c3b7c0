/* Packs the structures that follow to 8 bytes, until poppack.h. */
#pragma pack(push, 8)
