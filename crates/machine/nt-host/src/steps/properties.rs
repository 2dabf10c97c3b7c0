//! What the fuzzer asks of a step: its data, its request, how long it takes.

use nt_machine::{IoRequest, Packet};

use super::{FileStep, Step};

/// Finds some data of a step, to change it.
pub(crate) type DataMut = fn(&mut Step) -> Option<&mut Vec<u8>>;

impl Step {
    /// Returns the request that the step sends.
    pub(crate) const fn request(&self) -> Option<&IoRequest> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(request),
            _ => None,
        }
    }

    /// Returns the request that the step sends, to change it.
    pub(crate) const fn request_mut(&mut self) -> Option<&mut IoRequest> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(request),
            _ => None,
        }
    }

    /// Returns whether the step reaches the driver through what it filters: files or traffic.
    pub(crate) const fn is_filtered(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Connect { .. } | Self::Transfer { .. } | Self::Packet { .. })
    }

    /// Returns the data that the step sends.
    pub(crate) const fn data(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&request.input),
            Self::Memory { data, .. } | Self::Transfer { data, .. } | Self::Packet { packet: Packet { data, .. } } => {
                Some(data)
            }
            Self::File { step } => step.data(),
            _ => None,
        }
    }

    /// Returns the data that the step sends, to change it.
    pub(crate) const fn data_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&mut request.input),
            Self::Memory { data, .. } | Self::Transfer { data, .. } | Self::Packet { packet: Packet { data, .. } } => {
                Some(data)
            }
            Self::File { step } => step.data_mut(),
            _ => None,
        }
    }

    /// Returns the data in the step's output buffer, if it reaches the driver, to change it.
    pub(crate) fn output_data_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.request_mut().filter(|request| request.sends_output()).map(|request| &mut request.output_data)
    }

    /// Returns the size of the step's output buffer, to change it.
    pub(crate) const fn output_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Request { request } | Self::Begin { request } => Some(&mut request.output),
            Self::File {
                step: FileStep::Read { length } | FileStep::Query { length, .. } | FileStep::Send { output: length, .. },
            } => Some(length),
            _ => None,
        }
    }

    /// Returns about how many requests take as long as the step.
    pub(crate) const fn cost(&self) -> u64 {
        match self {
            Self::Open { .. } | Self::Close {} | Self::File { .. } | Self::Packet { .. } => 2,
            Self::Together { .. } | Self::Wait { .. } | Self::Connect { .. } => 10,
            Self::Sleep {} | Self::Wake {} | Self::Rebalance {} | Self::AddDevice {} => 20,
            // The device is added again.
            Self::Remove {} | Self::SurpriseRemove {} => 40,
            _ => 1,
        }
    }
}
