//! The format of the Firefox Profiler.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use etw_etl::{Decoder, EventRef, FileTime};
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags, MarkerFieldFormat, MarkerTiming,
    ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle, ThreadHandle, Timestamp,
};

use super::{Sample, UNKNOWN_PROCESS};
use crate::commands::purpose;

/// The maximum number of markers. A browser cannot show more.
const MAX_MARKERS: u64 = 500_000;
/// Maximum length of a marker's text, in characters.
const MAX_TEXT: usize = 400;
/// What stands for an id that the trace does not tell. Windows writes it for events without a process.
const UNKNOWN_ID: u32 = u32::MAX;
/// 100 ns units between 1601 and 1970.
const TO_1970: i64 = 116_444_736_000_000_000;

/// An event.
struct EventMarker {
    name: StringHandle,
    text: StringHandle,
}

impl StaticSchemaMarker for EventMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Event";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.fields}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.fields}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "fields",
        label: "Fields",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _field_index: u32) -> StringHandle {
        self.text
    }

    fn number_field_value(&self, _field_index: u32) -> f64 {
        0.0
    }
}

/// A profile.
pub(super) struct Firefox {
    profile: Profile,
    origin: FileTime,
    processes: HashMap<(u32, Arc<str>), ProcessHandle>,
    threads: HashMap<(ProcessHandle, u32), ThreadHandle>,
    markers: u64,
}

impl Firefox {
    pub(super) fn new(title: &str, origin: FileTime) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit 53 bits")]
        let start = origin.0.saturating_sub(TO_1970) as f64 / 10_000.0;
        let reference = ReferenceTimestamp::from_millis_since_unix_epoch(start);
        let mut profile = Profile::new(title, reference, SamplingInterval::from_millis(1));
        profile.set_os_name("Windows");
        Self { profile, origin, processes: HashMap::new(), threads: HashMap::new(), markers: 0 }
    }

    pub(super) const fn markers(&self) -> u64 {
        self.markers
    }

    fn time(&self, event: &EventRef<'_>) -> Timestamp {
        let ticks = u64::try_from(event.header.time.0.saturating_sub(self.origin.0)).unwrap_or_default();
        Timestamp::from_nanos_since_reference(ticks.saturating_mul(100))
    }

    /// The thread of an event, with the names of its process and its own.
    fn thread(&mut self, event: &EventRef<'_>, decoder: &Decoder) -> ThreadHandle {
        let header = &event.header;
        let now = self.time(event);
        let known = header.process_id.and_then(|pid| decoder.process(pid, header.stamp));
        let name: Arc<str> = match (known, header.process_id) {
            (Some(process), _) => Arc::clone(&process.name),
            (None, Some(pid)) => format!("process {pid}").into(),
            (None, None) => UNKNOWN_PROCESS.into(),
        };
        // 0 is the id of the idle process and of its threads.
        let pid = header.process_id.unwrap_or(UNKNOWN_ID);
        let tid = header.thread_id.unwrap_or(UNKNOWN_ID);
        let profile = &mut self.profile;
        let is_new = !self.processes.contains_key(&(pid, Arc::clone(&name)));
        let process =
            *self.processes.entry((pid, Arc::clone(&name))).or_insert_with(|| profile.add_process(&name, pid, now));
        *self.threads.entry((process, tid)).or_insert_with(|| {
            let thread = profile.add_thread(process, tid, now, is_new);
            if let Some(name) = decoder.thread(tid, header.stamp) {
                profile.set_thread_name(thread, &name);
            }
            thread
        })
    }

    pub(super) fn sample(&mut self, event: &EventRef<'_>, decoder: &Decoder, sample: &Sample) {
        let thread = self.thread(event, decoder);
        let time = self.time(event);
        let profile = &mut self.profile;
        let frames: Vec<FrameInfo> = sample
            .frames
            .iter()
            .map(|name| FrameInfo {
                frame: Frame::Label(profile.intern_string(name)),
                category_pair: CategoryHandle::OTHER.into(),
                flags: FrameFlags::empty(),
            })
            .collect();
        let stack = profile.intern_stack_frames(thread, frames.into_iter());
        let weight = i32::try_from(sample.count).unwrap_or(i32::MAX);
        profile.add_sample(thread, time, stack, CpuDelta::from_millis(1.0), weight);
    }

    /// Adds any other event as a marker of its thread, if something happened at its time.
    pub(super) fn event(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) {
        if !purpose::happened(event) || event.header.process_id.is_none() || self.markers >= MAX_MARKERS {
            return;
        }
        let content = decoder.decode(event);
        let name = content.event.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| event.label());
        let fields: Vec<String> = content.fields.iter().map(ToString::to_string).collect();
        let text: String = fields.join(" ").chars().take(MAX_TEXT).collect();
        let thread = self.thread(event, decoder);
        let time = self.time(event);
        let name = self.profile.intern_string(&name);
        let text = self.profile.intern_string(&text);
        self.profile.add_marker(thread, MarkerTiming::Instant(time), EventMarker { name, text });
        self.markers += 1;
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(out, &self.profile).map_err(io::Error::from)
    }
}
