//! What holds for every export, whatever the trace is. Used by the tests of mutated files and by the fuzz target.

use etw_etl::export::Form;
use etw_etl::{Event, Exporter, Format};
use serde_json::Value;

/// Exports in all formats.
pub(crate) struct Exports(Vec<(Format, Exporter<Vec<u8>>)>);

impl Exports {
    /// Starts the exports. `with` prepares each one.
    pub(crate) fn new(with: impl Fn(Exporter<Vec<u8>>) -> Exporter<Vec<u8>>) -> Self {
        let start = |format: &Format| {
            let exporter = Exporter::new(Vec::new(), *format).expect("memory takes everything");
            (*format, with(exporter))
        };
        Self(Format::ALL.iter().map(start).collect())
    }

    pub(crate) fn event(&mut self, event: &Event) {
        for (_, exporter) in &mut self.0 {
            exporter.event(event).expect("memory takes everything");
        }
    }

    /// Completes the exports of this many events, and checks them.
    pub(crate) fn check(self, events: u64) {
        for (format, exporter) in self.0 {
            let bytes = exporter.finish().expect("memory takes everything");
            let text = String::from_utf8(bytes).expect("an export is not UTF-8");
            check(format, &text, events);
        }
    }
}

fn check(format: Format, text: &str, events: u64) {
    match format.form() {
        Form::Text => {
            let control = |c: char| c.is_control() && c != '\n';
            assert!(!text.contains(control), "{format:?}: a control character reached the terminal");
        }
        Form::JsonLines => {
            assert_eq!(u64::try_from(text.lines().count()), Ok(events), "{format:?}: not one line for each event");
            for line in text.lines() {
                let value: Value = serde_json::from_str(line).expect("a line is not JSON");
                assert!(value.get("time").is_some_and(Value::is_string), "{format:?}: an event has no time");
            }
        }
        Form::Json => {
            serde_json::from_str::<Value>(text).expect("the document is not JSON");
        }
        Form::Page => {
            let data = text.split_once("application/json\">").and_then(|(_, rest)| rest.split_once("</script>"));
            let (data, _) = data.expect("the page has no data");
            assert!(!data.contains('<'), "{format:?}: the page's data could end its element");
            serde_json::from_str::<Value>(data).expect("the page's data is not JSON");
            assert_eq!(text.matches("</script>").count(), 2, "{format:?}: the data adds an element to the page");
        }
        Form::Csv => {
            let rows = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
            assert!(rows >= events, "{format:?}: fewer lines than events");
        }
    }
}
