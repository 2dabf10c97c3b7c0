//! The versions of Windows that brought information classes.

/// A version of Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Its name.
    pub name: &'static str,
    /// Its build.
    pub build: u32,
}

macro_rules! versions {
    ($($version:ident = $name:literal, $build:literal;)*) => {$(
        #[doc = $name]
        pub const $version: Windows = Windows { name: $name, build: $build };
    )*};
}

versions! {
    VISTA = "Vista", 6000;
    WIN7 = "Windows 7", 7600;
    WIN8 = "Windows 8", 9200;
    WIN10 = "Windows 10", 10240;
    WIN10_1709 = "Windows 10 1709", 16299;
    WIN10_1903 = "Windows 10 1903", 18362;
    WIN10_21H2 = "Windows 10 21H2", 19044;
    WIN10_22H2 = "Windows 10 22H2", 19045;
    SERVER_23H2 = "Server 23H2", 25398;
    NEVER = "-", 0xFFFF_FFFF;
}
