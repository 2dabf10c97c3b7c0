/* Records of 64-bit systems that differ from those of 32-bit ones, whose fields the metadata has. Only bodies: names and
 * pointers are generated as for every other record. */

struct _KDEVICE_QUEUE {
    CSHORT Type;
    CSHORT Size;
    LIST_ENTRY DeviceListHead;
    KSPIN_LOCK Lock;
#if defined(_AMD64_)
    union {
        BOOLEAN Busy;
        struct { LONG64 Reserved : 8; LONG64 Hint : 56; };
    };
#else
    BOOLEAN Busy;
#endif
};

