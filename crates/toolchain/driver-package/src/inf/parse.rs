//! Parses sections and entries with their lines, as `SetupAPI` does.
//!
//! Names are not case-sensitive, and sections with the same name are merged. Quotes are removed. `%tokens%` are kept,
//! because their values are known only after `[Strings]` has been read.

use super::Fault;

const RULE: u16 = 1002;

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inf {
    sections: Vec<Section>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name, as it is first written.
    pub name: String,
    /// The line where it begins.
    pub line: usize,
    /// The entries, in the order of the file.
    pub entries: Vec<Entry>,
}

/// A line, or several lines that are continued with a backslash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line where it begins.
    pub line: usize,
    /// The text before the equals sign, if there is one.
    pub key: Option<String>,
    /// The values between commas. Never empty.
    pub fields: Vec<String>,
}

impl Inf {
    /// Parses the text of a file.
    ///
    /// # Errors
    ///
    /// Returns rule 1002 with the line that is not valid.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut inf = Self::default();
        let mut current = None;
        for (line, logical) in logical_lines(text)? {
            if let Some(rest) = logical.strip_prefix('[') {
                let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| Fault::new(RULE, line, "the section's name does not end with `]`"))?;
                current = Some(inf.open(name, line));
                continue;
            }
            let section = current.and_then(|index: usize| inf.sections.get_mut(index));
            let section = section.ok_or_else(|| Fault::new(RULE, line, "there is a line before the first section"))?;
            section.entries.push(Entry::parse(&logical, line));
        }
        Ok(inf)
    }

    /// Returns the sections in the order of the file.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Finds the section of this name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name.eq_ignore_ascii_case(name))
    }

    /// Replaces the `%tokens%` in a value. Unknown tokens are kept.
    #[must_use]
    pub fn expand(&self, value: &str) -> String {
        let mut result = String::new();
        let mut pieces = value.split('%');
        result.push_str(pieces.next().unwrap_or_default());
        while let Some(token) = pieces.next() {
            let Some(after) = pieces.next() else {
                // A single percent sign.
                return result + "%" + token;
            };
            match self.string(token) {
                _ if token.is_empty() => result.push('%'),
                Some(text) => result.push_str(text),
                None => result = result + "%" + token + "%",
            }
            result.push_str(after);
        }
        result
    }

    /// Returns the value of a token in `[Strings]`.
    #[must_use]
    pub fn string(&self, token: &str) -> Option<&str> {
        self.section("Strings")?.first(token)?.fields.first().map(String::as_str)
    }

    fn open(&mut self, name: &str, line: usize) -> usize {
        let known = self.sections.iter().position(|section| section.name.eq_ignore_ascii_case(name));
        known.unwrap_or_else(|| {
            self.sections.push(Section { name: name.into(), line, entries: Vec::new() });
            self.sections.len() - 1
        })
    }
}

impl Section {
    /// Returns the first entry with this key.
    #[must_use]
    pub fn first(&self, key: &str) -> Option<&Entry> {
        self.all(key).next()
    }

    /// Returns every entry with this key.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &Entry> {
        let key = key.to_ascii_lowercase();
        self.entries.iter().filter(move |entry| entry.key.as_ref().is_some_and(|k| k.eq_ignore_ascii_case(&key)))
    }
}

impl Entry {
    /// Returns a field, or `None` if it is empty or missing.
    #[must_use]
    pub fn field(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(String::as_str).filter(|field| !field.is_empty())
    }

    fn parse(line_text: &str, line: usize) -> Self {
        let mut key = None;
        let mut fields = Vec::new();
        let mut field = Field::default();
        let mut characters = line_text.chars().peekable();
        let mut quoted = false;
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    field.push('"', true);
                }
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(field.take()),
                '=' if !quoted && key.is_none() && fields.is_empty() => key = Some(field.take()),
                _ => field.push(character, quoted),
            }
        }
        fields.push(field.take());
        Self { line, key, fields }
    }
}

/// A value that is being read. Surrounding blanks are removed unless they are quoted.
#[derive(Default)]
struct Field {
    text: String,
    /// Length of the text without trailing blanks.
    kept: usize,
}

impl Field {
    fn push(&mut self, character: char, quoted: bool) {
        if character.is_whitespace() && !quoted {
            if !self.text.is_empty() {
                self.text.push(character);
            }
            return;
        }
        self.text.push(character);
        self.kept = self.text.len();
    }

    fn take(&mut self) -> String {
        self.text.truncate(self.kept);
        self.kept = 0;
        std::mem::take(&mut self.text)
    }
}

/// Returns the lines without comments. Continued lines are joined and have the number of the first.
fn logical_lines(text: &str) -> Result<Vec<(usize, String)>, Fault> {
    let mut lines = Vec::new();
    let mut pending: Option<(usize, String)> = None;
    for (index, physical) in text.lines().enumerate() {
        let line = index + 1;
        let bare = without_comment(physical)
            .ok_or_else(|| Fault::new(RULE, line, "a quoted value does not end on its line"))?
            .trim();
        let (start, mut joined) = pending.take().unwrap_or((line, String::new()));
        if let Some(continued) = bare.strip_suffix('\\').filter(|_| !bare.starts_with('[')) {
            joined.push_str(continued);
            pending = Some((start, joined));
            continue;
        }
        joined.push_str(bare);
        if !joined.is_empty() {
            lines.push((start, joined));
        }
    }
    lines.extend(pending.filter(|(_, joined)| !joined.is_empty()));
    Ok(lines)
}

/// Returns the line up to its comment, or `None` if a quotation is not closed.
fn without_comment(line: &str) -> Option<&str> {
    let mut quoted = false;
    for (index, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            ';' if !quoted => return line.get(..index),
            _ => {}
        }
    }
    (!quoted).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::Inf;

    #[test]
    fn sections_entries_and_lines_are_found() {
        let text = "; head\r\n[Version]\r\nSignature=\"$Windows NT$\" ; why\r\n\r\n[a.b]\r\nx = 1, \"two, \"\"2\"\" \" ,\\\r\n  three\r\nplain\r\n[VERSION]\r\nClass=X\r\n";
        let inf = Inf::parse(text).unwrap();
        let version = inf.section("version").unwrap();
        assert_eq!(version.line, 2);
        assert_eq!(version.entries.len(), 2);
        assert_eq!(version.first("SIGNATURE").unwrap().fields, ["$Windows NT$"]);
        assert_eq!(version.first("class").unwrap().line, 10);
        let other = inf.section("A.B").unwrap();
        assert_eq!(other.entries[0].fields, ["1", "two, \"2\" ", "three"]);
        assert_eq!(other.entries[0].line, 6);
        assert_eq!(other.entries[1].line, 8);
        assert_eq!(other.entries[1].key.as_deref(), None);
        assert_eq!(other.entries[1].field(0), Some("plain"));
    }

    #[test]
    fn an_equals_sign_after_a_comma_is_part_of_the_value() {
        let inf = Inf::parse("[a]\nHKR,,x,,a=b\n").unwrap();
        assert_eq!(inf.sections()[0].entries[0].fields, ["HKR", "", "x", "", "a=b"]);
    }

    #[test]
    fn only_the_first_equals_sign_that_is_not_quoted_ends_the_key() {
        for (line, key, value) in
            [("a = b = c", Some("a"), "b = c"), ("\"a=b\"", None, "a=b"), ("a=\"b=c\"", Some("a"), "b=c")]
        {
            let inf = Inf::parse(&format!("[a]\n{line}\n")).unwrap();
            let entry = &inf.sections()[0].entries[0];
            assert_eq!(entry.key.as_deref(), key, "{line}");
            assert_eq!(entry.fields.as_slice(), &[value.to_owned()][..], "{line}");
        }
    }

    #[test]
    fn tokens_are_replaced_where_they_are_known() {
        let inf = Inf::parse("[Strings]\nName = \"A B\"\n").unwrap();
        assert_eq!(inf.expand("<%name%> %no% 100%% 5%"), "<A B> %no% 100% 5%");
    }

    #[test]
    fn an_invalid_line_is_named_with_its_number() {
        for (text, line) in [("x = 1\n", 1), ("[a]\n\n[b\n", 3), ("[a]\nx = \"1\n", 2), ("[]\n", 1)] {
            let fault = Inf::parse(text).unwrap_err();
            assert_eq!(fault.rule, 1002, "{text:?}");
            assert_eq!(fault.line, line, "{text:?}");
        }
    }
}
