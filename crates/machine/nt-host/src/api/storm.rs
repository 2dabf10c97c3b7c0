//! Loads and unloads a driver many times while threads send it requests.

use etw_types::Guid;

use super::NtHost;
use crate::Error;
use crate::report::Report;
use crate::wire::{Request, StormPlan};

/// The parameters of [`NtHost::storm`].
#[derive(Clone, Debug)]
pub struct Storm {
    /// How many times the driver is loaded and unloaded.
    pub rounds: u32,
    /// The number of threads that send control requests.
    pub threads: u32,
    /// The number of requests of each thread in each round.
    pub requests: u32,
    /// The provider that is enabled, requested to log its state, and disabled, as fast as possible.
    pub provider: Guid,
    /// The control code of the requests.
    pub code: u32,
    /// The input of the requests.
    pub input: Vec<u8>,
    /// The size of the output buffer of each request.
    pub output: u32,
}

impl NtHost {
    /// Loads the driver, sends requests from several threads while a session enables and disables the provider, and
    /// unloads the driver, many times. The driver must not be loaded.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine or cannot be loaded.
    pub fn storm(&self, storm: &Storm) -> Result<Report, Error> {
        let plan = StormPlan {
            rounds: storm.rounds,
            threads: storm.threads,
            requests: storm.requests,
            provider: storm.provider,
            code: storm.code,
            input: storm.input.clone(),
            output: storm.output,
        };
        self.call_for_status(&Request::Storm { plan })?;
        Ok(self.report())
    }
}
