//! The shared state under loom's model checker: each model runs under every order in which its threads' operations can be
//! seen.
//!
//! `cargo xtask test` runs them, as does
//! `RUSTFLAGS="--cfg loom" cargo test --target-dir target/loom --lib -p wdk-etw -p etw-engine models`.

mod enable;
mod lifecycle;
