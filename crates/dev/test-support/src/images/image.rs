//! The properties of an image that tests check.

use std::collections::BTreeSet;

/// An image, and its bytes.
#[derive(Clone, Debug)]
pub struct Image {
    /// The parsed image.
    pub model: pe_image::Image,
    bytes: Vec<u8>,
}

impl Image {
    /// Parses an image.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not an image or are damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let model = pe_image::Image::parse(bytes).map_err(|error| error.to_string())?;
        Ok(Self { model, bytes: bytes.to_vec() })
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns all imports as `module!routine`.
    #[must_use]
    pub fn imports(&self) -> BTreeSet<String> {
        let modules = self.model.imports.modules.iter();
        modules.flat_map(|module| module.routines.iter().map(|routine| format!("{}!{routine}", module.name))).collect()
    }

    /// Returns every sign that the image has a path that panics: the import of the panic handler `handler`, and the
    /// source files in `folders` that a panic would name.
    #[must_use]
    pub fn panic_paths(&self, handler: &str, folders: &[&str]) -> Vec<String> {
        let mut signs = Vec::new();
        if self.imports().contains(handler) {
            signs.push(format!("imports {handler}"));
        }
        for folder in folders {
            // The path separator is that of the machine that compiled the image.
            if self.contains(folder) || self.contains(&folder.replace('/', "\\")) {
                signs.push(format!("names a source file in {folder}"));
            }
        }
        signs
    }

    /// Returns every source file that the image names, because of a panic or a message: text that ends in `.rs`,
    /// including whatever printable text precedes it.
    #[must_use]
    pub fn source_files(&self) -> BTreeSet<String> {
        let is_path = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        let ends =
            self.bytes.windows(3).enumerate().filter(|(_, window)| *window == b".rs").map(|(start, _)| start + 3);
        ends.filter_map(|end| {
            let before = self.bytes.get(..end)?;
            let length = before.iter().rev().take_while(|byte| is_path(byte)).count();
            Some(String::from_utf8_lossy(before.get(end - length..)?).replace('\\', "/"))
        })
        .collect()
    }

    fn contains(&self, text: &str) -> bool {
        let mut windows = self.bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    }
}
