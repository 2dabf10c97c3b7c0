//! The integration tests of `etw-engine`, one module for each subject, linked once.
#![cfg(test)]

mod activity_ids;
mod any_bytes;
mod any_sequence;
mod binary_tracking;
mod capture_state;
mod clock;
mod common;
mod concurrency;
mod groups;
mod information_classes;
mod killed_process;
mod merging;
mod periodic_capture;
mod properties_block;
mod reentrancy;
mod registration_lifecycle;
mod script_and_record;
mod session_buffering;
mod session_control;
mod session_enumeration;
mod session_extended;
mod session_file;
mod session_files;
mod session_filters;
mod session_information;
mod session_properties;
mod session_real_time;
mod session_sequence;
mod storm;
mod synchronous_callback;
mod write_content;
mod write_limits;
