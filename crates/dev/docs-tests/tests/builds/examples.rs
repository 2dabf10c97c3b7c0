//! Every public item of the listed crates has an example, or an example of its type or crate uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use docs_tests::markdown::{Page, repository};
use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, TraitItem, Type, UseTree, Visibility};

/// The crates, each with compiled code outside of it that uses it. `wdk-kmdf` needs such code, because its doctests
/// cannot be built without a driver kit.
const CRATES: [(&str, &[&str]); 7] = [
    ("driver/wdk-etw", &[]),
    ("driver/wdk-etw-log", &[]),
    ("driver/wdk-etw-tracing", &[]),
    ("traces/etw-etl", &[]),
    ("traces/etw-session", &["docs/sessions.md"]),
    ("machine/nt-host", &["docs/testing-with-nt-host.md", "crates/machine/nt-host/README.md"]),
    (
        "driver/wdk-kmdf",
        &[
            "docs/kmdf.md",
            "driver-sample/src",
            "crates/driver/wdk-kmdf/drivers",
            "crates/toolchain/driver-build/templates/kmdf/src",
        ],
    ),
];

/// Types that code does not name, with the function that returns them or the macro that makes them.
const UNNAMED: [(&str, &str); 4] = [
    ("ChildInit", "child_device"),
    ("ControlInit", "control_device"),
    ("DeviceBuilder", "files"),
    ("Output", "output"),
];

/// A public item: its type or trait, its name, its documentation, and the code in that.
pub(crate) struct Public {
    pub(crate) owner: Option<String>,
    pub(crate) name: String,
    pub(crate) is_function: bool,
    pub(crate) documentation: String,
    code: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Crate {
    exported: BTreeSet<String>,
    pub(crate) items: Vec<Public>,
    /// The code in the documentation of modules.
    modules: Vec<String>,
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the Rust code in documentation.
fn code(attributes: &[Attribute]) -> Vec<String> {
    blocks(&documentation(attributes))
}

fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            let line = line.value();
            text += line.strip_prefix(' ').unwrap_or(&line);
            text.push('\n');
        }
    }
    text
}

fn blocks(markdown: &str) -> Vec<String> {
    let page = Page::parse(markdown);
    let rust = page.blocks.iter().filter(|block| ["", "rust", "no_run"].contains(&block.language()));
    rust.map(|block| block.text.clone()).collect()
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("doc") => list.tokens.to_string().contains("hidden"),
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    })
}

fn names(tree: &UseTree, found: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) if path.ident != "etw_types" => names(&path.tree, found),
        UseTree::Name(name) => drop(found.insert(name.ident.to_string())),
        UseTree::Rename(rename) => drop(found.insert(rename.ident.to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
        _ => {}
    }
}

impl Crate {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut this = Self::default();
        let parse = |path: &Path| syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
        for item in parse(&folder.join("lib.rs")).items {
            match item {
                Item::Use(one) if matches!(one.vis, Visibility::Public(_)) && !is_hidden(&one.attrs) => {
                    names(&one.tree, &mut this.exported);
                }
                Item::Mod(module) if matches!(module.vis, Visibility::Public(_)) && !is_hidden(&module.attrs) => {
                    let name = module.ident.to_string();
                    let file = [format!("{name}.rs"), format!("{name}/mod.rs")].map(|file| folder.join(file));
                    let file = file.iter().find(|file| file.is_file());
                    let items = file.map_or_else(Vec::new, |file| parse(file).items);
                    this.exported.extend(items.iter().filter_map(public).map(|(name, _)| name));
                }
                other => this.exported.extend(public(&other).map(|(name, ..)| name)),
            }
        }
        for path in sources(folder) {
            let file = parse(&path);
            this.modules.extend(code(&file.attrs));
            file.items.iter().for_each(|item| this.add(item));
        }
        this
    }

    fn add(&mut self, item: &Item) {
        if let Some((name, attributes)) = public(item)
            && (self.exported.contains(&name) || matches!(item, Item::Macro(_)))
        {
            self.items.push(Public {
                owner: None,
                name,
                is_function: matches!(item, Item::Fn(_)),
                documentation: documentation(attributes),
                code: code(attributes),
            });
        }
        match item {
            Item::Impl(block) if block.trait_.is_none() && !is_hidden(&block.attrs) => {
                let Type::Path(path) = &*block.self_ty else { return };
                let Some(owner) = path.path.segments.last().map(|last| last.ident.to_string()) else { return };
                for item in &block.items {
                    if let ImplItem::Fn(function) = item
                        && matches!(function.vis, Visibility::Public(_))
                    {
                        self.member(&owner, &function.sig.ident.to_string(), &function.attrs);
                    }
                }
            }
            Item::Trait(one) => {
                for item in &one.items {
                    if let TraitItem::Fn(function) = item {
                        self.member(&one.ident.to_string(), &function.sig.ident.to_string(), &function.attrs);
                    }
                }
            }
            _ => {}
        }
    }

    fn member(&mut self, owner: &str, name: &str, attributes: &[Attribute]) {
        if self.exported.contains(owner) && !is_hidden(attributes) {
            self.items.push(Public {
                owner: Some(owner.into()),
                name: name.into(),
                is_function: true,
                documentation: documentation(attributes),
                code: code(attributes),
            });
        }
    }
}

/// Returns the name and the attributes of a public item.
fn public(item: &Item) -> Option<(String, &[Attribute])> {
    let (visibility, name, attributes) = match item {
        Item::Struct(one) => (&one.vis, &one.ident, &one.attrs),
        Item::Enum(one) => (&one.vis, &one.ident, &one.attrs),
        Item::Trait(one) => (&one.vis, &one.ident, &one.attrs),
        Item::Type(one) => (&one.vis, &one.ident, &one.attrs),
        Item::Const(one) => (&one.vis, &one.ident, &one.attrs),
        Item::Fn(one) => (&one.vis, &one.sig.ident, &one.attrs),
        Item::Macro(one) => {
            let is_exported = one.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
            let name = one.ident.as_ref().filter(|_| is_exported && !is_hidden(&one.attrs))?;
            return Some((name.to_string(), &one.attrs));
        }
        _ => return None,
    };
    (matches!(visibility, Visibility::Public(_)) && !is_hidden(attributes)).then(|| (name.to_string(), &attributes[..]))
}

/// Returns whether code contains a name as a word.
fn shows(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[test]
fn every_public_item_is_shown_by_an_example() {
    let mut missing = Vec::new();
    let mut count = 0;
    for (name, others) in CRATES {
        let found = Crate::read(&repository().join("crates").join(name).join("src"));
        let mut shared = Vec::new();
        for path in others.iter().map(|path| repository().join(path)) {
            if path.is_dir() {
                shared.extend(sources(&path).iter().map(|file| fs::read_to_string(file).unwrap()));
            } else {
                shared.extend(blocks(&fs::read_to_string(path).unwrap()));
            }
        }
        let own: Vec<&String> = found.items.iter().flat_map(|item| &item.code).chain(&found.modules).collect();
        let mut of_type = BTreeMap::<&str, Vec<&String>>::new();
        for item in &found.items {
            of_type.entry(item.owner.as_deref().unwrap_or(&item.name)).or_default().extend(&item.code);
        }
        for item in &found.items {
            count += 1;
            let here = |code: &&String| shows(code, &item.name);
            let is_shown = match &item.owner {
                // In an example of its type, or of something else that names the type.
                Some(owner) => {
                    of_type[owner.as_str()].iter().any(here) || own.iter().filter(|code| shows(code, owner)).any(here)
                }
                None => own.iter().any(here),
            } || shared.iter().any(|code| shows(code, &item.name));
            let by = UNNAMED.iter().find(|(unnamed, _)| *unnamed == item.name);
            let is_shown =
                is_shown || by.is_some_and(|(_, by)| own.iter().copied().chain(&shared).any(|code| shows(code, by)));
            if item.code.is_empty() && !is_shown {
                let owner = item.owner.as_ref().map_or_else(String::new, |owner| format!("{owner}::"));
                missing.push(format!("{name}: {owner}{}", item.name));
            }
        }
    }
    assert!(count > 150, "only {count} public items were found");
    assert!(missing.is_empty(), "no example shows\n{}", missing.join("\n"));
}

/// Returns the words of a text that start with a prefix.
fn words<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(move |word| word.starts_with(prefix))
}

#[test]
fn the_table_of_framework_functions_is_that_of_the_crate() {
    let called: BTreeSet<String> = sources(&repository().join("crates/driver/wdk-kmdf/src"))
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let calls = text.split("wdf!(").skip(1).filter_map(|call| words(call, "").find(|word| !word.is_empty()));
            calls.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(called.len() > 50, "{called:?}");
    assert!(called.iter().all(|name| name.starts_with("Wdf")), "{called:?}");
    let page = fs::read_to_string(repository().join("docs/kmdf.md")).unwrap();
    let (_, table) = page.split_once("## From the framework's functions").unwrap();
    let rows: Vec<(&str, &str)> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
    let listed: BTreeSet<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.len(), rows.len(), "a function is listed twice");
    assert_eq!(called, listed);
    // Every member that the table names exists.
    let found = Crate::read(&repository().join("crates/driver/wdk-kmdf/src"));
    for (name, here) in rows {
        for member in here.split('`').skip(1).step_by(2) {
            let (owner, item) = member.rsplit_once("::").map_or((None, member), |(owner, item)| (Some(owner), item));
            let exists = found.items.iter().any(|known| known.owner.as_deref() == owner && known.name == item);
            let is_constant = item.chars().all(|c| c.is_uppercase() || c == '_');
            assert!(exists || is_constant || member == "&self", "{name}: there is no {member}");
        }
    }
}

/// Returns the number of lines of code of a driver on `wdk-kmdf`, and of those with the word `unsafe`.
fn lines_of_code(driver: &str) -> (usize, usize) {
    let path = repository().join("crates/driver/wdk-kmdf/drivers").join(driver).join("src/lib.rs");
    let text = fs::read_to_string(path).unwrap();
    let code: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    (code.len(), code.iter().filter(|line| words(line, "unsafe").any(|word| word == "unsafe")).count())
}

#[test]
fn the_lines_of_the_ports_are_counted_on_their_page() {
    let page = fs::read_to_string(repository().join("docs/kmdf.md")).unwrap();
    let ports = [("echo", "general/echo/kmdf"), ("ioctl", "general/ioctl/kmdf")];
    for (driver, sample) in ports {
        let (lines, with_unsafe) = lines_of_code(driver);
        let row = page.lines().find(|line| line.starts_with(&format!("| `{sample}`"))).unwrap();
        assert!(row.ends_with(&format!(" | {lines} | {with_unsafe} |")), "{driver}: {lines}, {with_unsafe}");
    }
    let ((echo, with_unsafe), (raw, raw_with_unsafe)) = (lines_of_code("echo"), lines_of_code("echo-raw"));
    let expected =
        format!("{raw} lines of code, {raw_with_unsafe} of them\nwith `unsafe`, against {echo} and {with_unsafe}.");
    assert!(page.contains(&expected), "{expected}");
}
