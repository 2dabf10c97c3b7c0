//! Communication ports between minifilters and programs.

use etw_types::NtStatus;
use nt_kernel::{Answer, Kernel, call_back, kernel, lock};
use nt_processor::image::Leaving;
use nt_processor::layout::OBJECT_ATTRIBUTES;
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{APC, FILTER_MANAGER, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::object::OBJ_KERNEL_HANDLE;

use super::state::{Connection, FilterId, Port, PortId, free_object, new_object, state};

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltCreateCommunicationPort(
        &call,
        filter: FilterId,
        place: Out<PortId>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        cookie: GuestPtr<Opaque>,
        connect: GuestPtr<Code>,
        disconnect: GuestPtr<Code>,
        message: GuestPtr<Code>,
        most: i32,
    ) -> Outcome {
        let port = Port {
            filter,
            name: attributes.ObjectName().read()?.text()?,
            cookie: cookie.address(),
            connect,
            disconnect,
            message,
            most: most.cast_unsigned(),
            from: call.from,
        };
        if attributes.Attributes().read()? & OBJ_KERNEL_HANDLE == 0 || most <= 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let id = create(port)?;
        place.set(id)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTER_MANAGER)]
    fn FltCloseCommunicationPort(port: PortId) {
        if state().ports.remove(&port).is_some() {
            free_object(port);
        } else {
            verify::find(Rule::BadArgument, format_args!("{port:#x} is not a server port"));
        }
    }

    #[irql(PASSIVE), module(FILTER_MANAGER)]
    fn FltCloseClientPort(_filter: Ignored<FilterId>, place: GuestPtr<PortId>) -> Result<(), Fault> {
        let port = place.read()?;
        place.write(GuestPtr::NULL)?;
        if let Some(connection) = state().connections.get_mut(&port) {
            connection.has_driver = false;
        }
        free_if_closed(port);
        Ok(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::PortDisconnected), keeps_nothing]
    fn FltSendMessage(
        _filter: Ignored<FilterId>,
        port: GuestPtr<PortId>,
        message: GuestSlice<u8>,
        reply: GuestPtr<u8>,
        room: GuestPtr<u32>,
        timeout: GuestPtr<i64>,
    ) -> Outcome<NtStatus> {
        let Kernel { config, scheduler, .. } = kernel();
        let bytes = message.read()?;
        let port = port.read()?;
        if !is_connected(port) {
            return fail(NtStatus::PortDisconnected);
        }
        // The client always listens.
        if let Some(connection) = state().connections.get_mut(&port) {
            connection.messages.push(bytes);
        }
        if reply.is_null() {
            return done(NtStatus::Success);
        }
        // A driver that waits without a limit does so until the client ends.
        let deadline = match timeout.non_null() {
            Some(timeout) => scheduler.deadline(timeout.read()?),
            None => scheduler.now() + config.cancel_after(),
        };
        let answer = scheduler.wait(Some(deadline), |_| {
            if !is_connected(port) {
                return Some(None);
            }
            state().connections.get_mut(&port)?.replies.pop_front().map(Some)
        });
        match answer {
            None if timeout.is_null() => {
                if let Some(connection) = state().connections.get_mut(&port) {
                    connection.is_silent = true;
                }
                fail(NtStatus::PortDisconnected)
            }
            None => done(NtStatus::Timeout),
            Some(None) => fail(NtStatus::PortDisconnected),
            Some(Some(answer)) => {
                let fitting = answer.get(..room.read()? as usize).unwrap_or(&answer);
                reply.write_all(fitting)?;
                room.write(fitting.len() as u32)?;
                done(if fitting.len() < answer.len() { NtStatus::BufferOverflow } else { NtStatus::Success })
            }
        }
    }
}

fn create(port: Port) -> Outcome<PortId> {
    let id = new_object()?;
    let mut state = state();
    if state.filters.get(&port.filter).is_none_or(|filter| filter.is_going) {
        return fail(NtStatus::FltDeletingObject);
    }
    if state.ports.values().any(|known| known.name.eq_ignore_ascii_case(&port.name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    state.ports.insert(id, port);
    Ok(id)
}

fn is_connected(port: PortId) -> bool {
    let is_open = |known: &Connection| known.has_client && known.has_driver && !known.is_silent;
    state().connections.get(&port).is_some_and(is_open)
}

/// Frees a connection that neither side has open.
fn free_if_closed(port: PortId) {
    let is_closed = |connection: &Connection| !connection.has_client && !connection.has_driver;
    let is_closed = state().connections.get(&port).is_some_and(is_closed);
    if is_closed {
        state().connections.remove(&port);
        free_object(port);
    }
    super::state::changed();
}

/// Returns the names of the ports that are open if a minifilter is registered.
pub fn ports() -> Option<Vec<String>> {
    let state = state();
    (!state.filters.is_empty()).then(|| state.ports.values().map(|port| port.name.clone()).collect())
}

/// Connects a client to a port, as `FilterConnectCommunicationPort` does.
pub fn connect(name: &str, context: &[u8]) -> Outcome<u64> {
    let Kernel { pool, .. } = kernel();
    let found = {
        let state = state();
        let port = state.ports.iter().find(|(_, port)| port.name.eq_ignore_ascii_case(name));
        port.map(|(id, port)| {
            let open = state.connections.values().filter(|known| known.server == *id && known.has_client).count();
            (*id, port.clone(), open)
        })
    };
    let Some((server, port, open)) = found else { return fail(NtStatus::ObjectNameNotFound) };
    if open >= port.most as usize {
        return fail(NtStatus::ConnectionCountLimit);
    }
    let id: PortId = new_object()?;
    let connection = Connection {
        server,
        filter: port.filter,
        cookie: 0,
        disconnect: port.disconnect,
        message: port.message,
        has_client: true,
        has_driver: true,
        is_silent: false,
        messages: Vec::new(),
        replies: std::collections::VecDeque::new(),
    };
    state().connections.insert(id, connection);
    let place: GuestPtr<u64> = lock(pool).try_new_object()?;
    let given: GuestPtr<u8> = lock(pool).try_new_objects((context.len() as u64).max(1))?;
    given.write_all(context)?;
    let given_or_null = if context.is_empty() { 0 } else { given.address() };
    let arguments = [id.address(), port.cookie, given_or_null, context.len() as u64, place.address()];
    let status = call_back("connect notify callback", PASSIVE, port.connect, &arguments) as u32;
    let cookie = place.read()?;
    for address in [place.address(), given.address()] {
        lock(pool).free_object(address);
    }
    let status = NtStatus::from_int(status);
    if !status.is_success() {
        state().connections.remove(&id);
        free_object(id);
        return fail(status);
    }
    if let Some(connection) = state().connections.get_mut(&id) {
        connection.cookie = cookie;
    }
    Ok(id.address())
}

/// Sends a message of a client to the minifilter, as `FilterSendMessage` does.
pub fn send(port: u64, input: &[u8], output: u32) -> Outcome<Answer> {
    let Kernel { pool, .. } = kernel();
    let port = PortId::new(port);
    let Some(connection) = state().connections.get(&port).filter(|known| known.has_client).cloned() else {
        return fail(NtStatus::InvalidHandle);
    };
    if !connection.has_driver || connection.message.is_null() {
        return fail(NtStatus::PortDisconnected);
    }
    let buffer = |length: u64| lock(pool).try_new_objects::<u8>(length.max(1));
    let given = buffer(input.len() as u64)?;
    let taken = buffer(output.into())?;
    let length: GuestPtr<u32> = lock(pool).try_new_object()?;
    given.write_all(input)?;
    let or_null = |buffer: GuestPtr<u8>, length: usize| if length == 0 { 0 } else { buffer.address() };
    let arguments = [
        connection.cookie,
        or_null(given, input.len()),
        input.len() as u64,
        or_null(taken, output as usize),
        output.into(),
        length.address(),
    ];
    let status = call_back("message notify callback", PASSIVE, connection.message, &arguments) as u32;
    let returned = length.read()?;
    if returned > output {
        let detail = format_args!("returns {returned} bytes for an output buffer of {output}");
        let at = verify::At::Code(connection.message.address());
        verify::find_at(Rule::BadArgument, Some("message notify callback"), at, detail);
    }
    let status = NtStatus::from_int(status);
    let count = if status.is_error() { 0 } else { returned.min(output) };
    let bytes = taken.array(count.into()).read()?;
    for address in [given.address(), taken.address(), length.address()] {
        lock(pool).free_object(address);
    }
    Ok(Answer { status, information: returned.into(), output: bytes, reached: true })
}

/// Gives the reply to the next message of the minifilter.
pub fn reply(port: u64, reply: Vec<u8>) -> bool {
    let known = state().connections.get_mut(&PortId::new(port)).map(|known| known.replies.push_back(reply)).is_some();
    super::state::changed();
    known
}

/// Takes the messages of the minifilter.
pub fn messages(port: u64) -> Option<Vec<Vec<u8>>> {
    state().connections.get_mut(&PortId::new(port)).map(|known| std::mem::take(&mut known.messages))
}

/// Closes the handle of a client. The minifilter is told.
pub fn disconnect(port: u64) -> bool {
    let port = PortId::new(port);
    let closed = state().connections.get_mut(&port).filter(|known| known.has_client).map(|known| {
        known.has_client = false;
        known.clone()
    });
    let Some(connection) = closed else { return false };
    super::state::changed();
    if connection.has_driver {
        call_back("disconnect notify callback", PASSIVE, connection.disconnect, &[connection.cookie]);
    }
    free_if_closed(port);
    true
}

/// Disconnects the clients of a filter that goes.
pub(super) fn disconnect_all(filter: FilterId) {
    let open: Vec<PortId> = {
        let state = state();
        state.connections.iter().filter(|(_, known)| known.filter == filter).map(|(id, _)| *id).collect()
    };
    for port in open {
        disconnect(port.address());
    }
}

/// Reports the ports that an image left, and removes them.
pub(super) fn report_leaks(leaving: Leaving) {
    let left: Vec<(PortId, Port)> = {
        let mut state = state();
        state.ports.extract_if(|_, port| leaving.owns(port.from)).collect()
    };
    for (id, port) in left {
        let detail = format_args!("does not close the communication port {}", port.name);
        verify::find_at(Rule::ObjectLeak, None, port.from, detail);
        free_object(id);
    }
    let filters: Vec<FilterId> = state().filters.keys().copied().collect();
    let stale: Vec<PortId> = {
        let mut state = state();
        let gone = |_: &PortId, known: &mut Connection| !filters.contains(&known.filter);
        state.connections.extract_if(gone).map(|(id, _)| id).collect()
    };
    stale.into_iter().for_each(free_object);
}
