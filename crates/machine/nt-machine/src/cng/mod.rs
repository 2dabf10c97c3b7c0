//! Cryptography API: Next Generation (CNG) for drivers: the `BCrypt` routines of `cng.sys` and `ksecdd.sys`.
//!
//! A driver opens an algorithm provider ([`provider`]) and creates hashes ([`hash`]) or keys ([`key`]) with it; keys encrypt
//! and decrypt ([`cipher`]). [`algorithm`] has the algorithms, [`digest`] and [`block`] what they compute: these two are
//! plain functions over the crates of `RustCrypto` and know nothing of drivers. All state is in [`state`].
//!
//! This is written from Microsoft's public documentation. Names and numbers are compared with Microsoft's metadata.

mod algorithm;
mod block;
mod cipher;
mod digest;
mod hash;
mod key;
mod property;
mod provider;
mod state;

pub(crate) use state::{State, attach, forget};

use crate::routine::Routine;

/// The routines of `cng.sys`. `ksecdd.sys` exports them as well.
pub(crate) const ROUTINES: &[&[Routine]] =
    &[cipher::ROUTINES, hash::ROUTINES, key::ROUTINES, property::ROUTINES, provider::ROUTINES];
