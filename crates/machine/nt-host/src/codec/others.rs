//! Types of other crates.

use etw_etl::{Clock, ClockKind, FileTime};
use nt_machine::{
    Answer, Below, Connection, Delivered, FileOpen, FileRequest, Gap, GapKind, HardwareAccess, IoRequest, KeyOperation,
    LayerVerdict, Notification, Packet, Passage, Register, RequestKind, TargetEvent, Verdict, WmiOperation, WmiRequest,
};

use super::{Wire, structures, variants};

structures! {
    Answer { status, information, output, reached }
    Below { device, kind, code, status, output, delay }
    Clock { kind, frequency, start, start_stamp }
    Connection { remote, local, inbound, udp, process, application }
    Delivered { inbound, injected, data }
    FileOpen { path, disposition, options, access }
    FileRequest { kind, class, offset, input, output }
    Gap { kind, detail, advice }
    HardwareAccess { register, width, is_write, value }
    IoRequest { kind, code, input, output, output_data }
    LayerVerdict { layer, verdict, callouts }
    Packet { data, inbound }
    Passage { id, verdict, layers, redirected, delivered }
    WmiRequest { guid, instance, operation, input, output }
}

variants! {
    ClockKind { PerformanceCounter = 1, SystemTime = 2, Cycles = 3, }
    KeyOperation { CreateKey = 0, OpenKey = 1, DeleteKey = 2, RenameKey = 3, DeleteValue = 4, QueryValue = 5, }
    Notification {
        ProcessCreated { process, parent, image, command_line } = 1,
        ProcessExited { process } = 2,
        Thread { process, thread, created } = 3,
        ImageLoaded { process, image, size } = 4,
        RegistrySetValue { value, kind, data } = 5,
        HandleCreated { thread, duplicated, access } = 6,
        Registry { operation, key, name } = 7,
        TargetDevice { device, event } = 8,
    }
    Register { Port(address) = 1, Memory(address) = 2, }
    TargetEvent { QueryRemove = 0, RemoveCanceled = 1, RemoveComplete = 2, }
    Verdict { Permit = 0, Block = 1, Absorb = 2, Pend = 3, }
    WmiOperation { Query = 0, Set = 1, SetItem(item) = 2, Method(method) = 3, Events(on) = 4, Collection(on) = 5, }
}

impl Wire for FileTime {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.cast_unsigned().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u64::get(from).map(|time| Self(time.cast_signed()))
    }
}

/// As its index in the list of all kinds.
impl Wire for GapKind {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Self::ALL.get(usize::from(u8::get(from)?)).copied()
    }
}

impl Wire for RequestKind {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_int().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u8::get(from).map(Self::from_int)
    }
}
