//! A step of a client: the declaration of each, and what the fuzzer asks of all.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use nt_machine::{Below, Connection, IoRequest, Packet, RequestKind};

use super::declare::steps;
use super::file_step::FileStep;
use super::form::{switch, value};
use super::test_code::below;
use crate::text::below::{read, read_remote};
use crate::text::request::{read_control, read_memory, read_read, read_write, written as request_text, written_memory};
use crate::text::traffic::{read_connection, read_data, written_connection, written_data};
use crate::text::{TextError, below as script, number, number_of_32_bits, ordinal, suggestion, time};

steps! {
    /// A step of a client.
    ///
    /// ```
    /// use nt_host::{FileStep, Input, IoRequest, RequestKind, Step};
    ///
    /// let request = IoRequest { kind: RequestKind::WRITE, input: vec![1, 2], ..IoRequest::default() };
    /// let open = Step::File { step: FileStep::Open { path: r"\a.txt".into() } };
    /// let steps = vec![open, Step::Request { request }, Step::wait(std::time::Duration::from_millis(1))];
    /// let input = Input { steps, ..Input::default() };
    /// assert_eq!(input.options(), [r"--file=open:\a.txt", "--write=0102", "--wait=1000us"]);
    /// assert_eq!("--write=0102".parse(), Ok(input.steps[1].clone()));
    /// assert_eq!(input.command_of("run"), r"run '--file=open:\a.txt' --write=0102 --wait=1000us --virtual-time --cancel-after=250ms");
    /// ```
    Step {
        /// Opens a device: by this name or, without one, the device that was added.
        Open { name: Option<String> } = 1 {
            read "open" <"NAME"> help r"Open a device by its name or symbolic link: \\.\Name, \Device\Name" like [r"\\.\None"]
                => |text| Ok(Step::Open { name: Some(text.to_owned()) });
            read "open-device" <""> help "Open the driver's device" like [""] => |_| Ok(Step::Open { name: None });
            write => name.as_ref().map_or(switch("open-device"), |name| value("open", name));
            test |code| => code.open(name.as_deref());
        }
        /// Continues with the N-th device that was opened, counted from 1.
        Handle { number: u32 } = 2 {
            read "handle" <"N"> help "Send the following requests to the N-th device that was opened; by default, to the last one" like ["2"]
                => |text| Ok(Step::Handle { number: ordinal(text, "is not a handle", "handles count from 1")? });
            write => value("handle", number.to_string());
            test |code| => code.handle(*number);
        }
        /// Sends the next requests at the same time, each on a thread of its own. With a schedule other than 0, the threads
        /// take turns.
        Together { count: u32, schedule: u32 } = 7 {
            read "together" <"N[@SCHEDULE]">
                help "Send the next N requests at the same time, each on a thread of its own; --handle may select a device for each. With \
                      a schedule, the threads take turns in the order that this number decides"
                like ["3", "2@7"] => read_together;
            write => value("together", written_together(*count, *schedule));
            test |code| => code.together(*count, *schedule);
        }
        /// Sends a request and waits until it is completed.
        Request { request: IoRequest } = 4 {
            read "ioctl" <"CODE[:HEX][/[LENGTH][:DATA]]">
                help "Send a control request, with room for LENGTH bytes of output (default: 4096), which hold DATA (not with \
                      `METHOD_BUFFERED`); opens the device for it if none is open"
                like ["22E000:0102/16", "22E001:0102/16:0708", "22E001/0", "22E001/:0708", "22E000"]
                => |text| sent(read_control(RequestKind::DEVICE_CONTROL, text));
            read "internal-ioctl" <"CODE[:HEX][/[LENGTH][:DATA]]"> help "Send an internal control request" like ["3/:04", "22E000:0102"]
                => |text| sent(read_control(RequestKind::INTERNAL_DEVICE_CONTROL, text));
            read "read" <"BYTES"> help "Send a read request" like ["8"] => |text| sent(read_read(text));
            read "write" <"HEX"> help "Send a write request" like ["03", ""] => |text| sent(read_write(text));
            write => value(option(request.kind, ["ioctl", "internal-ioctl", "read", "write"]), request_text(request));
            test |code| => code.request(request);
        }
        /// Sends a request and does not wait.
        Begin { request: IoRequest } = 5 {
            read "begin-ioctl" <"CODE[:HEX][/[LENGTH][:DATA]]"> help "Begin a control request, and do not wait for it"
                like ["22E000:0102/16", "22E001/1:05"] => |text| begun(read_control(RequestKind::DEVICE_CONTROL, text));
            read "begin-internal-ioctl" <"CODE[:HEX][/[LENGTH][:DATA]]"> help "Begin an internal control request" like ["22E000"]
                => |text| begun(read_control(RequestKind::INTERNAL_DEVICE_CONTROL, text));
            read "begin-read" <"BYTES"> help "Begin a read request" like ["8"] => |text| begun(read_read(text));
            read "begin-write" <"HEX"> help "Begin a write request" like ["03"] => |text| begun(read_write(text));
            write => {
                let names = ["begin-ioctl", "begin-internal-ioctl", "begin-read", "begin-write"];
                value(option(request.kind, names), request_text(request))
            };
            test |code| => code.begin(request);
        }
        /// Cancels the N-th request that was begun, counted from 1, and waits until it is completed.
        Cancel { number: u32 } = 6 {
            read "cancel" <"N"> help "Cancel the N-th request that was begun, and wait for it" like ["2"]
                => |text| Ok(Step::Cancel { number: ordinal(text, "is not a request", "requests count from 1")? });
            write => value("cancel", number.to_string());
            test |code| => code.cancel(*number);
        }
        /// Closes the current device.
        Close {} = 3 {
            read "close" <""> help "Close the device" like [""] => |_| Ok(Step::Close {});
            write => switch("close");
            test |code| => code.close();
        }
        /// Makes a call of the driver fail: the N-th from now that can fail, counted from 1.
        FailNext { call: u64 } = 8 {
            read "fail-next" <"N"> help "Make a call of the driver fail: the N-th from here on that can fail; 0 takes it back" like ["3"]
                => |text| Ok(Step::FailNext { call: number(text)? });
            write => value("fail-next", call.to_string());
            test |code| => code.line(&format!("let _ = host.fail_next({call});"));
        }
        /// Sets how the next request completes that the driver sends to a device of another driver. `None` discards the
        /// answers that are left.
        AnswerNext { answer: Option<Below> } = 18 {
            read "answer-next" <"[DEVICE,]KIND[:CODE]=STATUS[:HEX][@TIME]">
                help "Set how the next request completes that the driver sends to the device below or to another driver's device, as for \
                      --below; several are used one after the other; `none` discards those that are left"
                like ["read=C000000D:01@1000us", r"\Device\Other,any=102:0102", "none"] => read_answer;
            write => value("answer-next", answer.as_ref().map_or_else(|| "none".to_owned(), script::written));
            test |code| => {
                let answer = answer.as_ref().map_or_else(|| "None".to_owned(), |answer| format!("Some({})", below(answer)));
                code.line(&format!("let _ = host.answer_next({answer});"));
            };
        }
        /// Changes four bytes of the next input with the method `METHOD_NEITHER` after the driver has read them.
        Change { offset: u32, value: u32 } = 17 {
            read "change" <"OFFSET=VALUE">
                help "Change four bytes of the next input with `METHOD_NEITHER` after the driver has read them, to find double fetches"
                like ["4=0x1000"] => read_change;
            write => super::form::value("change", format!("{offset}={value:#X}"));
            test |code| => code.line(&format!("let _ = host.change_next({offset}, {value:#X});"));
        }
        /// Writes to memory of the client's process, and allocates it where there is none.
        Memory { address: u64, data: Vec<u8> } = 24 {
            read "client-memory" <"ADDRESS/[LENGTH][:HEX]">
                help "Write to memory of the client at an address for the data of requests; shows what the driver writes there"
                like ["0x10000000/:0102", "0x10000ff0/4:0003", "0x20000000/5"]
                => |text| read_memory(text).map(|(address, data)| Step::Memory { address, data });
            write => value("client-memory", written_memory(*address, data));
            test |code| => code.line(&format!("let _ = host.client_memory({address:#X}, &{data:?});"));
        }
        /// Lets time pass, in units of 100 ns.
        Wait { time: u64 } = 9 {
            read "wait" <"TIME"> help "Let time pass" like ["5000us"] => |text| time(text).map(Step::wait);
            write => value("wait", format!("{}us", time.div_ceil(10)));
            test |code| => {
                code.line(&format!("let _ = host.advance(Duration::from_nanos({}));", time.saturating_mul(100)));
            };
        }
        /// Uses a file of the volume, or a communication port of the minifilter.
        File { step: FileStep } = 19 {
            read "file" <"STEP"> help "Use a file of the volume through the minifilter, or a communication port" like [r"open:\dir\a.txt"]
                => |text| Ok(Step::File { step: text.parse()? });
            write => value("file", step.to_string());
            test |code| => step.test(code);
        }
        /// Opens a network connection.
        Connect { connection: Connection } = 20 {
            read "connect" <"[udp:][from:]ADDRESS:PORT">
                help "Open a connection through the driver's callouts: to an address, or from one; TCP (default) or UDP"
                like ["udp:10.0.0.1:53", "from:[fd00::1]:5000"] => |text| Ok(Step::Connect { connection: read_connection(text)? });
            write => value("connect", written_connection(connection));
            test |code| => {
                let Connection { remote, inbound, udp, .. } = connection;
                let remote = remote.to_string();
                code.line(&format!(
                    "connections.extend(host.connect(Connection {{ inbound: {inbound}, udp: {udp}, \
                     ..Connection::to({remote:?}.parse().expect(\"an address\")) }}));"
                ));
            };
        }
        /// Sends or receives data of the connection that was opened last.
        Transfer { inbound: bool, data: Vec<u8> } = 21 {
            read "transfer" <"sent:HEX|received:HEX"> help "Send data through the last connection, or receive it" like ["received:01", "sent:"]
                => |text| {
                    let (inbound, data) = read_data(text, "does not transfer data")?;
                    Ok(Step::Transfer { inbound, data })
                };
            write => value("transfer", written_data(*inbound, data));
            test |code| => code.line(&format!(
                "let _ = connections.last().map(|connection| host.transfer(connection, {inbound}, &{data:?}));"
            ));
        }
        /// Ends all connections.
        Disconnect {} = 22 {
            read "disconnect" <""> help "End all connections" like [""] => |_| Ok(Step::Disconnect {});
            write => switch("disconnect");
            test |code| => code.line("for connection in connections.drain(..) { let _ = host.disconnect(&connection); }");
        }
        /// Sends or receives a packet.
        Packet { packet: Packet } = 23 {
            read "packet" <"FILE.pcapng|sent:HEX|received:HEX">
                help "Send and receive the packets of a capture file (pcapng, pcap) through the driver's callouts, or one IP datagram"
                like ["sent:4500"] => |text| {
                    let (inbound, data) = read_data(text, "is not a packet")?;
                    Ok(Step::Packet { packet: Packet { data, inbound } })
                };
            write => value("packet", written_data(packet.inbound, &packet.data));
            test |code| => {
                let Packet { data, inbound } = packet;
                code.line(&format!("let _ = host.send_packet(Packet {{ data: vec!{data:?}, inbound: {inbound} }});"));
            };
        }
        /// Raises an interrupt of the device.
        Interrupt { number: u32 } = 10 {
            read "interrupt" <"N"> help "Raise an interrupt of the device, counted from 0 in the order of its resources" like ["0"]
                => |text| Ok(Step::Interrupt { number: number_of_32_bits(text, "is not an interrupt")? });
            write => value("interrupt", number.to_string());
            test |code| => code.line(&format!("let _ = device.as_ref().map(|device| device.interrupt({number}));"));
        }
        /// Puts the device to sleep.
        Sleep {} = 11 {
            read "sleep" <""> help "Put the device to sleep" like [""] => |_| Ok(Step::Sleep {});
            write => switch("sleep");
            test |code| => code.line("let _ = device.as_ref().map(Device::sleep);");
        }
        /// Wakes the device up.
        Wake {} = 12 {
            read "wake" <""> help "Wake the device up" like [""] => |_| Ok(Step::Wake {});
            write => switch("wake");
            test |code| => code.line("let _ = device.as_ref().map(Device::wake);");
        }
        /// Stops the device and starts it again.
        Rebalance {} = 13 {
            read "rebalance" <""> help "Stop the device and start it again, as when Windows assigns resources anew" like [""]
                => |_| Ok(Step::Rebalance {});
            write => switch("rebalance");
            test |code| => code.line("let _ = device.as_ref().map(Device::rebalance);");
        }
        /// Removes the device in an orderly way.
        Remove {} = 14 {
            read "remove" <""> help "Remove the device in an orderly way" like [""] => |_| Ok(Step::Remove {});
            write => switch("remove");
            test |code| => code.line("device = device.filter(|device| device.clone().remove().is_err());");
        }
        /// Adds a device, if the last one was removed.
        AddDevice {} = 16 {
            read "add-device" <""> help "Add a device, after the last one was removed" like [""] => |_| Ok(Step::AddDevice {});
            write => switch("add-device");
            test |code| => code.line("device = device.or_else(|| host.add_device().ok());");
        }
        /// Removes the device by surprise.
        SurpriseRemove {} = 15 {
            read "surprise-remove" <""> help "Remove the device by surprise" like [""] => |_| Ok(Step::SurpriseRemove {});
            write => switch("surprise-remove");
            test |code| => code.line("device = device.filter(|device| device.clone().surprise_remove().is_err());");
        }
    }
}

impl Step {
    /// Returns a step that lets time pass.
    #[must_use]
    pub fn wait(time: Duration) -> Self {
        Self::Wait { time: u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX) }
    }
}

/// As on the command line: `--cancel=2`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = self.written();
        write!(f, "--{name}")?;
        value.map_or(Ok(()), |value| write!(f, "={value}"))
    }
}

impl FromStr for Step {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let form = name.strip_prefix("--").and_then(|name| Self::forms().iter().find(|form| form.name == name));
        let Some(form) = form else {
            let names: Vec<&str> = Self::forms().iter().map(|form| form.name).collect();
            let near = suggestion(name.trim_start_matches('-'), &names);
            return Err(TextError::malformed(
                name,
                "is not a step",
                format!("expected an option such as --close{near}"),
            ));
        };
        match value {
            Some(_) if form.value.is_empty() => {
                Err(TextError::malformed(name, "takes no value", format!("expected {name}")))
            }
            None if !form.value.is_empty() => {
                let example = form.examples.first().copied().unwrap_or_default();
                Err(TextError::malformed(name, "needs a value", format!("expected for example {name}={example}")))
            }
            value => form.read(value.unwrap_or_default()),
        }
    }
}

fn sent(request: Result<IoRequest, TextError>) -> Result<Step, TextError> {
    request.map(|request| Step::Request { request })
}

fn begun(request: Result<IoRequest, TextError>) -> Result<Step, TextError> {
    request.map(|request| Step::Begin { request })
}

/// Returns the option for a request: of those for control requests of both kinds, reads and writes.
const fn option(kind: RequestKind, names: [&'static str; 4]) -> &'static str {
    let [control, internal, read, write] = names;
    match kind {
        RequestKind::READ => read,
        RequestKind::WRITE => write,
        RequestKind::INTERNAL_DEVICE_CONTROL => internal,
        _ => control,
    }
}

fn read_together(text: &str) -> Result<Step, TextError> {
    let (count, schedule) = text.split_once('@').map_or((text, None), |(count, schedule)| (count, Some(schedule)));
    let count = ordinal(count, "is not a number of requests", "it counts from 1")?;
    let read = |schedule| ordinal(schedule, "is not a schedule", "schedules count from 1");
    let schedule = schedule.map(read).transpose()?;
    Ok(Step::Together { count, schedule: schedule.unwrap_or_default() })
}

fn written_together(count: u32, schedule: u32) -> String {
    if schedule == 0 { count.to_string() } else { format!("{count}@{schedule}") }
}

fn read_answer(text: &str) -> Result<Step, TextError> {
    let answer = match text {
        "none" => None,
        text if text.starts_with('\\') => Some(read_remote(text)?),
        text => Some(read(text)?),
    };
    Ok(Step::AnswerNext { answer })
}

fn read_change(text: &str) -> Result<Step, TextError> {
    let expected = "expected an offset and a value, for example 4=0x1000";
    let bad = || TextError::malformed(text, "does not change bytes", expected);
    let (offset, value) = text.split_once('=').ok_or_else(bad)?;
    let number = |text: &str| number(text).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(bad);
    Ok(Step::Change { offset: number(offset)?, value: number(value)? })
}
