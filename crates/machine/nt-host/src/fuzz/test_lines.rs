//! Lines of a test for steps that reach a driver through what it filters.

use nt_machine::{Connection, Packet};

use crate::wire::{FileStep, Step};

/// Returns the lines for a step with a file or a port.
pub(super) fn of_file(step: &FileStep) -> Vec<String> {
    let open = |call: String| {
        vec![
            "let _ = file.take().map(VolumeFile::close);".to_owned(),
            format!("(file, position) = (host.volume().{call}.ok(), 0);"),
        ]
    };
    let with_file = |call: String| vec![format!("let _ = file.as_ref().map(|file| file.{call});")];
    let with_port = |call: String| vec![format!("let _ = port.as_ref().map(|port| port.{call});")];
    // The next one begins where this one ends.
    let moving = |call: String| {
        vec![
            format!("if let Some(Ok(answer)) = file.as_ref().map(|file| file.{call}) {{"),
            "    position += if answer.status.is_success() { answer.information } else { 0 };".to_owned(),
            "}".to_owned(),
        ]
    };
    match step {
        FileStep::Open { path } => open(format!("open({path:?})")),
        FileStep::Create { path } => open(format!("create({path:?})")),
        FileStep::Folder { path } => open(format!("create_folder({path:?})")),
        FileStep::Read { length } => moving(format!("read(position, {length})")),
        FileStep::Write { data } => moving(format!("write(position, &{data:?})")),
        FileStep::Query { class, length } => with_file(format!("query({class}, {length})")),
        FileStep::Set { class, data } => with_file(format!("set({class}, &{data:?})")),
        FileStep::Rename { path } => with_file(format!("rename({path:?})")),
        FileStep::Delete {} => with_file("delete()".to_owned()),
        FileStep::List { pattern } => with_file(format!("list({pattern:?})")),
        FileStep::Close {} => vec!["let _ = file.take().map(VolumeFile::close);".to_owned()],
        FileStep::Attach {} => vec!["let _ = host.volume().attach();".to_owned()],
        FileStep::Detach {} => vec!["let _ = host.volume().detach();".to_owned()],
        FileStep::Connect { name } => vec![
            "let _ = port.take().map(Port::close);".to_owned(),
            format!("port = host.volume().connect({name:?}, &[]).ok();"),
        ],
        FileStep::Send { data, output } => with_port(format!("send(&{data:?}, {output})")),
        FileStep::Reply { data } => with_port(format!("reply(&{data:?})")),
        FileStep::Disconnect {} => vec!["let _ = port.take().map(Port::close);".to_owned()],
    }
}

/// Returns the line for a step with traffic.
pub(super) fn of_traffic(step: &Step) -> String {
    match step {
        Step::Connect { connection: Connection { remote, inbound, udp, .. } } => format!(
            "connections.extend(host.connect(Connection {{ inbound: {inbound}, udp: {udp}, \
             ..Connection::to({:?}.parse().expect(\"an address\")) }}));",
            remote.to_string()
        ),
        Step::Transfer { inbound, data } => {
            format!("let _ = connections.last().map(|connection| host.transfer(connection, {inbound}, &{data:?}));")
        }
        Step::Packet { packet: Packet { data, inbound } } => {
            format!("let _ = host.send_packet(Packet {{ data: vec!{data:?}, inbound: {inbound} }});")
        }
        _ => "for connection in connections.drain(..) { let _ = host.disconnect(&connection); }".to_owned(),
    }
}
