//! Models of the shared state for loom, a model checker. Loom runs each model with every order in which the threads'
//! operations can become visible.
//!
//! `cargo xtask test` runs them, as does
//! `RUSTFLAGS="--cfg loom" cargo test --target-dir target/loom --lib -p wdk-etw -p etw-engine models`.

mod enable;
mod lifecycle;
mod rundown;
