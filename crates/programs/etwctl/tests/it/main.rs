//! The integration tests of `etwctl`, one module for each subject, linked once.
#![cfg(test)]

#[cfg(unix)]
mod collector;
mod command_line;
mod common;
mod comparing;
#[cfg(feature = "parquet")]
mod damaged;
#[cfg(not(windows))]
mod doctor;
mod dotnet;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod driver;
#[cfg(unix)]
mod interrupt;
#[cfg(not(windows))]
mod manifest;
#[cfg(not(windows))]
mod otlp;
#[cfg(feature = "parquet")]
mod parquet;
mod pdb;
mod processor_time;
mod reading;
#[cfg(not(windows))]
mod recording;
mod renamed;
mod schemas;
#[cfg(not(windows))]
mod selected_spans;
mod sessions;
mod several;
mod summaries;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(windows)]
mod windows;
#[cfg(not(windows))]
mod wine;
