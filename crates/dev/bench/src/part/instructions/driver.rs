//! Runs one image: registers, enables and disables it, and calls its events.

use crate::step::{Count, KernelCall, Stepper};

/// The number of event shapes, E0 to E4.
pub(super) const SHAPES: usize = 5;

const NAME: &[u8; 16] = b"sixteen letters.";
const HANDLE: u64 = 0x1234_5678;
const ENABLE: u64 = 1;
const DISABLE: u64 = 0;
/// A level above that of the events.
const LEVEL: u64 = 5;
const EVERYTHING: u64 = u64::MAX;
/// A keyword that no event has.
const OTHER: u64 = 1 << 40;

/// The measurements of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) disabled: u64,
    pub(super) mismatch: Option<u64>,
    pub(super) enabled: u64,
    pub(super) descriptors: u64,
    pub(super) stack: u64,
    pub(super) payload: Vec<u8>,
}

/// The measurements of an event that is written through a facade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::part) struct Facade {
    pub(in crate::part) disabled: u64,
    pub(in crate::part) enabled: u64,
    /// Calls of `memcpy` and similar routines, whose instructions are not counted.
    pub(in crate::part) library: u64,
    pub(in crate::part) stack: u64,
}

/// A registered image.
pub(in crate::part) struct Driver {
    stepper: Stepper,
    kernel: Kernel,
    data: Data,
}

/// The addresses of the fields' values.
#[derive(Clone, Copy)]
struct Data {
    text: u64,
    units: u64,
    values: u64,
    guid: u64,
}

/// The calls that the image made to the kernel.
#[derive(Default)]
struct Kernel {
    callback: u64,
    context: u64,
    written: Vec<Written>,
    unknown: Option<String>,
    /// Number of calls of routines that do not belong to ETW; `None` if there must be none.
    library: Option<u64>,
}

struct Written {
    descriptors: u64,
    payload: Vec<u8>,
}

impl Kernel {
    fn handle(&mut self, call: &KernelCall<'_>) -> u64 {
        match call.routine {
            "EtwRegister" => {
                (self.callback, self.context) = (call.argument(1), call.argument(2));
                if !call.memory().put(call.argument(3), &HANDLE.to_le_bytes()) {
                    self.unknown = Some(String::from("EtwRegister: the pointer to the handle is not valid"));
                }
            }
            // No routine is found by name, so the traits are not set. That does not change the events.
            "MmGetSystemRoutineAddress" | "EtwSetInformation" => {}
            "EtwWriteTransfer" => self.write(call, call.argument(4), call.argument(5)),
            _ if self.library.is_some() => return self.library(call),
            other => self.unknown = Some(format!("the image called {other}, whose instructions were not counted")),
        }
        0
    }

    /// Implements the kernel's routines for compilers and for facades.
    fn library(&mut self, call: &KernelCall<'_>) -> u64 {
        self.library = self.library.map(|calls| calls + 1);
        let first = call.argument(0);
        let second = call.argument(1);
        let third = call.argument(2);
        let length = usize::try_from(third).unwrap_or_default();
        let memory = call.memory();
        let done = match call.routine {
            "memcpy" | "memmove" => memory.bytes(second, length).is_some_and(|bytes| memory.put(first, &bytes)),
            "memset" => memory.put(first, &vec![second.to_le_bytes()[0]; length]),
            "memcmp" => {
                let left = memory.bytes(first, length);
                let right = memory.bytes(second, length);
                return u64::from(left != right);
            }
            "__chkstk" => true,
            "KeGetCurrentThread" => return HANDLE,
            "EtwActivityIdControl" => memory.put(second, &[0x5A; 16]),
            _ => false,
        };
        if !done {
            self.unknown = Some(format!("the image called {}, whose instructions were not counted", call.routine));
        }
        first
    }

    /// Copies the event's bytes as the kernel would.
    fn write(&mut self, call: &KernelCall<'_>, count: u64, data: u64) {
        let count = count & u64::from(u32::MAX);
        let mut payload = Vec::new();
        for index in 0..count {
            let at = data + 16 * index;
            let memory = call.memory();
            let bytes = memory.u64(at).zip(memory.u64(at + 8)).and_then(|(pointer, size)| {
                let length = usize::try_from(size & u64::from(u32::MAX)).ok()?;
                // If the length is 0, nothing is read.
                if length == 0 { Some(Vec::new()) } else { memory.bytes(pointer, length) }
            });
            match bytes {
                Some(bytes) => payload.extend(bytes),
                None => self.unknown = Some(String::from("an event points outside of the image's memory")),
            }
        }
        if call.argument(0) != HANDLE {
            self.unknown = Some(String::from("an event was written with another handle"));
        }
        self.written.push(Written { descriptors: count, payload });
    }
}

impl Driver {
    pub(super) fn new(file: &[u8]) -> Result<Self, String> {
        Self::with(file, Kernel::default())
    }

    /// Creates a driver whose image may also call the kernel's routines for compilers. These calls are counted, but not
    /// their instructions.
    pub(in crate::part) fn with_library(file: &[u8]) -> Result<Self, String> {
        Self::with(file, Kernel { library: Some(0), ..Kernel::default() })
    }

    fn with(file: &[u8], kernel: Kernel) -> Result<Self, String> {
        let mut stepper = Stepper::new(file)?;
        let units: Vec<u8> = NAME.iter().flat_map(|&letter| u16::from(letter).to_le_bytes()).collect();
        let values: Vec<u8> = (1_u32..=4).flat_map(u32::to_le_bytes).collect();
        let data = Data {
            text: stepper.keep(NAME)?,
            units: stepper.keep(&units)?,
            values: stepper.keep(&values)?,
            guid: stepper.keep(&[0x5A; 16])?,
        };
        let mut driver = Self { stepper, kernel, data };
        driver.call("start", &[])?;
        if driver.kernel.callback == 0 {
            return Err(String::from("the image did not register its provider"));
        }
        Ok(driver)
    }

    fn call(&mut self, name: &str, arguments: &[u64]) -> Result<Count, String> {
        let function = self.stepper.export(name).ok_or_else(|| format!("the image exports no `{name}`"))?;
        self.run(function, arguments).map_err(|error| format!("{name}: {error}"))
    }

    fn run(&mut self, function: u64, arguments: &[u64]) -> Result<Count, String> {
        let kernel = &mut self.kernel;
        let count = self.stepper.call(function, arguments, &mut |call| kernel.handle(call))?;
        kernel.unknown.take().map_or(Ok(count), Err)
    }

    /// Calls the enable callback as ETW does.
    fn control(&mut self, code: u64, any: u64) -> Result<(), String> {
        let source = self.data.guid;
        let arguments = [source, code, LEVEL, any, 0, 0, self.kernel.context];
        self.run(self.kernel.callback, &arguments).map(drop)
    }

    /// Measures one event.
    pub(super) fn measure(&mut self, shape: usize, keyword: u32) -> Result<Measured, String> {
        let name = format!("e{shape}_k{keyword}");
        let arguments = self.arguments(shape);
        self.control(DISABLE, 0)?;
        let disabled = self.silent(&name, &arguments)?;
        let mismatch = if keyword == 0 {
            None
        } else {
            self.control(ENABLE, OTHER)?;
            Some(self.silent(&name, &arguments)?)
        };
        self.control(ENABLE, EVERYTHING)?;
        let enabled = self.call(&name, &arguments)?;
        let written: Vec<Written> = self.kernel.written.drain(..).collect();
        let [Written { descriptors, payload }] =
            <[Written; 1]>::try_from(written).map_err(|_| format!("{name} was not written exactly once"))?;
        let name = format!("E{shape} k{keyword}");
        Ok(Measured {
            name,
            disabled,
            mismatch,
            enabled: enabled.instructions,
            descriptors,
            stack: enabled.stack,
            payload,
        })
    }

    /// Measures an event that is written through a facade: `message`, or `values` with a number and 16 letters.
    pub(in crate::part) fn facade(&mut self, name: &str) -> Result<Facade, String> {
        let arguments = [7, self.data.text, NAME.len() as u64];
        self.control(DISABLE, 0)?;
        let disabled = self.silent(name, &arguments)?;
        self.control(ENABLE, EVERYTHING)?;
        // What happens only once per call site is not part of an event.
        self.call(name, &arguments)?;
        self.kernel.written.clear();
        self.kernel.library = Some(0);
        let enabled = self.call(name, &arguments)?;
        if self.kernel.written.drain(..).count() != 1 {
            return Err(format!("{name} was not written exactly once"));
        }
        let library = self.kernel.library.unwrap_or_default();
        Ok(Facade { disabled, enabled: enabled.instructions, library, stack: enabled.stack })
    }

    /// Calls an event that must not be written.
    fn silent(&mut self, name: &str, arguments: &[u64]) -> Result<u64, String> {
        let count = self.call(name, arguments)?;
        if self.kernel.written.is_empty() {
            Ok(count.instructions)
        } else {
            Err(format!("{name} was written although it is not enabled"))
        }
    }

    /// Returns the number of instructions that a disabled event adds to one iteration of a loop.
    pub(super) fn round(&mut self, keyword: u32, rounds: u64) -> Result<f64, String> {
        self.control(DISABLE, 0)?;
        let name = format!("loop_k{keyword}");
        let text = self.data.text;
        let length = NAME.len() as u64;
        // Subtracts the count for n iterations from that for 2n, which removes everything that happens only once.
        let mut event = |rounds| self.silent(&name, &[rounds, 5, text, length]);
        let full = event(2 * rounds)?.saturating_sub(event(rounds)?);
        let mut nothing = |rounds| self.silent("loop_empty", &[rounds]);
        let empty = nothing(2 * rounds)?.saturating_sub(nothing(rounds)?);
        #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
        Ok(full.saturating_sub(empty) as f64 / rounds as f64)
    }

    fn arguments(&self, shape: usize) -> Vec<u64> {
        let Data { text, units, values, guid } = self.data;
        let length = NAME.len() as u64;
        match shape {
            0 => vec![],
            1 => vec![0x1122_3344],
            2 => vec![7, 0x1122_3344_5566_7788, text, length],
            3 => vec![1, 443, 7, 0x1122_3344_5566_7788, 42, 1, units, length, values, 4],
            _ => vec![1, 2, 3, guid, text, length, units, length],
        }
    }
}
