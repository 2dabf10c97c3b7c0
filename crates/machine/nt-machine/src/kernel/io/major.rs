//! The major functions of IRPs, as `wdm.h` numbers them: `IRP_MJ_…`.

pub(crate) const CREATE: u8 = 0x00;
pub(crate) const CLOSE: u8 = 0x02;
pub(crate) const READ: u8 = 0x03;
pub(crate) const WRITE: u8 = 0x04;
pub(crate) const QUERY_INFORMATION: u8 = 0x05;
pub(crate) const SET_INFORMATION: u8 = 0x06;
pub(crate) const QUERY_EA: u8 = 0x07;
pub(crate) const SET_EA: u8 = 0x08;
pub(crate) const FLUSH_BUFFERS: u8 = 0x09;
pub(crate) const QUERY_VOLUME_INFORMATION: u8 = 0x0A;
pub(crate) const DIRECTORY_CONTROL: u8 = 0x0C;
pub(crate) const FILE_SYSTEM_CONTROL: u8 = 0x0D;
pub(crate) const DEVICE_CONTROL: u8 = 0x0E;
pub(crate) const INTERNAL_DEVICE_CONTROL: u8 = 0x0F;
pub(crate) const SHUTDOWN: u8 = 0x10;
pub(crate) const CLEANUP: u8 = 0x12;
pub(crate) const QUERY_SECURITY: u8 = 0x14;
pub(crate) const SET_SECURITY: u8 = 0x15;
pub(crate) const POWER: u8 = 0x16;
pub(crate) const SYSTEM_CONTROL: u8 = 0x17;
pub(crate) const PNP: u8 = 0x1B;
