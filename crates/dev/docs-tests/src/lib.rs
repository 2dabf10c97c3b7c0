//! Tests of the documentation.
//!
//! | what | where |
//! |---|---|
//! | the targets of links and anchors exist | `tests/builds/links.rs` |
//! | commands and their flags exist | `tests/builds/commands.rs` |
//! | Rust code compiles, and runs where it can | documentation tests of this file |
//! | the tutorial works, block by block | `tests/builds/tutorial.rs` |
//! | drivers on other pages are built and run | `tests/builds/guides.rs` |
//! | every public item of what a driver links is shown by an example | `tests/builds/examples.rs` |
//!
//! This crate reads Markdown ([`markdown`]) as far as these tests need it. It never changes a page.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests: what goes wrong fails the test"
)]

#[cfg(unix)]
pub mod follow;
pub mod markdown;

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/set-information.md")]
mod set_information {}
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/registration.md")]
mod registration {}
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/sessions.md")]
mod sessions {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/cargo-driver.md")]
mod cargo_driver {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/testing-with-nt-host.md")]
mod testing_with_nt_host {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/wfp.md")]
mod wfp {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/hardware.md")]
mod hardware {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/hid.md")]
mod hid {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/cryptography.md")]
mod cryptography {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/minifilters.md")]
mod minifilters {}
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../../../../docs/fuzzing.md")]
mod fuzzing {}
