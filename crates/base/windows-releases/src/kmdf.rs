//! KMDF versions.

use std::fmt;

/// A version of the Kernel-Mode Driver Framework. The major version is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kmdf {
    /// The minor version.
    pub minor: u32,
    /// The number of functions in the framework's function table.
    pub functions: u32,
}

impl Kmdf {
    const fn new(minor: u32, functions: u32) -> Self {
        Self { minor, functions }
    }

    /// Windows 7.
    pub const V1_9: Self = Self::new(9, 396);
    /// Windows 8.
    pub const V1_11: Self = Self::new(11, 432);
    /// Windows 8.1.
    pub const V1_13: Self = Self::new(13, 438);
    /// Windows 10 1507.
    pub const V1_15: Self = Self::new(15, 444);
    /// Windows 10 1511.
    pub const V1_17: Self = Self::new(17, 444);
    /// Windows 10 1607.
    pub const V1_19: Self = Self::new(19, 446);
    /// Windows 10 1703.
    pub const V1_21: Self = Self::new(21, 448);
    /// Windows 10 1709.
    pub const V1_23: Self = Self::new(23, 451);
    /// Windows 10 1803. The first version that binds drivers built for a newer framework.
    pub const V1_25: Self = Self::new(25, 453);
    /// Windows 10 1809.
    pub const V1_27: Self = Self::new(27, 453);
    /// Windows 10 1903.
    pub const V1_29: Self = Self::new(29, 454);
    /// Windows 10 2004.
    pub const V1_31: Self = Self::new(31, 458);
    /// Windows 11 and Server 2022.
    pub const V1_33: Self = Self::new(33, 458);

    /// Every released version, oldest first. The first four are older than Windows 7; newer frameworks still bind
    /// drivers that were built for them.
    #[rustfmt::skip]
    pub const RELEASED: [Self; 17] = [
        Self::new(0, 383), Self::new(1, 386), Self::new(5, 387), Self::new(7, 387),
        Self::V1_9, Self::V1_11, Self::V1_13, Self::V1_15, Self::V1_17, Self::V1_19, Self::V1_21, Self::V1_23,
        Self::V1_25, Self::V1_27, Self::V1_29, Self::V1_31, Self::V1_33,
    ];

    /// The newest version.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    pub const NEWEST: Self = Self::RELEASED[Self::RELEASED.len() - 1];
}

impl fmt::Display for Kmdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("1.{}", self.minor))
    }
}
