//! Bar charts as SVG: ours next to the peer's, one group per row. No external fonts, scripts or styles.

use std::fmt::Write as _;

use super::{Report, plain};

const WIDTH: f64 = 860.0;
const PLOT: f64 = 220.0;
const MARGIN: f64 = 48.0;
const HEAD: f64 = 46.0;
const FOOT: f64 = 34.0;
const OURS: &str = "#2563eb";
const PEER: &str = "#94a3b8";

/// One plot: a title, and for each group its name, our value and the peer's.
struct Plot {
    title: &'static str,
    groups: Vec<(String, f64, f64)>,
}

/// Draws the chart of a report: instructions of enabled and disabled events, and bytes per event. Empty plots are
/// omitted.
#[must_use]
pub fn chart(report: &Report) -> String {
    let event = |row: &str| row.starts_with('E');
    let plots = [
        plot(report, "Instructions of an enabled event, kernel excluded", "instructions", "enabled", event),
        plot(report, "Instructions of a disabled event", "instructions", "disabled", event),
        plot(report, "Bytes of code and read-only data", "bytes", "", |row: &str| row.contains("per event")),
    ];
    let plots: Vec<&Plot> = plots.iter().filter(|plot| !plot.groups.is_empty()).collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of plots")]
    let height = plots.len() as f64 * (HEAD + PLOT + FOOT) + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut top = 0.0;
    for plot in plots {
        draw(&mut svg, plot, top);
        top += HEAD + PLOT + FOOT;
    }
    svg + "</svg>\n"
}

/// Returns the selected rows of a table, with the columns `ours WHAT` and `peer WHAT`.
fn plot(report: &Report, title: &'static str, id: &str, what: &str, wanted: impl Fn(&str) -> bool) -> Plot {
    let column = |side: &str| format!("{side} {what}").trim_end().to_owned();
    let (ours, peer) = (column("ours"), column("peer"));
    let sections = report.sections.iter().filter(|section| section.id == id);
    let names = sections.flat_map(|section| &section.rows).filter_map(|row| row.cells.first()).map(super::Cell::show);
    let groups = names
        .filter(|name| wanted(name))
        .filter_map(|name| {
            let ours = report.number(id, &name, &ours)?;
            let peer = report.number(id, &name, &peer)?;
            Some((name, ours, peer))
        })
        .collect();
    Plot { title, groups }
}

fn draw(svg: &mut String, plot: &Plot, top: f64) {
    let largest = plot.groups.iter().flat_map(|group| [group.1, group.2]).fold(1.0, f64::max);
    let floor = top + HEAD + PLOT;
    #[expect(clippy::cast_precision_loss, reason = "a handful of groups")]
    let step = (WIDTH - 2.0 * MARGIN) / plot.groups.len() as f64;
    let bar = (step * 0.36).min(60.0);
    let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"15\">{}</text>", top + 22.0, escaped(plot.title));
    for (index, (name, color)) in [("wdk-etw", OURS), ("tracelogging 1.2.4", PEER)].into_iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "two entries")]
        let x = WIDTH - MARGIN - 250.0 + 100.0 * index as f64;
        let y = top + 26.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"10\" height=\"10\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 14.0,
            y + 10.0,
            escaped(name)
        );
    }
    let _ = writeln!(
        svg,
        "<line x1=\"{MARGIN}\" y1=\"{floor:.1}\" x2=\"{:.1}\" y2=\"{floor:.1}\" stroke=\"#334155\"/>",
        WIDTH - MARGIN
    );
    for (index, (name, ours, peer)) in plot.groups.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a handful of groups")]
        let middle = MARGIN + step * (index as f64 + 0.5);
        for (left, value, color) in [(middle - bar - 1.0, *ours, OURS), (middle + 1.0, *peer, PEER)] {
            let height = (PLOT - 20.0) * value / largest;
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"{height:.1}\" fill=\"{color}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                floor - height,
                left + bar / 2.0,
                floor - height - 4.0,
                plain((value * 10.0).round() / 10.0)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            floor + 16.0,
            escaped(name)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Report, Section};
    use super::chart;

    fn report() -> Report {
        let columns = ["event", "ours enabled", "peer enabled"];
        let mut section = Section::new("instructions", "Instructions", "", &columns);
        section.row(vec![Cell::text("E0 <k0>"), Cell::count(10), Cell::count(40)], "");
        section.row(vec![Cell::text("E1 k0"), Cell::count(20), Cell::Empty], "");
        Report { sections: vec![section], ..Report::default() }
    }

    #[test]
    fn bars_are_as_high_as_their_values() {
        let svg = chart(&report());
        assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("height=\"200.0\""), "the largest fills the plot: {svg}");
        assert!(svg.contains("height=\"50.0\""), "a quarter of it: {svg}");
        assert!(svg.contains("E0 &lt;k0&gt;"));
        assert!(!svg.contains("E1 k0"), "half a pair is no pair");
    }

    #[test]
    fn without_numbers_there_is_an_empty_picture() {
        let svg = chart(&Report::default());
        assert!(svg.contains("viewBox") && !svg.contains("<line"));
    }
}
