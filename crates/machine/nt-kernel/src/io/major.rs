//! The major functions of IRPs, as `wdm.h` numbers them: `IRP_MJ_…`.

/// `IRP_MJ_CREATE`.
pub const CREATE: u8 = 0x00;
/// `IRP_MJ_CLOSE`.
pub const CLOSE: u8 = 0x02;
/// `IRP_MJ_READ`.
pub const READ: u8 = 0x03;
/// `IRP_MJ_WRITE`.
pub const WRITE: u8 = 0x04;
/// `IRP_MJ_QUERY_INFORMATION`.
pub const QUERY_INFORMATION: u8 = 0x05;
/// `IRP_MJ_SET_INFORMATION`.
pub const SET_INFORMATION: u8 = 0x06;
/// `IRP_MJ_QUERY_EA`.
pub const QUERY_EA: u8 = 0x07;
/// `IRP_MJ_SET_EA`.
pub const SET_EA: u8 = 0x08;
/// `IRP_MJ_FLUSH_BUFFERS`.
pub const FLUSH_BUFFERS: u8 = 0x09;
/// `IRP_MJ_QUERY_VOLUME_INFORMATION`.
pub const QUERY_VOLUME_INFORMATION: u8 = 0x0A;
/// `IRP_MJ_DIRECTORY_CONTROL`.
pub const DIRECTORY_CONTROL: u8 = 0x0C;
/// `IRP_MJ_FILE_SYSTEM_CONTROL`.
pub const FILE_SYSTEM_CONTROL: u8 = 0x0D;
/// `IRP_MJ_DEVICE_CONTROL`.
pub const DEVICE_CONTROL: u8 = 0x0E;
/// `IRP_MJ_INTERNAL_DEVICE_CONTROL`.
pub const INTERNAL_DEVICE_CONTROL: u8 = 0x0F;
/// `IRP_MJ_SHUTDOWN`.
pub(crate) const SHUTDOWN: u8 = 0x10;
/// `IRP_MJ_CLEANUP`.
pub const CLEANUP: u8 = 0x12;
/// `IRP_MJ_QUERY_SECURITY`.
pub const QUERY_SECURITY: u8 = 0x14;
/// `IRP_MJ_SET_SECURITY`.
pub const SET_SECURITY: u8 = 0x15;
/// `IRP_MJ_POWER`.
pub const POWER: u8 = 0x16;
/// `IRP_MJ_SYSTEM_CONTROL`.
pub const SYSTEM_CONTROL: u8 = 0x17;
/// `IRP_MJ_PNP`.
pub const PNP: u8 = 0x1B;
