//! The steps with traffic: connections, and captures of packets.

use std::process::Command;

use test_support::drivers::c::build;
use test_support::drivers::temporary;

/// A DNS query to 10.0.0.1, as an application sends it, without a checksum of UDP.
fn query() -> Vec<u8> {
    let mut data = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    data.extend([0xC0, 0, 0, 53, 0, 12, 0, 0]);
    data.extend(b"dns?");
    data
}

/// Returns a pcap file with Ethernet frames.
fn capture(datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 0xFFFF, 1].map(u32::to_le_bytes).concat();
    for datagram in datagrams {
        let frame = [&[0; 12], [0x08, 0x00].as_slice(), datagram].concat();
        let length = u32::try_from(frame.len()).expect("a short frame");
        file.extend([0, 0, length, length].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// Returns a pcapng file with Ethernet frames that were received or sent.
fn capture_with_directions(datagrams: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = u32::try_from(body.len() + 12).expect("a short block").to_le_bytes();
        [&kind.to_le_bytes(), length.as_slice(), body, &length].concat()
    };
    // A section of version 1.0 with an unknown length, and an interface for Ethernet.
    let mut file = block(0x0A0D_0D0A, &[0x1A2B_3C4D_u32, 1, !0, !0].map(u32::to_le_bytes).concat());
    file.extend(block(1, &[1_u32, 0xFFFF].map(u32::to_le_bytes).concat()));
    for (is_received, datagram) in datagrams {
        let mut frame = [&[0; 12], [0x08, 0x00].as_slice(), datagram].concat();
        let length = u32::try_from(frame.len()).expect("a short frame");
        frame.resize(frame.len().next_multiple_of(4), 0);
        // The option of four bytes with the flags, and the end of the options.
        let options = [2 | 4 << 16, if *is_received { 1 } else { 2 }, 0_u32].map(u32::to_le_bytes).concat();
        file.extend(block(6, &[[0, 0, 0, length, length].map(u32::to_le_bytes).concat(), frame, options].concat()));
    }
    file
}

#[test]
fn the_command_opens_connections_and_replays_captures() {
    let image = build("wfp_callout", 0, "DriverEntry", &["ntoskrnl", "fwpkclnt", "ndis"]);
    let folder = temporary("wfp-captures");
    let file = folder.join("dns.pcap");
    let damaged = folder.join("damaged.pcap");
    let (query, mut answer) = (query(), query());
    answer[12..20].rotate_left(4);
    answer[20..24].rotate_left(2);
    let directions = folder.join("dns.pcapng");
    let newer = capture_with_directions(&[(true, answer.clone()), (false, query.clone())]);
    std::fs::write(&directions, newer).expect("a file");
    std::fs::write(&file, capture(&[query, answer])).expect("a file");
    std::fs::write(&damaged, b"no capture").expect("a file");
    let run = |arguments: &[&str]| {
        let program = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&image).args(arguments).output();
        let output = program.expect("nt-host runs");
        (
            output.status.code(),
            String::from_utf8(output.stdout).expect("text"),
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    let path = file.to_str().expect("a path in UTF-8");
    let (code, printed, _) = run(&["--connect", "10.0.0.1:23", "--packet", path, "--connect", "udp:10.0.0.1:99"]);
    for line in [
        "connect 10.0.0.1:23: blocked at ALE_AUTH_CONNECT_V4 (1 call of callouts)",
        "packet 1, sent: absorbed at OUTBOUND_IPPACKET_V4, 1 packet injected (3 calls of callouts)",
        "packet 2, received: permitted (0 calls of callouts)",
        "connect udp 10.0.0.1:99: permitted (3 calls of callouts)",
    ] {
        assert!(printed.contains(line), "{line}:\n{printed}");
    }
    // The flows are still open, and the driver removes its contexts. The second packet reaches no callout, which is a gap.
    assert!(code == Some(4), "{printed}");
    assert!(printed.contains("no findings"), "{printed}");
    // The first packet was received, as the newer file says: otherwise, its source would be taken for the local address.
    let (_, printed, _) = run(&["--packet", directions.to_str().expect("a path in UTF-8")]);
    for line in ["packet 1, received: permitted", "packet 2, sent: absorbed at OUTBOUND_IPPACKET_V4, 1 packet injected"]
    {
        assert!(printed.contains(line), "{line}:\n{printed}");
    }
    for (arguments, reason) in [
        (["--connect", "10.0.0.1"], "`10.0.0.1` is not a connection"),
        (["--packet", damaged.to_str().expect("a path in UTF-8")], "neither a pcapng nor a pcap file"),
    ] {
        let (code, _, error) = run(&arguments);
        assert!(code == Some(2), "{code:?}: {error}");
        assert!(error.contains(reason), "{code:?}: {error}");
    }
}
