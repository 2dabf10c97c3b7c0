//! lcov's format for coverage (`.info`), as the manual page geninfo(1) describes it.

use std::fmt::Write as _;

use super::{FileLines, LineCoverage};

/// Returns the lines and functions of all files. Editors and services that show coverage read this.
pub(super) fn print(coverage: &LineCoverage) -> String {
    let mut out = if coverage.is_empty() { String::new() } else { "TN:\n".to_owned() };
    for (name, FileLines { lines, functions }) in &coverage.files {
        let _ = writeln!(out, "SF:{name}");
        for (function, (line, _)) in functions {
            let _ = writeln!(out, "FN:{line},{function}");
        }
        for (function, (_, count)) in functions {
            let _ = writeln!(out, "FNDA:{count},{function}");
        }
        let reached = functions.values().filter(|(_, count)| *count != 0).count();
        let _ = writeln!(out, "FNF:{}\nFNH:{reached}", functions.len());
        for (line, count) in lines {
            let _ = writeln!(out, "DA:{line},{count}");
        }
        let reached = lines.values().filter(|count| **count != 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{reached}\nend_of_record", lines.len());
    }
    out
}

/// Reads what [`print`] writes. Records of other kinds, such as branches, are skipped. The error is the number of a line.
pub(super) fn parse(text: &str) -> Result<LineCoverage, usize> {
    let mut coverage = LineCoverage::default();
    let mut name = String::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let (kind, value) = line.split_once(':').unwrap_or((line, ""));
        let pair = || value.split_once(',').ok_or(number);
        let file = coverage.files.get_mut(&name).ok_or(number);
        match kind {
            "SF" => {
                value.clone_into(&mut name);
                coverage.files.entry(name.clone()).or_default();
            }
            "end_of_record" => name.clear(),
            "DA" => {
                let (at, count) = pair()?;
                // Some programs add a checksum of the line.
                let count = count.split(',').next().unwrap_or_default();
                file?.add_line(at.parse().map_err(|_| number)?, count.parse().map_err(|_| number)?);
            }
            "FN" => {
                let (at, function) = pair()?;
                file?.add_function(function, at.parse().map_err(|_| number)?, 0);
            }
            "FNDA" => {
                let (count, function) = pair()?;
                file?.add_function(function, u32::MAX, count.parse().map_err(|_| number)?);
            }
            _ => {}
        }
    }
    Ok(coverage)
}
