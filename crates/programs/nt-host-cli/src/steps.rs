//! The options that are steps of clients.

use std::path::PathBuf;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use command_line::units::duration;
use nt_machine::{IoRequest, Packet, RequestKind};

use super::file_steps::file_step;
use super::network;
use super::values::{below, bytes, number, remote};
use nt_host::{Error, Step};

/// The size of the largest memory of a client in bytes.
const LARGEST: u32 = 16 << 20;

/// The options that are steps. [`Steps`] keeps their order on the command line.
#[derive(Args)]
#[command(next_help_heading = "What clients do, in the order of the command line")]
struct StepOptions {
    /// Open a device by its name or symbolic link: \\.\Name, \Device\Name
    #[arg(long, value_name = "NAME", value_parser = StringValueParser::new().map(|name| Step::Open { name: Some(name) }))]
    open: Vec<Step>,
    /// Open the driver's device
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Open { name: None }))]
    open_device: Vec<Step>,
    /// Send the following requests to the N-th device that was opened; by default, to the last one
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, "a handle: handles count").map(|number| Step::Handle { number }))]
    handle: Vec<Step>,
    /// Close the device
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Close {}))]
    close: Vec<Step>,
    /// Send a control request, with room for LENGTH bytes of output (default: 4096), which hold DATA (not with
    /// `METHOD_BUFFERED`); opens the device for it if none is open
    #[arg(long, value_name = "CODE[:HEX][/[LENGTH][:DATA]]", value_parser = |text: &str| sent(control(RequestKind::DEVICE_CONTROL, text)))]
    ioctl: Vec<Step>,
    /// Send an internal control request
    #[arg(long, value_name = "CODE[:HEX][/[LENGTH][:DATA]]", value_parser = |text: &str| sent(control(RequestKind::INTERNAL_DEVICE_CONTROL, text)))]
    internal_ioctl: Vec<Step>,
    /// Send a read request
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| sent(read(text)))]
    read: Vec<Step>,
    /// Send a write request
    #[arg(long, value_name = "HEX", value_parser = |text: &str| sent(write(text)))]
    write: Vec<Step>,
    /// Begin a control request, and do not wait for it
    #[arg(long, value_name = "CODE[:HEX][/[LENGTH][:DATA]]", value_parser = |text: &str| begun(control(RequestKind::DEVICE_CONTROL, text)))]
    begin_ioctl: Vec<Step>,
    /// Begin an internal control request
    #[arg(long, value_name = "CODE[:HEX][/[LENGTH][:DATA]]", value_parser = |text: &str| begun(control(RequestKind::INTERNAL_DEVICE_CONTROL, text)))]
    begin_internal_ioctl: Vec<Step>,
    /// Begin a read request
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| begun(read(text)))]
    begin_read: Vec<Step>,
    /// Begin a write request
    #[arg(long, value_name = "HEX", value_parser = |text: &str| begun(write(text)))]
    begin_write: Vec<Step>,
    /// Cancel the N-th request that was begun, and wait for it
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, "a request: requests count").map(|number| Step::Cancel { number }))]
    cancel: Vec<Step>,
    /// Send the next N requests at the same time, each on a thread of its own; --handle may select a device for each. With a
    /// schedule, the threads take turns in the order that this number decides
    #[arg(long, value_name = "N[@SCHEDULE]", value_parser = together)]
    together: Vec<Step>,
    /// Make a call of the driver fail: the N-th from here on that can fail; 0 takes it back
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text).map(|call| Step::FailNext { call }))]
    fail_next: Vec<Step>,
    /// Set how the next request completes that the driver sends to the device below or to another driver's device, as for
    /// --below; several are used one after the other, and none forgets those that are left
    #[arg(long, value_name = "[DEVICE,]KIND[:CODE]=STATUS[:HEX][@TIME]", value_parser = answer)]
    answer_next: Vec<Step>,
    /// Change four bytes of the next input with `METHOD_NEITHER` after the driver has read them, to find double fetches
    #[arg(long, value_name = "OFFSET=VALUE", value_parser = change)]
    change: Vec<Step>,
    /// Write to memory of the client at an address for the data of requests; shows what the driver writes there
    #[arg(long, value_name = "ADDRESS/[LENGTH][:HEX]", value_parser = memory)]
    client_memory: Vec<Step>,
    /// Let time pass
    #[arg(long, value_name = "TIME", value_parser = |text: &str| duration(text).map(Step::wait))]
    wait: Vec<Step>,
    /// Use a file of the volume through the minifilter: open:PATH, create:PATH, folder:PATH, read[:BYTES], write:TEXT,
    /// write-hex:HEX, query:CLASS[/LENGTH], set:CLASS:HEX, rename:PATH, delete, list[:PATTERN], close, detach, attach; or a
    /// communication port: connect:NAME, send[:TEXT], send-hex:HEX[/LENGTH], reply:TEXT, reply-hex:HEX, disconnect
    #[arg(long, value_name = "STEP", value_parser = |text: &str| file_step(text).map(|step| Step::File { step }))]
    file: Vec<Step>,
    /// Open a connection through the driver's callouts: to an address, or from one; TCP (default) or UDP
    #[arg(long, value_name = "[udp:][from:]ADDRESS:PORT", value_parser = |text: &str| network::connection(text).map(|connection| Step::Connect { connection }))]
    connect: Vec<Step>,
    /// Send data through the last connection, or receive it
    #[arg(long, value_name = "sent:HEX|received:HEX", value_parser = transfer)]
    transfer: Vec<Step>,
    /// End all connections
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Disconnect {}))]
    disconnect: Vec<Step>,
    /// Send and receive the packets of a capture file (pcapng, pcap) through the driver's callouts, or one IP datagram
    #[arg(long, value_name = "FILE.pcapng|sent:HEX|received:HEX", value_parser = |text: &str| network::packets(text).map(Packets))]
    packet: Vec<Packets>,
    /// Raise an interrupt of the device, counted from 0 in the order of its resources
    #[arg(long, value_name = "N", value_parser = interrupt)]
    interrupt: Vec<Step>,
    /// Put the device to sleep
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Sleep {}))]
    sleep: Vec<Step>,
    /// Wake the device up
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Wake {}))]
    wake: Vec<Step>,
    /// Stop the device and start it again, as when Windows assigns resources anew
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Rebalance {}))]
    rebalance: Vec<Step>,
    /// Remove the device in an orderly way
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::Remove {}))]
    remove: Vec<Step>,
    /// Remove the device by surprise
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::SurpriseRemove {}))]
    surprise_remove: Vec<Step>,
    /// Add a device, after the last one was removed
    #[arg(long, num_args = 0, default_missing_value = "", action = ArgAction::Append, value_parser = switch(Step::AddDevice {}))]
    add_device: Vec<Step>,
}

/// The packets of an option.
#[derive(Clone, Debug)]
struct Packets(Vec<Packet>);

/// The steps of clients, in the order of the command line, and the files that they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps(pub(super) Vec<Step>, Vec<PathBuf>);

impl Steps {
    /// Returns the capture files that packets come from.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.1
    }
}

impl Args for Steps {
    fn augment_args(command: clap::Command) -> clap::Command {
        StepOptions::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        StepOptions::augment_args_for_update(command)
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = StepOptions::augment_args(clap::Command::new(""));
        let steps = names.get_arguments().filter_map(|argument| {
            let id = argument.get_id().as_str();
            let packets =
                |Packets(packets): &Packets| packets.iter().cloned().map(|packet| Step::Packet { packet }).collect();
            let values: Vec<Vec<Step>> = match id {
                "packet" => matches.get_many(id)?.map(packets).collect(),
                _ => matches.get_many(id)?.cloned().map(|step| vec![step]).collect(),
            };
            Some(matches.indices_of(id)?.zip(values))
        });
        let mut steps: Vec<(usize, Vec<Step>)> = steps.flatten().collect();
        steps.sort_by_key(|(index, _)| *index);
        let captures = matches.get_raw("packet").into_iter().flatten();
        let files = captures.filter(|value| value.to_str().is_none_or(|text| network::directed(text).is_none()));
        let files = files.map(PathBuf::from).collect();
        Ok(Self(steps.into_iter().flat_map(|(_, steps)| steps).collect(), files))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn transfer(text: &str) -> Result<Step, String> {
    let expected = || format!("`{text}` does not transfer data: expected for example sent:0AFF or received:0AFF");
    let (inbound, data) = network::directed(text).ok_or_else(expected)?;
    Ok(Step::Transfer { inbound, data: bytes(data)? })
}

/// Parses an option without a value.
fn switch(step: Step) -> impl TypedValueParser<Value = Step> {
    StringValueParser::new().map(move |_| step.clone())
}

fn sent(request: Result<IoRequest, String>) -> Result<Step, String> {
    request.map(|request| Step::Request { request })
}

fn begun(request: Result<IoRequest, String>) -> Result<Step, String> {
    request.map(|request| Step::Begin { request })
}

/// Parses a number from 1 on. `what` says what it is not.
fn count(text: &str, what: &str) -> Result<u32, String> {
    let number = u32::try_from(number(text)?).ok().filter(|number| *number != 0);
    number.ok_or_else(|| format!("`{text}` is not {what} from 1"))
}

fn together(text: &str) -> Result<Step, String> {
    let (count, schedule) = text.split_once('@').map_or((text, None), |(count, schedule)| (count, Some(schedule)));
    let count = self::count(count, "a number of requests: it counts")?;
    let schedule = schedule.map(|schedule| self::count(schedule, "a schedule: schedules count")).transpose()?;
    Ok(Step::Together { count, schedule: schedule.unwrap_or_default() })
}

fn control(kind: RequestKind, text: &str) -> Result<IoRequest, String> {
    let (rest, output, output_data) = match text.split_once('/') {
        Some((rest, output)) => {
            let (length, data) = buffer(output)?;
            (rest, length, data)
        }
        None => (text, Step::OUTPUT, Vec::new()),
    };
    let (code, data) = rest.split_once(':').unwrap_or((rest, ""));
    let digits = code.trim_start_matches("0x");
    let code = u32::from_str_radix(digits, 16)
        .map_err(|_| format!("`{code}` is not a hexadecimal control code: expected for example 222000"))?;
    let request = IoRequest { kind, code, input: bytes(data)?, output, output_data };
    if request.output_data.is_empty() || request.sends_output() {
        Ok(request)
    } else {
        Err(Error::OutputLost(code).to_string())
    }
}

/// Parses a buffer: its length, and what it holds. Without a length, it is as long as its data.
fn buffer(text: &str) -> Result<(u32, Vec<u8>), String> {
    let Some((size, data)) = text.split_once(':') else { return Ok((length(text)?, Vec::new())) };
    let data = bytes(data)?;
    let count = u32::try_from(data.len()).map_err(|_| format!("{} bytes are too many for one request", data.len()))?;
    let size = if size.is_empty() { count } else { length(size)? };
    if size < count {
        return Err(format!("a buffer of {size} bytes cannot hold {count}: expected a larger length, or none"));
    }
    Ok((size, data))
}

/// Parses memory of a client: its address, and then as an output buffer.
fn memory(text: &str) -> Result<Step, String> {
    let bad = || format!("`{text}` is not memory: expected for example 0x10000000/64 or 0x10000000/:0AFF");
    let (address, rest) = text.split_once('/').filter(|(_, rest)| !rest.is_empty()).ok_or_else(bad)?;
    let (address, (length, mut data)) = (number(address)?, buffer(rest)?);
    if length == 0 {
        return Err(bad());
    }
    if length > LARGEST {
        return Err(format!("`{text}` is too much memory: a client has at most 16 MiB in one piece"));
    }
    data.resize(length as usize, 0);
    Ok(Step::Memory { address, data })
}

fn change(text: &str) -> Result<Step, String> {
    let bad = || format!("`{text}` does not change bytes: expected an offset and a value, for example 4=0x1000");
    let (offset, value) = text.split_once('=').ok_or_else(bad)?;
    let number = |text: &str| number(text).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(bad);
    Ok(Step::Change { offset: number(offset)?, value: number(value)? })
}

fn answer(text: &str) -> Result<Step, String> {
    let answer = match text {
        "none" => None,
        text if text.starts_with('\\') => Some(remote(text)?),
        text => Some(below(text)?),
    };
    Ok(Step::AnswerNext { answer })
}

fn length(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?)
        .map_err(|_| format!("`{text}` is too many bytes for one request: expected at most 0xFFFFFFFF"))
}

fn read(text: &str) -> Result<IoRequest, String> {
    let output = u32::try_from(number(text)?)
        .map_err(|_| format!("`{text}` is too many bytes for one read: expected at most 0xFFFFFFFF"))?;
    Ok(IoRequest { kind: RequestKind::READ, output, ..IoRequest::default() })
}

fn write(text: &str) -> Result<IoRequest, String> {
    Ok(IoRequest { kind: RequestKind::WRITE, input: bytes(text)?, ..IoRequest::default() })
}

fn interrupt(text: &str) -> Result<Step, String> {
    u32::try_from(number(text)?)
        .map(|number| Step::Interrupt { number })
        .map_err(|_| format!("`{text}` is not an interrupt: expected at most 0xFFFFFFFF"))
}
