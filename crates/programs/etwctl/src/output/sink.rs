//! The output of decoded events: text in one of the formats, packets, or a folder of Parquet files.

use std::io;

use command_line::OutputDir;
use etw_etl::export::Pcapng;
use etw_etl::pair::Role;
use etw_etl::{About, Decoded, Decoder, EventRef, Exporter};

use super::Output;
use crate::failure::Failure;

/// An output of events.
pub(crate) enum Sink {
    /// Text in one of the formats.
    Export(Box<Exporter<Output>>),
    /// A pcapng file.
    Packets(Box<Pcapng<Output>>),
    /// A folder of Parquet files.
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet::Folder>),
}

impl Sink {
    /// Creates a folder of Parquet files.
    #[cfg(feature = "parquet")]
    pub(crate) fn parquet(folder: &OutputDir) -> Result<Self, Failure> {
        Ok(Self::Parquet(Box::new(crate::parquet::Folder::create(folder.path())?)))
    }

    /// Always fails: this build cannot write Parquet.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn parquet(_folder: &OutputDir) -> Result<Self, Failure> {
        Err(Failure::Unsupported("--parquet: this etwctl was built without the feature `parquet`".to_owned()))
    }

    /// Writes an event.
    pub(crate) fn event(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        match self {
            Self::Export(exporter) => exporter.decoded(event, decoded),
            Self::Packets(packets) => packets.event(event, decoded),
            #[cfg(feature = "parquet")]
            Self::Parquet(folder) => folder.event(event, decoded),
        }
    }

    /// Writes an event without decoding it to a tree, if this output can. Returns `false` if [`event`](Self::event) must write it.
    #[cfg_attr(not(feature = "parquet"), expect(clippy::unnecessary_wraps, reason = "Parquet is written to files"))]
    pub(crate) fn flat(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> io::Result<bool> {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet(folder) => folder.flat(event, decoder),
            _ => {
                let _ = (event, decoder);
                Ok(false)
            }
        }
    }

    /// Returns whether this output has to see an event that is not selected: a part of a span or of a packet.
    pub(crate) fn needs_unselected(&self, event: &EventRef<'_>) -> bool {
        match self {
            Self::Export(exporter) => exporter.has_spans() && Role::from_event(event).is_some(),
            Self::Packets(_) => Pcapng::<Output>::has_packet(event),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => false,
        }
    }

    /// Sees an event that is not selected.
    pub(crate) fn unselected(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        match self {
            Self::Export(exporter) => exporter.unselected(event, decoded),
            Self::Packets(packets) => packets.unselected(event, decoded),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => Ok(()),
        }
    }

    /// Returns whether something that began with a selected event waits for its end.
    pub(crate) fn awaits_ends(&self) -> bool {
        match self {
            Self::Export(exporter) => exporter.awaits_stops(),
            // A packet has the time of its last fragment.
            Self::Packets(_) => false,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => false,
        }
    }

    /// Flushes text, so that the events so far are visible. Other outputs are of use only when complete.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Export(exporter) => exporter.flush(),
            _ => Ok(()),
        }
    }

    /// Completes the output. Returns a note for the user, if there is one.
    pub(crate) fn finish(self, about: About) -> Result<Option<String>, Failure> {
        match self {
            Self::Export(mut exporter) => {
                exporter.about(about);
                let left_out = exporter.left_out();
                exporter.finish()?.finish()?;
                Ok((left_out > 0).then(|| {
                    format!(
                        "{left_out} events did not fit into the page; select fewer with --from, --to, --provider, --level, --where \
                         or --count"
                    )
                }))
            }
            Self::Packets(packets) => {
                let (written, left_out) = packets.counts();
                packets.finish()?.finish()?;
                let lost =
                    if left_out > 0 { format!("; {left_out} more are incomplete in the trace") } else { String::new() };
                let hint =
                    if written == 0 { ": only events of ndiscap (netsh trace) and PktMon have packets" } else { "" };
                Ok(Some(format!("{written} packets{lost}{hint}")))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(folder) => {
                let (summary, _) = folder.finish()?;
                let lost = match summary.left_out {
                    0 => String::new(),
                    count => {
                        format!("; {count} events are left out: there are too many kinds, select fewer with --provider")
                    }
                };
                Ok(Some(format!("{} files with {} events{lost}", summary.files, summary.events)))
            }
        }
    }
}
