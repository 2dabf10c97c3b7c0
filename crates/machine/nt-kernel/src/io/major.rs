//! The major functions of IRPs, as `wdm.h` numbers them: `IRP_MJ_…`.

pub const CREATE: u8 = 0x00;
pub const CLOSE: u8 = 0x02;
pub const READ: u8 = 0x03;
pub const WRITE: u8 = 0x04;
pub const QUERY_INFORMATION: u8 = 0x05;
pub const SET_INFORMATION: u8 = 0x06;
pub const QUERY_EA: u8 = 0x07;
pub const SET_EA: u8 = 0x08;
pub const FLUSH_BUFFERS: u8 = 0x09;
pub const QUERY_VOLUME_INFORMATION: u8 = 0x0A;
pub const DIRECTORY_CONTROL: u8 = 0x0C;
pub const FILE_SYSTEM_CONTROL: u8 = 0x0D;
pub const DEVICE_CONTROL: u8 = 0x0E;
pub const INTERNAL_DEVICE_CONTROL: u8 = 0x0F;
pub(crate) const SHUTDOWN: u8 = 0x10;
pub const CLEANUP: u8 = 0x12;
pub const QUERY_SECURITY: u8 = 0x14;
pub const SET_SECURITY: u8 = 0x15;
pub const POWER: u8 = 0x16;
pub const SYSTEM_CONTROL: u8 = 0x17;
pub const PNP: u8 = 0x1B;
