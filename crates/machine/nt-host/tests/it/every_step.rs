//! Written by the fuzzer's test of its own tests; `UPDATE_DOCS=1 cargo test -p nt-host --lib every_step` writes it again.

use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{
    Below, Connection, Device, Error, File, IoRequest, NtHost, Packet, Passage, Port, RegistryKey, RegistryValue, RequestKind, VolumeFile,
};

#[test]
#[allow(unused, clippy::all, clippy::pedantic, reason = "generated code")]
fn every_step() -> Result<(), Error> {
    let host = NtHost::builder().driver("../../../target/driver/x64/driver_sample.sys").cancel_after(Duration::from_millis(250)).below(Below { device: None, kind: Some(RequestKind::from_int(3)), code: None, status: NtStatus::from_int(0xC000000D), output: vec![1], delay: Duration::from_nanos(1000000) }).registry(RegistryKey::Parameters, "Number", RegistryValue::Dword(1)).registry(RegistryKey::Path("\\Registry\\Machine\\Key".into()), "Text", RegistryValue::Text("a".into())).registry(RegistryKey::Device, "Bytes", RegistryValue::Binary(vec![1])).start()?;
    // A driver that filters may have no device.
    let mut device = match host.add_device() {
        Err(Error::Status(NtStatus::NoSuchDevice)) => None,
        device => Some(device?),
    };
    let (mut file, mut position, mut port) = (None::<VolumeFile>, 0, None::<Port>);
    let mut connections: Vec<Passage> = Vec::new();
    let mut file_1 = host.open("\\\\.\\None").ok();
    let mut file_2 = device.as_ref().and_then(|device| device.open().ok());
    let _ = host.interleave(7, &[file_2.as_ref().map(|file| (file, IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x22E000, input: vec![1, 2], output: 16, ..IoRequest::default() })), file_2.as_ref().map(|file| (file, IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x22E001, input: vec![1, 2], output: 16, output_data: vec![7, 8], ..IoRequest::default() }))].into_iter().flatten().collect::<Vec<_>>());
    let _ = file_2.as_ref().map(|file| file.ioctl(0x22E001, &[], 0));
    let _ = file_2.as_ref().map(|file| file.ioctl_with_output(0x22E001, &[], &[7, 8]));
    let _ = file_2.as_ref().map(|file| file.ioctl(0x22E000, &[], 4096));
    let _ = file_2.as_ref().map(|file| file.internal_ioctl_with_output(0x3, &[], &[4]));
    let _ = file_2.as_ref().map(|file| file.internal_ioctl(0x22E000, &[1, 2], 4096));
    let _ = file_2.as_ref().map(|file| file.read(8));
    let _ = file_2.as_ref().map(|file| file.write(&[3]));
    let _ = file_2.as_ref().map(|file| file.write(&[]));
    let mut request_1 = file_2.as_ref().and_then(|file| file.begin_ioctl(0x22E000, &[1, 2], 16).ok());
    let mut request_2 = file_2.as_ref().and_then(|file| file.begin_ioctl_with_output(0x22E001, &[], &[5]).ok());
    let mut request_3 = file_2.as_ref().and_then(|file| file.begin_ioctl(0x22E000, &[], 4096).ok());
    let mut request_4 = file_2.as_ref().and_then(|file| file.begin_read(8).ok());
    let mut request_5 = file_2.as_ref().and_then(|file| file.begin_write(&[3]).ok());
    if let Some(request) = request_2.take() {
        let _ = request.cancel();
        let _ = request.wait();
    }
    let _ = file_2.take().map(File::close);
    let _ = host.fail_next(3);
    let _ = host.answer_next(Some(Below { device: None, kind: Some(RequestKind::from_int(3)), code: None, status: NtStatus::from_int(0xC000000D), output: vec![1], delay: Duration::from_nanos(1000000) }));
    let _ = host.answer_next(Some(Below { device: Some("\\Device\\Other".into()), kind: None, code: None, status: NtStatus::from_int(0x102), output: vec![1, 2], delay: Duration::from_nanos(0) }));
    let _ = host.answer_next(None);
    let _ = host.change_next(4, 0x1000);
    let _ = host.client_memory(0x10000000, &[1, 2]);
    let _ = host.client_memory(0x10000FF0, &[0, 3, 0, 0]);
    let _ = host.client_memory(0x20000000, &[0, 0, 0, 0, 0]);
    let _ = host.advance(Duration::from_nanos(5000000));
    let _ = file.take().map(VolumeFile::close);
    (file, position) = (host.volume().open("\\dir\\a.txt").ok(), 0);
    connections.extend(host.connect(Connection { inbound: false, udp: true, ..Connection::to("10.0.0.1:53".parse().expect("an address")) }));
    connections.extend(host.connect(Connection { inbound: true, udp: false, ..Connection::to("[fd00::1]:5000".parse().expect("an address")) }));
    let _ = connections.last().map(|connection| host.transfer(connection, true, &[1]));
    let _ = connections.last().map(|connection| host.transfer(connection, false, &[]));
    for connection in connections.drain(..) { let _ = host.disconnect(&connection); }
    let _ = host.send_packet(Packet { data: vec![69, 0], inbound: false });
    let _ = device.as_ref().map(|device| device.interrupt(0));
    let _ = device.as_ref().map(Device::sleep);
    let _ = device.as_ref().map(Device::wake);
    let _ = device.as_ref().map(Device::rebalance);
    device = device.filter(|device| device.clone().remove().is_err());
    device = device.or_else(|| host.add_device().ok());
    device = device.filter(|device| device.clone().surprise_remove().is_err());
    let _ = file.take().map(VolumeFile::close);
    (file, position) = (host.volume().create("\\dir\\a.txt").ok(), 0);
    let _ = file.take().map(VolumeFile::close);
    (file, position) = (host.volume().open("\\dir\\a.txt").ok(), 0);
    let _ = file.take().map(VolumeFile::close);
    (file, position) = (host.volume().open("\\dir\\a b:c").ok(), 0);
    if let Some(Ok(answer)) = file.as_ref().map(|file| file.write(position, &[112, 108, 97, 105, 110, 32, 116, 101, 120, 116])) {
        position += if answer.status.is_success() { answer.information } else { 0 };
    }
    if let Some(Ok(answer)) = file.as_ref().map(|file| file.write(position, &[0, 255])) {
        position += if answer.status.is_success() { answer.information } else { 0 };
    }
    if let Some(Ok(answer)) = file.as_ref().map(|file| file.read(position, 64)) {
        position += if answer.status.is_success() { answer.information } else { 0 };
    }
    let _ = file.as_ref().map(|file| file.query(5, 24));
    let _ = file.as_ref().map(|file| file.query(5, 4096));
    let _ = file.as_ref().map(|file| file.set(20, &[3, 0, 0, 0, 0, 0, 0, 0]));
    let _ = file.as_ref().map(|file| file.rename("\\dir\\b.txt"));
    let _ = file.as_ref().map(|file| file.delete());
    let _ = file.take().map(VolumeFile::close);
    let _ = file.take().map(VolumeFile::close);
    (file, position) = (host.volume().create_folder("\\folder").ok(), 0);
    let _ = file.as_ref().map(|file| file.list("*.txt"));
    let _ = host.volume().detach();
    let _ = host.volume().attach();
    let _ = port.take().map(Port::close);
    port = host.volume().connect("\\PortName", &[]).ok();
    let _ = port.as_ref().map(|port| port.send(&[112, 108, 97, 105, 110, 32, 116, 101, 120, 116], 4096));
    let _ = port.as_ref().map(|port| port.send(&[1], 4));
    let _ = port.as_ref().map(|port| port.send(&[0, 255], 4096));
    let _ = port.as_ref().map(|port| port.reply(&[112, 108, 97, 105, 110, 32, 116, 101, 120, 116]));
    let _ = port.as_ref().map(|port| port.reply(&[0, 255]));
    let _ = port.take().map(Port::close);
    let _ = (file.map(VolumeFile::close), port.map(Port::close));
    let _ = host.advance(Duration::from_millis(2500));
    let _ = device.map(Device::remove);
    let _ = host.unload();
    let report = host.report();
    assert!(report.findings().is_empty(), "{:#?}", report.findings());
    Ok(())
}
