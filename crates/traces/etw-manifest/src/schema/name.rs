//! The name of a manifest event.

use crate::message;

/// Maximum length of a name that is made from a message, in characters.
const MAX_MESSAGE: usize = 60;

/// What an event's description has that can name it. Empty texts are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named<'a> {
    pub(crate) task: &'a str,
    pub(crate) opcode: &'a str,
    pub(crate) symbol: &'a str,
    pub(crate) message: &'a str,
    pub(crate) keyword: &'a str,
    pub(crate) id: u16,
}

impl Named<'_> {
    /// Returns the name: task and opcode; without a task, the symbol or the opcode; without all of them, the start of the
    /// message, or a keyword and the id.
    pub(crate) fn name(self) -> String {
        let opcode = self.opcode.strip_prefix("win:").unwrap_or(self.opcode).trim_end();
        let opcode = if opcode == "Info" { "" } else { opcode };
        let task = if self.task.starts_with("win:") { "" } else { self.task.trim_end() };
        match (task, opcode, self.symbol) {
            ("", "", "") => match (subject(self.message), self.keyword) {
                (Some(subject), _) => subject,
                (None, "") => format!("Event {}", self.id),
                (None, keyword) => format!("{keyword} {}", self.id),
            },
            ("", opcode, "") => opcode.to_owned(),
            ("", _, symbol) => symbol.to_owned(),
            (task, "", _) => task.to_owned(),
            (task, opcode, _) => format!("{task}/{opcode}"),
        }
    }
}

/// Returns the first line of a message with ellipses for its inserts, or `None` if it has no words of its own.
fn subject(text: &str) -> Option<String> {
    let text = message::format(text, |_| Some("…".to_owned()));
    let line = text.lines().next()?.trim().trim_end_matches(['.', ':']).trim_end();
    if !line.contains(char::is_alphabetic) {
        return None;
    }
    Some(match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", line.get(..end)?.trim_end()),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn an_event_is_named_by_the_best_that_its_description_has() {
        let event = Named { id: 160, ..Named::default() };
        for (named, name) in [
            (Named { task: "Copy", opcode: "win:Start", symbol: "COPY", ..event }, "Copy/Start"),
            (Named { task: "Copy", opcode: "win:Info", symbol: "COPY", ..event }, "Copy"),
            (Named { task: "win:None", opcode: "win:Start", symbol: "COPY", ..event }, "COPY"),
            (Named { opcode: "Send ", message: "Sent %1", ..event }, "Send"),
            (
                Named { message: "Driver %1!s! was loaded.%nIts base is %2", keyword: "K", ..event },
                "Driver … was loaded",
            ),
            (Named { message: "%1: %2", keyword: "Memory", ..event }, "Memory 160"),
            (event, "Event 160"),
        ] {
            assert_eq!(named.name(), name, "{named:?}");
        }
        let long = "word ".repeat(30);
        assert_eq!(Named { message: &long, ..event }.name().chars().count(), 60);
    }
}
