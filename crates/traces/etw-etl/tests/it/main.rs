//! The integration tests of `etw-etl`, one module for each subject, linked once.
#![cfg(test)]

mod common;
mod corpus;
mod genuine;
mod growing;
mod hostile;
mod interfaces;
mod inventory;
mod kernel_stacks;
mod killed;
mod layouts;
mod live_records;
mod names;
mod owners;
mod packets;
mod page;
mod pktmon;
mod round_trip;
mod schemas;
mod trace_event;
mod witnesses;
