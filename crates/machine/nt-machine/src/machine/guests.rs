//! The images of a run: the driver under test and those that it needs, in the order in which they are loaded.

use nt_processor::image::{DRIVER, MAX_IMAGES};
use pe_image::Layout;

/// The entry point of an export driver.
pub(crate) const INITIALIZE: &str = "DllInitialize";

/// An image of a run.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The file name, by which other images import from it.
    pub name: String,
    /// What is mapped, and where.
    pub layout: Layout,
    /// What it is for the driver under test.
    pub role: Role,
    /// The number of the image in reports.
    pub(crate) number: u32,
}

/// What an image is for the driver under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The driver itself, or an image that it needs.
    #[default]
    Driver,
    /// The framework: it must call `WdfRegisterLibrary`.
    Framework,
    /// The framework's loader: `WDFLDR.SYS`, in place of the one in this crate.
    Loader,
}

impl Guest {
    /// Describes an image that belongs to no framework.
    #[must_use]
    pub fn new(name: impl Into<String>, layout: Layout) -> Self {
        Self { name: name.into(), layout, role: Role::Driver, number: DRIVER }
    }

    /// Changes what the image is for the driver under test.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Returns the name of its service: the file name without the extension.
    #[must_use]
    pub fn service(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(stem, _)| stem)
    }

    /// Names the image in a sentence.
    pub(crate) fn described(&self) -> &str {
        if self.number == DRIVER { "the driver" } else { &self.name }
    }

    fn imports_from(&self, other: &Self) -> bool {
        self.layout.imports.iter().any(|import| import.module.eq_ignore_ascii_case(&other.name))
    }
}

/// The images of a run, in the order in which they are loaded. The driver under test is the last one.
#[derive(Clone, Debug)]
pub struct Guests {
    driver: Guest,
    others: Vec<Guest>,
    /// Why the framework does not bind the driver, if a guest is its loader: that one returns only a status.
    refusal: Option<String>,
}

impl Guests {
    /// Sorts the images that the driver needs, so that each comes after those that it imports from. Otherwise, they keep
    /// their order.
    ///
    /// # Errors
    ///
    /// Fails if there are too many images, if two have the same name, or if they import from each other in a circle. The
    /// text names them.
    pub fn new(driver: Guest, others: Vec<Guest>) -> Result<Self, String> {
        if others.len() >= MAX_IMAGES {
            return Err(format!("{} images are too many: expected at most {MAX_IMAGES}", others.len() + 1));
        }
        let mut waiting = others;
        for (index, guest) in waiting.iter().enumerate() {
            let mut earlier = waiting.iter().take(index).chain([&driver]);
            if earlier.any(|other| other.name.eq_ignore_ascii_case(&guest.name)) {
                return Err(format!("two images have the name {}: load only one of them", guest.name));
            }
        }
        let mut others = Vec::new();
        while !waiting.is_empty() {
            let is_ready = |guest: &Guest| {
                let needs = |other: &Guest| other.name != guest.name && guest.imports_from(other);
                !guest.imports_from(&driver) && !waiting.iter().any(needs)
            };
            let Some(ready) = waiting.iter().position(is_ready) else {
                let names: Vec<&str> = waiting.iter().map(|guest| guest.name.as_str()).collect();
                let names = names.join(", ");
                let driver = &driver.name;
                return Err(format!("{names} import from each other in a circle, or from the driver {driver}"));
            };
            others.push(waiting.remove(ready));
        }
        for (number, guest) in (1..).zip(&mut others) {
            guest.number = number;
        }
        Ok(Self { driver, others, refusal: None })
    }

    /// Sets the reason that is reported if `DriverEntry` fails and the framework's loader is a guest.
    #[must_use]
    pub fn refused_by_loader(self, refusal: Option<String>) -> Self {
        Self { refusal, ..self }
    }

    /// Returns why a framework whose loader is a guest does not bind the driver.
    pub(crate) fn refusal(&self) -> Option<&String> {
        self.refusal.as_ref().filter(|_| self.has_loader())
    }

    /// Returns whether Windows loads an image as an export driver: others import from it, and it exports `DllInitialize`,
    /// which Windows then calls in place of `DriverEntry`.
    pub(crate) fn is_library(&self, guest: &Guest) -> bool {
        let is_imported = self.others.iter().chain([&self.driver]).any(|other| other.imports_from(guest));
        is_imported && guest.number != DRIVER && guest.layout.exports.iter().any(|(name, _)| name == INITIALIZE)
    }

    /// Returns whether a guest is the framework's loader.
    pub(crate) fn has_loader(&self) -> bool {
        self.others.iter().any(|guest| guest.role == Role::Loader)
    }

    /// Returns the driver under test.
    #[must_use]
    pub const fn driver(&self) -> &Guest {
        &self.driver
    }

    /// Returns the images that the driver needs, in the order in which they are loaded: the first one has the number 1.
    #[must_use]
    pub fn others(&self) -> &[Guest] {
        &self.others
    }
}

#[cfg(test)]
mod tests {
    use pe_image::{Import, Imported, Layout};

    use super::{Guest, Guests};

    /// An image that imports from others.
    fn guest(name: &str, modules: &[&str]) -> Guest {
        let import = |module: &&str| Import {
            module: (*module).to_owned(),
            name: Imported::Name("Routine".to_owned()),
            slot: 0,
        };
        let layout = Layout {
            base: 0,
            entry: 0,
            bytes: Vec::new(),
            subsystem_version: (10, 0),
            headers: 0,
            sections: Vec::new(),
            shares_pages: false,
            relocations: Vec::new(),
            imports: modules.iter().map(import).collect(),
            exceptions: None,
            guard: pe_image::Guard::default(),
            exports: Vec::new(),
        };
        Guest::new(name, layout)
    }

    fn order(others: Vec<Guest>) -> Result<Vec<String>, String> {
        let guests = Guests::new(guest("driver.sys", &["a.sys"]), others)?;
        Ok(guests.others().iter().map(|guest| guest.name.clone()).collect())
    }

    #[test]
    fn images_come_after_those_that_they_import_from_and_otherwise_keep_their_order() {
        let others = vec![guest("A.sys", &["b.SYS", "ntoskrnl.exe"]), guest("c.sys", &[]), guest("b.sys", &["C.sys"])];
        assert_eq!(order(others).expect("an order"), ["c.sys", "b.sys", "A.sys"]);
        assert_eq!(order(vec![guest("x.sys", &[]), guest("a.sys", &[])]).expect("an order"), ["x.sys", "a.sys"]);
    }

    #[test]
    fn circles_and_equal_names_are_errors_that_name_the_images() {
        let circle = order(vec![guest("a.sys", &["b.sys"]), guest("b.sys", &["a.sys"])]).expect_err("a circle");
        assert!(circle.contains("a.sys, b.sys import from each other in a circle"), "{circle}");
        let twice = order(vec![guest("a.sys", &[]), guest("A.SYS", &[])]).expect_err("a name twice");
        assert!(twice.contains("two images have the name A.SYS"), "{twice}");
        let back = order(vec![guest("a.sys", &["driver.sys"])]).expect_err("an import from the driver");
        assert!(back.contains("from the driver driver.sys"), "{back}");
        assert!(order(vec![guest("driver.sys", &[])]).is_err());
    }
}
