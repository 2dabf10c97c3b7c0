//! Splits a file of `kit/wdf` into entries, and entries into words and marks.

/// Where an entry begins.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl Place {
    /// Returns an error message with the file and the line.
    pub(crate) fn error(&self, what: &str) -> String {
        format!("kit/wdf/{}:{}: {what}", self.file, self.line)
    }
}

/// Returns the entries. An entry is a line and the indented lines after it. Lines that start with `#` are comments.
pub(crate) fn entries(file: &str, text: &str) -> Result<Vec<(Place, String)>, String> {
    let mut entries: Vec<(Place, String)> = Vec::new();
    let mut continues = false;
    for (index, line) in text.lines().enumerate() {
        let place = Place { file: file.to_owned(), line: index + 1 };
        if line.trim().is_empty() || line.starts_with('#') {
            continues = false;
        } else if !line.starts_with(char::is_whitespace) {
            entries.push((place, line.to_owned()));
            continues = true;
        } else if let Some((_, entry)) = entries.last_mut().filter(|_| continues) {
            entry.push_str(line);
        } else {
            return Err(place.error("an indented line continues an entry, but there is none above it"));
        }
    }
    Ok(entries)
}

/// The words and marks of one entry, taken from the front.
pub(crate) struct Reader<'a> {
    place: &'a Place,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(place: &'a Place, entry: &'a str) -> Self {
        Self { place, rest: entry.trim() }
    }

    /// Takes a mark or a keyword, if it is next.
    pub(crate) fn take(&mut self, mark: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else { return false };
        if is_word(mark) && rest.starts_with(in_word) {
            return false;
        }
        self.rest = rest.trim_start();
        true
    }

    pub(crate) fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.take(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}`"))) }
    }

    /// Fails if anything is left.
    pub(crate) fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong("nothing more")) }
    }

    /// Reads an identifier of C.
    pub(crate) fn name(&mut self) -> Result<&'a str, String> {
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.wrong("a name"));
        }
        self.word("a name")
    }

    /// Reads a number, decimal or hexadecimal, and returns it as it is written.
    pub(crate) fn number(&mut self) -> Result<&'a str, String> {
        let before = self.rest;
        let word = self.word("a number")?;
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        if parsed.is_ok() {
            return Ok(word);
        }
        self.rest = before;
        Err(self.wrong("a number"))
    }

    /// Reads a type: `NAME`, `NAME*` or `const NAME*`, as in C.
    pub(crate) fn kind(&mut self) -> Result<String, String> {
        let constant = if self.take("const") { "const " } else { "" };
        let mut kind = format!("{constant}{}", self.name().map_err(|_| self.wrong("a type"))?);
        while self.take("*") {
            kind.push('*');
        }
        Ok(kind)
    }

    /// Reads `TYPE, TYPE -> TYPE`. There may be no type before the arrow.
    pub(crate) fn signature(&mut self) -> Result<Signature, String> {
        let mut parameters = Vec::new();
        if !self.take("->") {
            parameters.push(self.kind()?);
            while self.take(",") {
                parameters.push(self.kind()?);
            }
            self.expect("->")?;
        }
        Ok(Signature { parameters, result: self.kind()? })
    }

    /// Returns the message for something unexpected.
    pub(crate) fn wrong(&self, expected: &str) -> String {
        let found = match self.rest.split_whitespace().next() {
            Some(found) => format!("`{found}`"),
            None => String::from("the end of the entry"),
        };
        self.place.error(&format!("expected {expected}, found {found}"))
    }

    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len()));
        if word.is_empty() {
            return Err(self.wrong(what));
        }
        self.rest = rest.trim_start();
        Ok(word)
    }
}

/// The parameters and the result of a function.
#[derive(Clone)]
pub(crate) struct Signature {
    pub(crate) parameters: Vec<String>,
    pub(crate) result: String,
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_word(text: &str) -> bool {
    text.chars().all(in_word)
}
