//! Session control for the host's ETW: `etw_session` on the engine that the driver writes to.
//!
//! Every call is forwarded to the child; nothing is decided here. Calls that may call the driver back are queued with
//! the requests to the driver. All others use a separate connection. No call on that connection waits: a waiting
//! consumer polls, so it blocks neither requests nor other calls.

use std::env;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use etw_etl::{Clock, Event};
use etw_session::{Control as Code, EnableRequest, EventSource, Machine, Polled, Refusal, System, Target, poll};
use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

use super::NtHost;
use super::host::Inner;
use crate::child::control::STOPPED;
use crate::wire::{Answer, Control, Enablement, Reply, Request};

/// The process that runs the driver is gone or does not reply.
const GONE: Win32Error = Win32Error::ProcessAborted;

impl NtHost {
    /// Returns the ETW that the driver writes to, for session control: sessions with files or in real time, providers
    /// with filters, and every information class. It can be used before the driver is loaded and after it was unloaded;
    /// the process lives at least as long as the returned value.
    ///
    /// After the driver has stopped the machine, calls return `ERROR_SYSTEM_PROCESS_TERMINATED` (591). If the process
    /// is gone, they return `ERROR_PROCESS_ABORTED` (1067). In the first case, the files of sessions are completed; in
    /// the second, they can be read up to the last buffer that was written.
    ///
    /// ```no_run
    /// use etw_session::Machine;
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// assert!(Machine::with(host.system()).sessions().is_ok());
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn system(&self) -> Arc<dyn System> {
        Arc::new(HostSystem(Arc::clone(self.inner())))
    }

    /// Returns [`NtHost::system`] as a machine.
    ///
    /// ```no_run
    /// use etw_session::{Enable, Properties};
    /// use etw_types::{Guid, Level};
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("driver_sample.sys").prepare()?;
    /// let machine = host.machine();
    /// let session = machine.start(&Properties::new("trace").file("trace.etl"))?;
    /// session.provider(Guid::from_name("WdkEtw.DriverSample")).enable(&Enable::new(Level::Verbose))?;
    /// host.load()?;
    /// host.unload()?.assert_clean();
    /// session.stop()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn machine(&self) -> Machine {
        Machine::with(self.system())
    }
}

struct HostSystem(Arc<Inner>);

impl HostSystem {
    fn call(&self, call: Control) -> Result<Answer, Win32Error> {
        if !call.calls_back() {
            return self.0.process.control(&call).map_err(|_| GONE);
        }
        match self.0.process.call(&Request::Control { call }) {
            Ok(Reply::Control { answer }) => Ok(answer),
            Ok(Reply::Stopped {}) => Err(STOPPED),
            _ => Err(GONE),
        }
    }

    /// Makes a call that returns a code, a number and possibly data.
    fn number(&self, call: Control) -> (Result<(), Win32Error>, u64, Vec<u8>) {
        match self.call(call) {
            Ok(Answer::Code { code: 0, number, data }) => (Ok(()), number, data),
            Ok(Answer::Code { code, number, data }) => (Err(Win32Error::from_int(code)), number, data),
            Ok(_) => (Err(GONE), 0, Vec::new()),
            Err(error) => (Err(error), 0, Vec::new()),
        }
    }

    fn sized(&self, call: Control, buffer: &mut [u8]) -> Result<usize, Refusal> {
        let (result, number, data) = self.number(call);
        put(buffer, &data);
        let needed = number as usize;
        result.map(|()| needed).map_err(|code| Refusal { code, needed })
    }
}

/// Copies the block or buffer back as the child left it.
fn put(buffer: &mut [u8], data: &[u8]) {
    if buffer.len() == data.len() {
        buffer.copy_from_slice(data);
    }
}

/// Returns the current directory of the caller, which may differ from the child's.
fn dir() -> Vec<u8> {
    env::current_dir().unwrap_or_default().into_os_string().into_vec()
}

impl System for HostSystem {
    fn start_trace(&self, name: &str, block: &mut [u8]) -> Result<u64, Win32Error> {
        let call = Control::Start { dir: dir(), name: name.to_owned(), block: block.to_vec() };
        let (result, handle, data) = self.number(call);
        put(block, &data);
        result.map(|()| handle)
    }

    fn control_trace(&self, target: Target<'_>, control: Code, block: &mut [u8]) -> Result<(), Win32Error> {
        let (handle, name) = match target {
            Target::Handle(handle) => (handle, None),
            Target::Name(name) => (0, Some(name.to_owned())),
        };
        let call = Control::Trace { dir: dir(), handle, name, code: control as u32, block: block.to_vec() };
        let (result, _, data) = self.number(call);
        put(block, &data);
        result
    }

    fn query_all_traces(&self, template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error> {
        match self.call(Control::QueryAll { template: template.to_vec() })? {
            Answer::Blocks { blocks } => Ok(blocks),
            Answer::Code { code, .. } => Err(Win32Error::from_int(code)),
            _ => Err(GONE),
        }
    }

    fn enable_trace(&self, session: u64, request: &EnableRequest<'_>) -> Result<(), Win32Error> {
        let request = Enablement {
            provider: request.provider,
            source: request.source,
            control: request.control.as_int(),
            level: request.level.as_int(),
            any: request.any,
            all: request.all,
            timeout: request.timeout,
            property: request.property,
            filters: request.filters.to_vec(),
        };
        self.number(Control::Enable { session, request }).0
    }

    fn set_information(&self, session: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Win32Error> {
        self.number(Control::Set { session, class: class.as_int(), data: data.to_vec() }).0
    }

    fn query_information(&self, session: u64, class: TraceInfoClass, buffer: &mut [u8]) -> Result<usize, Refusal> {
        self.sized(Control::Query { session, class: class.as_int(), buffer: buffer.to_vec() }, buffer)
    }

    fn enumerate(&self, class: TraceInfoClass, input: &[u8], buffer: &mut [u8]) -> Result<usize, Refusal> {
        let call = Control::Enumerate { class: class.as_int(), input: input.to_vec(), buffer: buffer.to_vec() };
        self.sized(call, buffer)
    }

    fn consume(&self, name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
        match self.call(Control::Consume { name: name.to_owned() })? {
            Answer::Consumer { consumer, clock } => {
                let remote = Remote { system: Self(Arc::clone(&self.0)), consumer, clock };
                Ok(poll(move || remote.next()))
            }
            Answer::Code { code, .. } => Err(Win32Error::from_int(code)),
            _ => Err(GONE),
        }
    }

    fn file_error(&self, session: u64) -> Option<String> {
        let (result, _, data) = self.number(Control::FileError { session });
        result.ok().and_then(|()| String::from_utf8(data).ok()).filter(|error| !error.is_empty())
    }

    fn enable_profile_privilege(&self) -> Result<(), Win32Error> {
        self.number(Control::Privilege {}).0
    }

    fn description(&self) -> &'static str {
        "the ETW of a driver's host"
    }

    fn caveat(&self) -> Option<&'static str> {
        Some("There is no Windows here: sessions begin and end with the process that runs the driver.")
    }
}

/// A consumer in the child.
struct Remote {
    system: HostSystem,
    consumer: u64,
    clock: Clock,
}

impl Remote {
    fn next(&self) -> Polled {
        match self.system.call(Control::Receive { consumer: self.consumer }) {
            Ok(Answer::Records { records, .. }) if records.is_empty() => Polled::Nothing,
            Ok(Answer::Records { processor, records }) => {
                let event = |record: &Vec<u8>| Event::from_record(record, processor, &self.clock);
                Polled::Buffer(records.iter().filter_map(event).collect())
            }
            Ok(Answer::End {}) => Polled::End,
            Ok(Answer::Code { code, .. }) => Polled::Failed(Win32Error::from_int(code)),
            Ok(_) => Polled::Failed(GONE),
            Err(error) => Polled::Failed(error),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // If the child is gone, so is the consumer.
        let _ = self.system.call(Control::Disconnect { consumer: self.consumer });
    }
}
