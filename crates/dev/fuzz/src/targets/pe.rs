//! Driver images. Guarantees: every file parses or gives an error that names a field. Reports contain no control
//! characters from the file, and JSON reports are valid JSON.

use driver_package::report::{json, table};
use driver_package::{Image, Target, Verdict};
use serde_json::Value;

/// Parses the image, checks the load rules and makes the reports.
pub(super) fn run(bytes: &[u8]) {
    let image = match Image::parse(bytes) {
        Ok(image) => image,
        Err(error) => {
            assert!(!error.field().is_empty());
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let verdict = Verdict::judge(&image, Target::default());
    assert!(verdict.is_loadable() == (verdict.refusals().count() == 0));
    if let Some(section) = image.entry_section() {
        assert!(image.sections.contains(section));
    }
    let text = table::image("file", &image, &verdict, table::Style::default());
    let control = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(control), "a control character reached the terminal");
    let text = json::image("file", &image, &verdict);
    let value: Value = serde_json::from_str(&text).expect("the report is not JSON");
    assert!(value["file"] == "file");
}
