//! The messages.

use etw_types::{Guid, NtStatus};
use nt_machine::{Answer as IoAnswer, IoRequest, Notification, WmiRequest};

use super::Wire;
use super::control::{Answer, Control};

/// Makes an enum of messages that can be sent.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident { $($field:ident: $type:ty),* } = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant { $($field: $type),* },)*
        }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.push($number);
                        $($field.put(out);)*
                    })*
                }
            }

            fn get(from: &mut &[u8]) -> Option<Self> {
                match u8::get(from)? {
                    $($number => Some(Self::$variant { $($field: Wire::get(from)?),* }),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use messages;

messages! {
    /// What is asked of the process that runs the driver.
    Request {
        /// Map the driver and call its entry point.
        Load {} = 1,
        /// Call its unload routine.
        Unload {} = 2,
        /// Find a device for it: plug and play, or one that it made by itself.
        AddDevice {} = 3,
        /// Take a device away.
        RemoveDevice { device: u64 } = 4,
        /// A request from its begin to its end.
        Io { device: u64, request: IoRequest } = 5,
        /// Start a session.
        Session { name: String } = 8,
        /// Enable a provider, or a group of them.
        Enable { session: u32, provider: Guid, level: u8, any: u64, all: u64, group: bool } = 9,
        /// Disable it.
        Disable { session: u32, provider: Guid } = 10,
        /// Ask it for its state.
        CaptureState { session: u32, provider: Guid } = 11,
        /// What a session took. Session 0 takes everything.
        Events { session: u32 } = 12,
        /// Let time pass, in 100 ns units.
        Advance { time: u64 } = 13,
        /// Do many things at once.
        Storm { plan: StormPlan } = 14,
        /// How often each routine that can fail was called.
        Calls {} = 15,
        /// A call of session control that may call the driver back.
        Control { call: Control } = 16,
        /// Begin a request; the answer is its number.
        Begin { device: u64, request: IoRequest } = 17,
        /// Open a device; the answer is the number of the file.
        Open { device: u64 } = 6,
        /// Open a device by name or symbolic link.
        OpenName { name: String } = 7,
        /// Close a file.
        Close { file: u64 } = 23,
        /// Begin a request to an open file; the answer is its number.
        BeginOn { file: u64, request: IoRequest } = 24,
        /// Cancel a request that was begun.
        Cancel { number: u64 } = 18,
        /// Wait for the end of a request that was begun.
        Finish { number: u64 } = 19,
        /// Send a device to sleep or wake it up.
        SetPower { device: u64, on: bool } = 20,
        /// Pull a device out.
        SurpriseRemove { device: u64 } = 21,
        /// Raise an interrupt of a device.
        Interrupt { device: u64, number: u32 } = 26,
        /// Ask a device by way of WMI.
        Wmi { device: u64, asked: WmiRequest } = 27,
        /// How many events were written.
        Written {} = 22,
        /// Tell the driver what happens in the system.
        Notify { notification: Notification } = 25,
    }
}

messages! {
    /// What it returns.
    Reply {
        /// Done, with a status.
        Status { status: NtStatus } = 1,
        /// A request's end.
        Completed { answer: IoAnswer } = 2,
        /// A device or a session.
        Number { number: u64 } = 3,
        /// Where the file ends that has the records of events, and how many of the session's were lost.
        Events { end: u64, lost: u64 } = 4,
        /// Routines with the number of their calls.
        Calls { calls: Vec<(String, u64)> } = 5,
        /// The run ended with a bug check.
        Stopped {} = 6,
        /// The host could not do it.
        Failed { reason: String } = 7,
        /// What came of a call of session control.
        Control { answer: Answer } = 8,
        /// What came of a notification.
        Told { called: u32, status: NtStatus, access: u32 } = 10,
        /// Whether a routine took an interrupt; there is none if nobody is connected.
        Interrupted { claimed: Option<bool> } = 11,
        /// This Windows does not load the driver.
        NotLoaded { status: NtStatus, reason: String } = 9,
    }
}

impl Request {
    /// How many times over the driver may take the time that it is allowed for one thing.
    pub(crate) fn rounds(&self) -> u32 {
        match self {
            Self::Storm { plan } => plan.rounds.max(1),
            _ => 1,
        }
    }
}

/// What a storm does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StormPlan {
    /// Times that the driver is loaded and unloaded.
    pub(crate) rounds: u32,
    /// Threads that send control requests.
    pub(crate) threads: u32,
    /// Requests of each thread and round.
    pub(crate) requests: u32,
    /// The provider that is enabled, disabled and asked for its state.
    pub(crate) provider: Guid,
    /// The control request: code, input, room for output.
    pub(crate) code: u32,
    pub(crate) input: Vec<u8>,
    pub(crate) output: u32,
}

impl Wire for StormPlan {
    fn put(&self, out: &mut Vec<u8>) {
        for value in [self.rounds, self.threads, self.requests, self.code, self.output] {
            value.put(out);
        }
        self.provider.put(out);
        self.input.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            rounds: u32::get(from)?,
            threads: u32::get(from)?,
            requests: u32::get(from)?,
            code: u32::get(from)?,
            output: u32::get(from)?,
            provider: Guid::get(from)?,
            input: Vec::get(from)?,
        })
    }
}
