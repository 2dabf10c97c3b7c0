//! Finds out from the sources of a crate which of its modules import which others.
//!
//! Every path counts as an import, in a `use` and in an expression. A re-exported name (`pub use`) counts for the
//! module that defines it. Test modules are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module, as the names in its path. Empty for the crate's root.
type Module = Vec<String>;

/// The modules of a crate and the paths in each.
#[derive(Debug, Default)]
pub struct Imports {
    modules: BTreeMap<Module, Source>,
}

#[derive(Debug, Default)]
struct Source {
    /// All paths in the module.
    paths: Vec<Module>,
    /// The names that `use` imports, with their paths.
    uses: BTreeMap<String, Module>,
}

impl Imports {
    /// Reads the sources in a directory, which contains `lib.rs` or `main.rs`.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be read or is not Rust.
    #[must_use]
    pub fn from_sources(dir: &Path) -> Self {
        let mut all = Self::default();
        all.add_dir(dir, &Vec::new());
        all
    }

    fn add_dir(&mut self, dir: &Path, module: &Module) {
        for entry in fs::read_dir(dir).expect("a directory of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let inner = [module.as_slice(), std::slice::from_ref(&name)].concat();
            if path.is_dir() {
                self.add_dir(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !["tests", "models"].contains(&name.as_str())
                && !name.ends_with("_tests")
            {
                let text = fs::read_to_string(&path).expect("a source");
                let own = if ["lib", "main", "mod"].contains(&name.as_str()) { module } else { &inner };
                self.add(own.clone(), &text);
            }
        }
    }

    /// Ignores paths to these names in the crate's root. Meant for the crate's main types, whose methods are spread
    /// over many modules.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        let is_named = |path: &Module| matches!(path.as_slice(), [root, name] if root == "crate" && names.contains(&name.as_str()));
        for source in self.modules.values_mut() {
            source.paths.retain(|path| !is_named(path));
        }
        self
    }

    /// Adds the text of a module.
    fn add(&mut self, module: Module, text: &str) {
        let tokens: TokenStream = text.parse().expect("Rust");
        let mut source = Source::default();
        collect(tokens, &mut source);
        self.modules.insert(module, source);
    }

    /// Returns the modules that each module imports.
    #[must_use]
    pub fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let edges = self.modules.iter().map(|(module, source)| {
            let targets = source.paths.iter().filter_map(|path| self.resolve(module, path, 8));
            let names = targets.filter(|target| target != module).map(|target| target.join("::"));
            (module.join("::"), names.collect())
        });
        edges.collect()
    }

    /// Returns the modules that import each other in a cycle, and modules between two cycles. Empty if there is no
    /// cycle.
    #[must_use]
    pub fn cycles(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut left = self.edges();
        loop {
            let used: BTreeSet<String> = left.values().flatten().cloned().collect();
            let before = left.len();
            // A module that imports none of the others, or that none of the others imports, is not part of a cycle.
            left.retain(|module, imports| !imports.is_empty() && used.contains(module));
            let names: BTreeSet<String> = left.keys().cloned().collect();
            for imports in left.values_mut() {
                imports.retain(|import| names.contains(import));
            }
            if left.len() == before {
                return left;
            }
        }
    }

    /// Returns the circles among the modules of each directory: sets of siblings that import each other, directly or
    /// through other siblings. A module counts together with its submodules. What a module imports from the modules
    /// that contain it, and the other way round, is not a circle: they are one unit.
    #[must_use]
    pub fn circles(&self) -> Vec<BTreeSet<String>> {
        let mut imports = BTreeMap::<String, BTreeSet<String>>::new();
        for (module, source) in &self.modules {
            for target in source.paths.iter().filter_map(|path| self.resolve(module, path, 8)) {
                let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(..=shared), target.get(..=shared)) {
                    imports.entry(from.join("::")).or_default().insert(to.join("::"));
                }
            }
        }
        let mut circles: Vec<BTreeSet<String>> = Vec::new();
        for module in imports.keys() {
            let circle: BTreeSet<String> = reachable(&imports, module)
                .into_iter()
                .filter(|other| reachable(&imports, other).contains(module))
                .collect();
            if !circle.is_empty() && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    /// Returns the module that a path in a module refers to, through at most `depth` re-exports.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (from.clone(), rest),
            "super" => (from.split_last()?.1.to_vec(), rest),
            // A path may start with a submodule. Otherwise it refers to another crate or to a type.
            _ => (from.clone(), path),
        };
        while let Some((name, behind)) = rest.split_first() {
            let inner = [at.as_slice(), std::slice::from_ref(name)].concat();
            if name == "super" {
                at.pop();
            } else if self.modules.contains_key(&inner) {
                at = inner;
            } else if let Some(used) = self.modules.get(&at).and_then(|source| source.uses.get(name))
                && depth > 0
                && (at != *from || first == "self")
            {
                return self.resolve(&at, used, depth - 1).or(Some(at));
            } else {
                break;
            }
            rest = behind;
        }
        let is_ours = ["crate", "self", "super"].contains(&first.as_str()) || at != *from;
        is_ours.then_some(at)
    }
}

/// Returns the modules that a module imports, directly or indirectly.
fn reachable(imports: &BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![start.to_owned()];
    while let Some(module) = pending.pop() {
        let targets = imports.get(&module).into_iter().flatten();
        pending.extend(targets.filter(|target| found.insert((*target).clone())).cloned());
    }
    found
}

/// Collects the paths in a piece of code.
fn collect(tokens: TokenStream, source: &mut Source) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    let mut is_use = false;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' && is_for_tests(tokens.get(at)) => {
                // The item after the attribute ends with a block or a semicolon.
                let end = tokens[at..].iter().position(|token| match token {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    TokenTree::Punct(mark) => mark.as_char() == ';',
                    _ => false,
                });
                at = end.map_or(tokens.len(), |end| at + end + 1);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_use = false,
            TokenTree::Ident(name) if name == "use" => is_use = true,
            TokenTree::Ident(_) => at = path(&tokens, at - 1, &Vec::new(), is_use, source),
            TokenTree::Group(group) => collect(group.stream(), source),
            _ => {}
        }
    }
}

fn is_for_tests(attribute: Option<&TokenTree>) -> bool {
    attribute.is_some_and(|attribute| attribute.to_string().replace(' ', "") == "[cfg(test)]")
}

/// Reads a path from its first name, including the groups of a `use`. Returns the position after it.
fn path(tokens: &[TokenTree], start: usize, prefix: &Module, is_use: bool, source: &mut Source) -> usize {
    let mut names = prefix.clone();
    let mut at = start;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Group(group)) if is_use => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut place = 0;
                while place < inner.len() {
                    place = path(&inner, place, &names, is_use, source) + 1;
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        let is_separator =
            |place: usize| matches!(tokens.get(place), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        if !(is_separator(at) && is_separator(at + 1)) {
            break;
        }
        at += 2;
    }
    let mut last = names.last().cloned().unwrap_or_default();
    if last == "self" && names.len() > 1 {
        names.pop();
        last = names.last().cloned().unwrap_or_default();
    }
    if let (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(alias))) = (tokens.get(at), tokens.get(at + 1))
        && word == "as"
    {
        last = alias.to_string();
        at += 2;
    }
    if is_use {
        source.uses.insert(last, names.clone());
    }
    if is_use || names.len() > 1 {
        source.paths.push(names);
    }
    at.max(start + 1)
}

#[cfg(test)]
mod tests {
    use super::Imports;

    fn from_texts(modules: &[(&str, &str)]) -> Imports {
        let mut all = Imports::default();
        for (module, text) in modules {
            all.add(module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(), text);
        }
        all
    }

    #[test]
    fn paths_of_uses_groups_and_expressions_are_found() {
        let all = from_texts(&[
            ("", "mod a; mod b; mod c; pub use b::B;"),
            ("a", "use crate::{b::{self, X as Y}, c}; // crate::d\nconst TEXT: &str = \"crate::d\";"),
            ("b", "fn f() { crate::c::g(super::d::H) }\n#[cfg(test)]\nmod tests { use crate::a; }"),
            ("c", "use std::fmt; use self::inner::Thing;"),
            ("c::inner", "fn g() -> super::super::d::H {}"),
            ("d", "pub struct H;"),
        ]);
        let edges: Vec<String> = all.edges().iter().map(|(from, to)| format!("{from}: {to:?}")).collect();
        let expected =
            [": {\"b\"}", "a: {\"b\", \"c\"}", "b: {\"c\", \"d\"}", "c: {\"c::inner\"}", "c::inner: {\"d\"}", "d: {}"];
        assert_eq!(edges, expected);
        assert!(all.cycles().is_empty());
    }

    #[test]
    fn a_circle_is_found_through_a_name_that_is_passed_on() {
        let all = from_texts(&[
            ("", "mod a; mod b; mod c; pub use b::B;"),
            ("a", "use crate::B;"),
            ("b", "use crate::a::A;"),
            ("c", "use crate::a::A;"),
        ]);
        assert_eq!(all.cycles().into_keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(all.circles(), [["a", "b"].map(String::from).into()]);
    }

    #[test]
    fn a_module_and_its_submodules_are_one_unit_and_siblings_are_not() {
        let all = from_texts(&[
            ("", "mod a; mod b; pub struct Root;"),
            ("a", "mod x; mod y; use x::X; pub struct A;"),
            ("a::x", "use super::A; use crate::Root; use super::y::Y;"),
            ("a::y", "use crate::b::B;"),
            ("b", "mod z;"),
            ("b::z", "pub struct B;"),
        ]);
        assert!(all.circles().is_empty());
        let all = from_texts(&[
            ("", "mod a; mod b;"),
            ("a", "mod x; mod y;"),
            ("a::x", "use super::y::Y;"),
            ("a::y", "use super::x::X; use crate::b::B;"),
            ("b", "mod z;"),
            ("b::z", "use crate::a::A;"),
        ]);
        let circles: Vec<Vec<String>> = all.circles().into_iter().map(|circle| circle.into_iter().collect()).collect();
        assert_eq!(circles, [["a", "b"], ["a::x", "a::y"]]);
    }
}
