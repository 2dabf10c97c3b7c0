//! The processors that drivers are built for.

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86-64.
    X64,
    /// 64-bit ARM.
    Arm64,
}

impl Arch {
    /// The name on the command line and in `target/driver`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X64 => "x64",
            Self::Arm64 => "arm64",
        }
    }

    #[must_use]
    /// Returns the processor with that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::X64, Self::Arm64].into_iter().find(|arch| arch.name() == name)
    }

    /// Rust's name for the target.
    #[must_use]
    pub fn triple(self) -> &'static str {
        match self {
            Self::X64 => "x86_64-pc-windows-msvc",
            Self::Arm64 => "aarch64-pc-windows-msvc",
        }
    }
}
