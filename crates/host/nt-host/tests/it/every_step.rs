//! Written by the fuzzer's test of its own tests; `UPDATE_DOCS=1 cargo test -p nt-host every_step` writes it again.

use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{Below, Device, File, IoRequest, NtHost, RegistryKey, RegistryValue, RequestKind};

#[test]
#[allow(unused, clippy::all, clippy::pedantic, reason = "generated code")]
fn every_step() -> Result<(), nt_host::Error> {
    let host = NtHost::builder().driver("../../../target/driver/x64/driver_sample.sys").cancel_after(Duration::from_millis(250)).below(Below { device: None, kind: Some(RequestKind::from_int(3)), code: None, status: NtStatus::from_int(0xC000000D), output: vec![1], delay: Duration::from_nanos(1000000) }).registry(RegistryKey::Parameters, "Number", RegistryValue::Dword(1)).registry(RegistryKey::Path("\\Registry\\Machine\\Key".into()), "Text", RegistryValue::Text("a".into())).registry(RegistryKey::Device, "Bytes", RegistryValue::Binary(vec![1])).start()?;
    let mut device = Some(host.add_device()?);
    let mut file_1 = device.as_ref().and_then(|device| device.open().ok());
    let _ = file_1.as_ref().map(|file| file.ioctl(0x22E000, &[1, 2], 16));
    let _ = file_1.as_ref().map(|file| file.internal_ioctl(0x22E000, &[1, 2], 16));
    let _ = file_1.as_ref().map(|file| file.read(8));
    let _ = file_1.as_ref().map(|file| file.write(&[3]));
    let mut request_1 = file_1.as_ref().and_then(|file| file.begin_ioctl(0x22E000, &[1, 2], 16).ok());
    let mut request_2 = file_1.as_ref().and_then(|file| file.begin_read(8).ok());
    let mut request_3 = file_1.as_ref().and_then(|file| file.begin_write(&[3]).ok());
    if let Some(request) = request_2.take() {
        let _ = request.cancel();
        let _ = request.wait();
    }
    let mut file_2 = device.as_ref().and_then(|device| device.open().ok());
    let _ = host.interleave(7, &[file_2.as_ref().map(|file| (file, IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x22E000, input: vec![1, 2], output: 16 })), file_1.as_ref().map(|file| (file, IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x22E000, input: vec![1, 2], output: 16 }))].into_iter().flatten().collect::<Vec<_>>());
    let _ = file_1.take().map(File::close);
    let _ = host.change_next(4, 0x1000);
    let _ = host.fail_next(1);
    let _ = host.answer_next(Some(Below { device: None, kind: Some(RequestKind::from_int(3)), code: None, status: NtStatus::from_int(0xC000000D), output: vec![1], delay: Duration::from_nanos(1000000) }));
    let _ = host.answer_next(None);
    let _ = host.advance(Duration::from_nanos(100000000));
    let _ = device.as_ref().map(|device| device.interrupt(0));
    let _ = device.as_ref().map(Device::sleep);
    let _ = device.as_ref().map(Device::wake);
    let _ = device.as_ref().map(Device::rebalance);
    device = device.filter(|device| device.clone().remove().is_err());
    device = device.or_else(|| host.add_device().ok());
    device = device.filter(|device| device.clone().surprise_remove().is_err());
    let mut file_3 = host.open("\\\\.\\None").ok();
    let _ = host.advance(Duration::from_millis(2500));
    let _ = device.map(Device::remove);
    let _ = host.unload();
    let report = host.report();
    assert!(report.findings().is_empty(), "{:#?}", report.findings());
    Ok(())
}
