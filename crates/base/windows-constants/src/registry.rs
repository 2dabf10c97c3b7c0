//! Keys and values of the registry.

constants! {
    "Types of values, wdm.h."
    u32 {
        REG_SZ = 1,
        REG_EXPAND_SZ = 2,
        REG_DWORD = 4,
        REG_MULTI_SZ = 7,
    }

    "Results of creating a key, wdm.h."
    u32 {
        REG_CREATED_NEW_KEY = 1,
        REG_OPENED_EXISTING_KEY = 2,
    }

    "Changes that `ZwNotifyChangeKey` waits for, wdm.h."
    u32 {
        REG_NOTIFY_CHANGE_NAME = 0x1,
        REG_NOTIFY_CHANGE_LAST_SET = 0x4,
    }

    "`KEY_INFORMATION_CLASS`, wdm.h."
    i32 {
        KeyBasicInformation = 0,
        KeyNodeInformation = 1,
        KeyFullInformation = 2,
        KeyNameInformation = 3,
    }

    "Parameters and flags of `RtlQueryRegistryValues`, wdm.h."
    u32 {
        RTL_REGISTRY_HANDLE = 0x4000_0000,
        RTL_REGISTRY_OPTIONAL = 0x8000_0000,
        RTL_QUERY_REGISTRY_SUBKEY = 0x1,
        RTL_QUERY_REGISTRY_TOPKEY = 0x2,
        RTL_QUERY_REGISTRY_REQUIRED = 0x4,
        RTL_QUERY_REGISTRY_NOEXPAND = 0x10,
        RTL_QUERY_REGISTRY_DIRECT = 0x20,
        RTL_QUERY_REGISTRY_TYPECHECK = 0x100,
    }
}
