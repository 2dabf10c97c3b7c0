//! What an event is for, by its hook id or by its provider and id: what a schema calls it does not matter.

use etw_etl::EventRef;
use etw_etl::format::record::Layout;
use etw_types::{Guid, Opcode};

/// The class of descriptions of events that merging tools add.
const EVENT_METADATA: Guid = Guid::from_u128(0xbbcc_f6c1_6cd1_48c4_80ff_8394_82e3_7671);
/// The classes of descriptions of images and of the system that they add.
const IMAGE_ID: Guid = Guid::from_u128(0xb3e6_75d7_2554_4f18_830b_2762_7325_60de);
const SYS_CONFIG: Guid = Guid::from_u128(0x9b79_ee91_b5fd_41c0_a243_4248_e266_e9d0);
/// Microsoft-Windows-DotNETRuntime and its rundown, which describes methods and modules.
const DOTNET: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
const DOTNET_RUNDOWN: Guid = Guid::from_u128(0xa669_021c_c450_4609_a035_5af5_9af4_df18);
/// Microsoft-Windows-Kernel-Process, and its event for a process that was there before.
const KERNEL_PROCESS: Guid = Guid::from_u128(0x22fb_2cd6_0e7b_422b_a0c7_2fad_1fd0_e716);
const PROCESS_RUNDOWN: u16 = 15;
/// The id of an `EventSource` event with a part of its manifest.
const MANIFEST: u16 = 0xFFFE;

/// The hook id of the record that begins a file.
const FILE_HEADER: u16 = 0;
/// The groups of hook ids of records about the session, of call stacks and of the configuration.
const GROUP_SESSION: u16 = 0x00;
const GROUP_STACK: u16 = 0x18;
const GROUP_CONFIGURATION: u16 = 0x0B;

/// What an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It describes other events, whenever it was written.
    Description,
    /// It is the stack of an event at this time stamp.
    Stack(u64),
    /// It belongs to the file that is read.
    FileHeader,
    Event,
}

impl Purpose {
    pub(super) fn new(event: &EventRef<'_>) -> Self {
        let id = event.header.descriptor.id;
        if !event.header.layout.is_kernel() {
            let is_description = event.header.provider.is_some_and(|guid| is_added(guid) || guid == DOTNET_RUNDOWN);
            return if is_description || id == MANIFEST { Self::Description } else { Self::Event };
        }
        match id {
            FILE_HEADER => Self::FileHeader,
            // Stacks: addresses, and references to definitions.
            0x1820 | 0x1825 | 0x1826 => {
                Self::Stack(event.payload().first_chunk().map_or(0, |stamp| u64::from_le_bytes(*stamp)))
            }
            // Processes and images, threads, names of files, keys of the registry, the configuration, definitions of stacks.
            0x0001..=0x00FF
            | 0x0300..=0x03FF
            | 0x0501..=0x0504
            | 0x0548
            | 0x0400
            | 0x0420
            | 0x0423
            | 0x0424
            | 0x0916
            | 0x0918
            | 0x0919
            | 0x0B00..=0x0BFF
            | 0x1400..=0x14FF
            | 0x1822..=0x1824 => Self::Description,
            _ => Self::Event,
        }
    }
}

/// Whether merging tools add events of a class, to describe images, volumes and events.
fn is_added(class: Guid) -> bool {
    matches!(class, EVENT_METADATA | IMAGE_ID | SYS_CONFIG)
}

/// Returns whether an event describes others, whenever it was written, instead of something that happened at its time.
pub(super) fn describes(event: &EventRef<'_>) -> bool {
    Purpose::new(event) != Purpose::Event
}

/// Returns whether a record is not an event of its own: the header of the file, a call stack, or what merging tools add.
pub(super) fn is_about_others(event: &EventRef<'_>) -> bool {
    if event.header.layout.is_kernel() {
        matches!(event.header.descriptor.id >> 8, GROUP_SESSION | GROUP_STACK)
    } else {
        event.header.provider.is_some_and(is_added)
    }
}

/// Returns whether an event tells that something happened at its time: it is not about the session, the machine or other events, and
/// not the rundown of what was there before.
pub(super) fn happened(event: &EventRef<'_>) -> bool {
    let is_configuration = event.header.layout.is_kernel() && event.header.descriptor.id >> 8 == GROUP_CONFIGURATION;
    !is_about_others(event) && !is_configuration && !is_rundown(event)
}

/// Returns whether an event is part of a rundown: of what was there when the session began or ended.
fn is_rundown(event: &EventRef<'_>) -> bool {
    let header = &event.header;
    let id = header.descriptor.id;
    if header.layout.is_kernel() {
        return is_kernel_rundown(id);
    }
    match header.provider {
        Some(DOTNET_RUNDOWN) => true,
        Some(DOTNET) => is_dotnet_rundown(id),
        Some(KERNEL_PROCESS) if id == PROCESS_RUNDOWN => true,
        _ => header.layout == Layout::Event && matches!(header.descriptor.opcode, Opcode::DC_Start | Opcode::DC_Stop),
    }
}

/// Returns whether an event of the kernel describes what was there before or after.
#[rustfmt::skip]
const fn is_kernel_rundown(hook: u16) -> bool {
    // By group: memory, processes, files, threads, the registry, notifications, pools, locks, handles, images.
    matches!(
        hook,
        0x0248 | 0x024D | 0x0264 | 0x0280 | 0x0281 | 0x0284 | 0x0285
            | 0x0303 | 0x0304 | 0x0321
            | 0x0424 | 0x0427 | 0x0428
            | 0x0503 | 0x0504
            | 0x0918 | 0x0919 | 0x0927
            | 0x0D24
            | 0x0E28..=0x0E2F
            | 0x0F20 | 0x0F4D | 0x0F4E
            | 0x1124..=0x1127
            | 0x1403 | 0x1404
    )
}

/// Returns whether an event of the .NET runtime describes what was there before: methods and modules, and the end of their list.
const fn is_dotnet_rundown(id: u16) -> bool {
    matches!(id, 135..=140 | 149 | 150)
}

#[cfg(test)]
mod tests {
    use etw_manifest::built_in::BuiltIn;
    use etw_manifest::{EventKey, PointerSize, Schema};
    use etw_types::Guid;

    use super::{DOTNET, GROUP_CONFIGURATION, GROUP_SESSION, GROUP_STACK, is_dotnet_rundown, is_kernel_rundown};

    /// The words that documents use for events about what was there before or after.
    const WORDS: [&str; 3] = ["DCStart", "DCEnd", "undown"];

    /// The name that the documents have for an event, in its newest version.
    fn name(provider: Guid, id: u16, opcode: u8, is_classic: bool) -> String {
        let key = EventKey { provider, id, version: u8::MAX, opcode, is_classic, pointer: PointerSize::Eight };
        BuiltIn.event(&key).map(|schema| schema.name.to_string()).unwrap_or_default()
    }

    fn is_called_rundown(name: &str) -> bool {
        WORDS.iter().any(|word| name.contains(word))
    }

    #[test]
    fn the_rundowns_of_the_kernel_are_those_of_the_documents() {
        let mut wrong = Vec::new();
        for hook in 0..=u16::MAX {
            let [opcode, group] = hook.to_le_bytes();
            let is_quiet = [GROUP_SESSION, GROUP_STACK, GROUP_CONFIGURATION].contains(&u16::from(group));
            let Some(class) = BuiltIn::class_of_hook(hook).filter(|_| !is_quiet) else { continue };
            let name = name(class, 0, opcode, true);
            if is_called_rundown(&name) != is_kernel_rundown(hook) {
                wrong.push(format!("{hook:#06x} {name}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_rundowns_of_the_net_runtime_are_those_of_its_manifest() {
        let mut wrong = Vec::new();
        for id in 0..=u16::MAX {
            let name = name(DOTNET, id, 0, false);
            if is_called_rundown(&name) != is_dotnet_rundown(id) {
                wrong.push(format!("{id} {name}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
