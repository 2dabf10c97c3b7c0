//! Cryptography API: Next Generation (CNG) for drivers: the `BCrypt` routines of `cng.sys` and `ksecdd.sys`.
//!
//! A driver opens an algorithm provider (`provider`) and creates hashes (`hash`) or keys (`key`) with it; keys encrypt
//! and decrypt (`cipher`). `algorithm` has the algorithms, `digest` and `block` what they compute: these two are
//! plain functions over the crates of `RustCrypto` and know nothing of drivers. All state is in `state`.
//!
//! This is written from Microsoft's public documentation. Names and numbers are compared with Microsoft's metadata.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// The tests read Microsoft's metadata through pointers.
#![cfg_attr(not(test), forbid(unsafe_code))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]

mod algorithm;
mod block;
mod cipher;
mod digest;
mod hash;
mod key;
mod property;
mod provider;
mod state;

use nt_verifier::routine::Routine;

pub use state::{State, attach, forget};

/// The routines of `cng.sys`. `ksecdd.sys` exports them as well.
pub const ROUTINES: &[&[Routine]] =
    &[cipher::ROUTINES, hash::ROUTINES, key::ROUTINES, property::ROUTINES, provider::ROUTINES];
