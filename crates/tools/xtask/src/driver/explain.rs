//! Finds out from a failed build's messages what the kit lacks, and says how to add it; and keeps one message of cargo from
//! the reader.

const GUIDE: &str = "crates/host/wdk-kit/README.md, \"Adding to the kit\"";

/// One line for each thing that is missing, in the order of the messages.
pub(super) fn explain(messages: &str) -> Vec<String> {
    let plain = strip_colors(messages);
    let mut lines = Vec::new();
    for line in plain.lines() {
        if let Some(text) = header(line).or_else(|| symbol(line)).or_else(|| framework(line)).or_else(|| binding(line))
            && !lines.contains(&text)
        {
            lines.push(text);
        }
    }
    lines
}

/// Clang: `fatal error: 'x.h' file not found`; the kit itself: ``the kit has no header `x.h` ``.
fn header(line: &str) -> Option<String> {
    let name = match line.split_once("file not found") {
        Some((before, _)) => between(before.split_once("error:")?.1, '\'')?,
        None => between(line.split_once("the kit has no header ")?.1, '`')?,
    };
    Some(format!("no header `{name}`: put it into crates/host/wdk-kit/kit/include/km ({GUIDE})"))
}

/// The linker: `undefined symbol: X`.
fn symbol(line: &str) -> Option<String> {
    let name = line.split_once("undefined symbol: ")?.1.trim();
    Some(format!(
        "no routine `{name}` to link with: if ntoskrnl.exe or hal.dll exports it, declare it in a header of \
         crates/host/wdk-kit/kit/include/km/nt, which also adds it to the import library ({GUIDE})"
    ))
}

/// wdk-macros, when a WDF function has no `PFN_` type.
fn framework(line: &str) -> Option<String> {
    let name = ["Failed to find ", "not found: ", "no entry found for "]
        .iter()
        .filter_map(|phrase| line.split_once(phrase))
        .flat_map(|(_, after)| after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .find(|word| word.starts_with("Wdf") || word.starts_with("PFN_WDF"))?;
    Some(format!(
        "no signature for the framework function `{name}`: write it behind its index in \
         crates/host/wdk-kit/kit/wdf/functions.txt ({GUIDE})"
    ))
}

/// The compiler: a name that `wdk_sys` does not have.
fn binding(line: &str) -> Option<String> {
    let is_missing = ["cannot find ", "unresolved import "].iter().any(|phrase| line.contains(phrase));
    if !line.contains("error") || !is_missing || !["wdk_sys", "ntddk"].iter().any(|name| line.contains(name)) {
        return None;
    }
    let name = between(line, '`')?.rsplit("::").next()?;
    Some(format!(
        "no declaration of `{name}` (spelt as in the WDK?): add it to a header of crates/host/wdk-kit/kit/include ({GUIDE})"
    ))
}

/// Cargo warns of every `paths` entry that changes dependencies, in a paragraph that begins with these words and ends with an
/// address. The change is what the entry is for.
const OVERRIDE: &str = "warning: path override for crate `wdk-build`";
const OVERRIDE_ENDS: &str = "overriding-dependencies.html";

/// Passes lines on, without that warning.
#[derive(Default)]
pub(super) struct WithoutOverride {
    pending: Vec<u8>,
    is_inside: bool,
}

impl WithoutOverride {
    /// What of the text is to be shown now: whole lines, and an unfinished one unless it could be the warning's beginning.
    pub(super) fn pass(&mut self, text: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(text);
        let mut shown = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.line(&line, &mut shown);
        }
        let start = strip_colors(&String::from_utf8_lossy(&self.pending));
        if !self.is_inside && !start.is_empty() && !OVERRIDE.starts_with(&start) && !start.starts_with(OVERRIDE) {
            shown.append(&mut self.pending);
        }
        shown
    }

    /// What is left at the end.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        if self.is_inside { Vec::new() } else { std::mem::take(&mut self.pending) }
    }

    fn line(&mut self, line: &[u8], shown: &mut Vec<u8>) {
        let text = strip_colors(&String::from_utf8_lossy(line));
        let was_inside = self.is_inside;
        self.is_inside |= text.starts_with(OVERRIDE);
        if !self.is_inside {
            shown.extend_from_slice(line);
        } else if was_inside && text.trim_end().ends_with(OVERRIDE_ENDS) {
            self.is_inside = false;
        }
    }
}

/// What stands between the first two marks.
fn between(text: &str, mark: char) -> Option<&str> {
    text.split(mark).nth(1)
}

/// The text without escape sequences that colour it.
fn strip_colors(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, after)| after));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{WithoutOverride, explain};

    #[test]
    fn the_warning_about_the_override_is_not_shown_and_everything_else_is() {
        let said = "   Compiling x\nwarning: path override for crate `wdk-build` has altered the original list of\n\
                    dependencies; the\n\nThis\n\nhttps://doc/overriding-dependencies.html\nwarning: unused\n    Bui";
        for size in [1, 7, 1000] {
            let mut filter = WithoutOverride::default();
            let mut shown: Vec<u8> = said.as_bytes().chunks(size).flat_map(|chunk| filter.pass(chunk)).collect();
            shown.extend(filter.rest());
            assert_eq!(String::from_utf8(shown).unwrap(), "   Compiling x\nwarning: unused\n    Bui", "{size}");
        }
    }

    #[test]
    fn a_missing_header_is_named() {
        let said = "wdf-input.h:3:10: fatal error: 'usb.h' file not found\n";
        assert!(explain(said)[0].starts_with("no header `usb.h`"));
        let said = "Error: the kit has no header `hidclass.h`, which wdk-sys' Hid bindings need; see\n";
        assert!(explain(said)[0].starts_with("no header `hidclass.h`"));
    }

    #[test]
    fn an_undefined_symbol_is_named_once() {
        let said = "rust-lld: error: undefined symbol: KeFoo\n>>> x\nrust-lld: error: undefined symbol: KeFoo\n";
        let lines = explain(said);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("no routine `KeFoo`"));
    }

    #[test]
    fn a_name_that_wdk_sys_lacks_is_named() {
        let said = "error[E0425]: cannot find function `IoFoo` in module `wdk_sys::ntddk`\n\
                    \x1b[1merror[E0432]\x1b[0m: unresolved import `wdk_sys::FOO_CONFIG`\n";
        let lines = explain(said);
        assert!(lines[0].starts_with("no declaration of `IoFoo`"), "{lines:?}");
        assert!(lines[1].starts_with("no declaration of `FOO_CONFIG`"));
    }

    #[test]
    fn mistakes_of_the_driver_are_not_blamed_on_the_kit() {
        assert!(
            explain("error[E0308]: mismatched types\nerror[E0425]: cannot find value `x` in this scope\n").is_empty()
        );
    }
}
