//! How loom's models are compiled, for tests and for clippy.

/// Crates with loom models of their lock-free state. They are built in a separate folder, because loom's flag would
/// rebuild everything in the usual one.
pub(super) const LOOM_CRATES: [&str; 7] =
    ["--target-dir", "target/loom", "--lib", "--package", "wdk-etw", "--package", "etw-engine"];
pub(super) const LOOM_FLAGS: &str = "--cfg loom";
