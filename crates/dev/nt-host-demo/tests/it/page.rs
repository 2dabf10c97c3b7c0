//! Opens the page of the demo in a browser, with the events of a real run. The page's own tests are in `etw-etl`.
//!
//! Without Chromium the test prints a message and passes. It leaves screenshots in the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::demo::{image, program};

/// Runs the demo into a folder of this test.
fn demo() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-page");
    let output = program().arg(image()).arg(&folder).arg("win11-24h2").output();
    assert!(output.expect("the demo").status.success());
    folder
}

/// Opens the page at an address; returns its DOM and writes a screenshot. Without a browser, prints a message and returns `None`.
fn browse(folder: &Path, address: &str, picture: &str, scheme: &str) -> Option<String> {
    let profile = folder.join(format!("profile-{}", std::process::id()));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom"])
        .args(["--virtual-time-budget=3000", "--window-size=1400,900"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--screenshot={}", folder.join(picture).display()))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}{address}", folder.join("demo.html").display()))
        .output();
    let _ = fs::remove_dir_all(&profile);
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => panic!("chromium failed: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: no chromium to open the page with: {error}");
            None
        }
    }
}

#[test]
fn the_page_shows_what_the_demo_traced() {
    let folder = demo();
    let json = fs::read_to_string(folder.join("demo.json")).expect("JSON Lines");
    let events: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let Some(dom) = browse(&folder, "", "light.png", "1") else { return };
    assert!(dom.contains("<h1 id=\"title\">WdkEtw.DriverSample on win11-24h2, run by nt-host</h1>"));
    assert!(dom.contains(&format!("aria-rowcount=\"{}\"", events.len() + 1)), "not a row for each event");
    assert!(dom.contains("<b>9</b> activities"), "the activities of the requests");

    let refused = events.iter().position(|event| event["event"] == "RequestRefused").expect("a refused request");
    let address = format!("#filter=level%3Awarning&event={}", refused + 1);
    let dom = browse(&folder, &address, "dark.png", "0").expect("it was there before");
    assert_eq!(dom.matches("<tr class=\"row\"").count(), 3, "the refused requests");
    assert!(dom.contains("<h2>RequestRefused</h2>"));
    assert!(dom.contains("0xC0000023 STATUS_BUFFER_TOO_SMALL</dd>"), "the status");
    assert!(
        dom.contains(events[refused]["activity"].as_str().expect("an activity")),
        "the field view has the activity"
    );
    for picture in ["light.png", "dark.png"] {
        assert!(fs::read(folder.join(picture)).expect("a picture").starts_with(b"\x89PNG"));
    }
}
