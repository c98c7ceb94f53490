//! Files that use each other in a circle: a reader of `use` and of paths in the code, and the components of the graph that it
//! gives. A file may use what lies above it in the same folder's tree, and its parent may use it: everything else that leads
//! back to where it began is a knot that nobody can read or move in parts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, has_word, nothing, product};

/// The segments of a module's path, its crate first.
type Path = Vec<String>;

/// One file, read.
struct File<'a> {
    text: String,
    source: &'a Source,
    /// Its `use` declarations: the name that it gives, and what it stands for; `*` for all.
    uses: Vec<(String, Path)>,
    /// Paths in its code.
    paths: Vec<Path>,
}

fn module_of(path: &str) -> Path {
    let (member, inside) = path.strip_prefix("crates/").unwrap().split_once("/src/").unwrap();
    let mut segments = vec![member.to_owned()];
    let inside = inside.strip_suffix(".rs").unwrap();
    segments
        .extend(inside.split('/').filter(|name| !["lib", "main", "mod"].contains(name)).map(str::to_owned));
    segments
}

/// What a `use` tree names: `a::{b, c::{d, e as f}}` gives `a::b`, `a::c::d`, `a::c::e`, each with the name that it gets.
fn expand(before: &[String], tree: &str, found: &mut Vec<(String, Path)>) {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree, None),
    };
    let (head, alias) =
        head.split_once(" as ").map_or((head, None), |(head, alias)| (head, Some(alias.trim())));
    let mut path = before.to_vec();
    path.extend(head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    if let Some(group) = group {
        let (mut depth, mut from) = (0_i32, 0);
        for (at, sign) in group.char_indices() {
            depth += i32::from(sign == '{') - i32::from(sign == '}');
            if sign == ',' && depth == 0 {
                expand(&path, &group[from..at], found);
                from = at + 1;
            }
        }
        expand(&path, &group[from..], found);
    } else if !tree.is_empty() {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let name = alias.map_or_else(|| path.last().unwrap().clone(), str::to_owned);
        found.push((name, path));
    }
}

fn read(source: &Source) -> File<'_> {
    let mut file = File { text: String::new(), source, uses: Vec::new(), paths: Vec::new() };
    let mut declaration: Option<String> = None;
    for (_, line) in source.code() {
        let line = line.split("//").next().unwrap_or_default();
        let text = line.trim_start();
        let after_pub =
            text.strip_prefix("pub").map_or(text, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
        let begins = after_pub.strip_prefix("use ");
        if let Some(open) = declaration.as_mut() {
            open.push_str(text);
        } else if let Some(rest) = begins {
            declaration = Some(rest.to_owned());
        } else {
            file.text.push_str(line);
            file.text.push('\n');
        }
        if let Some((tree, _)) = declaration.as_ref().and_then(|open| open.split_once(';')) {
            expand(&[], tree, &mut file.uses);
            declaration = None;
        }
    }
    let is_path = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let words =
        file.text.split(|sign| !is_path(sign)).filter(|word| word.contains("::") && !word.starts_with(':'));
    let split =
        |word: &str| word.split(':').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Path>();
    file.paths = words.map(split).filter(|path| path.len() > 1).collect();
    file
}

struct Graph<'a> {
    files: BTreeMap<Path, File<'a>>,
}

impl<'a> Graph<'a> {
    fn new(sources: &'a [Source]) -> Self {
        Self { files: sources.iter().map(|source| (module_of(&source.path), read(source))).collect() }
    }

    /// A path as a module says it, from its crate on; `None` for what belongs to other crates.
    fn absolute(&self, module: &Path, path: &[String]) -> Option<Path> {
        let above = path.iter().take_while(|name| *name == "super").count();
        let mut from = match path[0].as_str() {
            "crate" => vec![module[0].clone()],
            "super" => module[..module.len().saturating_sub(above).max(1)].to_vec(),
            "self" => module.clone(),
            child => {
                let mut own = module.clone();
                own.push(child.to_owned());
                self.files.contains_key(&own).then_some(own)?
            }
        };
        from.extend_from_slice(&path[above.max(1)..]);
        Some(from)
    }

    fn defines(&self, module: &Path, item: &str) -> bool {
        const KINDS: [&str; 10] = [
            "struct ",
            "enum ",
            "fn ",
            "trait ",
            "type ",
            "const ",
            "static ",
            "union ",
            "macro_rules! ",
            "mod ",
        ];
        self.files
            .get(module)
            .is_some_and(|file| KINDS.iter().any(|kind| has_word(&file.text, &format!("{kind}{item}"))))
    }

    /// The module in which a path ends, through the modules that only pass a name on.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Path> {
        let length = (1..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let module = path[..length].to_vec();
        let Some(item) = path.get(length).filter(|item| depth < 6 && !self.defines(&module, item)) else {
            return Some(module);
        };
        for (name, target) in &self.files[&module].uses {
            let Some(mut target) = self.absolute(&module, target) else { continue };
            if name == item {
                target.extend_from_slice(&path[length + 1..]);
                return self.resolve(&target, depth + 1);
            }
            if name == "*" {
                target.pop();
                let Some(found) = self.resolve(&target, depth + 1) else { continue };
                if self.defines(&found, item) {
                    return Some(found);
                }
            }
        }
        Some(module)
    }

    /// What each file uses, but for what lies above it.
    fn edges(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut edges = BTreeMap::new();
        for (module, file) in &self.files {
            let named = file.uses.iter().map(|(_, path)| path).chain(&file.paths);
            let absolute = named.filter_map(|path| self.absolute(module, path));
            let used = absolute.filter_map(|mut path| {
                path.pop_if(|last| last == "*");
                self.resolve(&path, 0)
            });
            let keys = used.filter(|to| !module.starts_with(to));
            edges.insert(
                module,
                keys.filter_map(|to| self.files.get_key_value(&to).map(|(key, _)| key)).collect(),
            );
        }
        edges
    }

    /// Files that reach each other, a line for each knot of them.
    fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let reach = |from: &'_ Path| -> BTreeSet<&Path> {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&Path> = edges.get(from).into_iter().flatten().copied().collect();
            while let Some(next) = open.pop() {
                if seen.insert(next) {
                    open.extend(edges[next].iter().copied());
                }
            }
            seen
        };
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            self.files.keys().map(|one| (one, reach(one))).collect();
        let mut knots = BTreeSet::new();
        for (one, from_it) in &reached {
            let knot: Vec<&str> = from_it
                .iter()
                .filter(|other| reached[*other].contains(one))
                .map(|other| self.files[*other].source.path.as_str())
                .collect();
            if knot.len() > 1 {
                knots.insert(knot.join(" "));
            }
        }
        knots.into_iter().collect()
    }
}

#[test]
fn files_that_use_each_other_in_a_circle_become_fewer() {
    let sources = product();
    let circles = Graph::new(&sources).circles();
    assert!(
        circles.is_empty(),
        "{} circles: only a parent and its children may know each other\n  {}",
        circles.len(),
        circles.join("\n  ")
    );
}

#[test]
fn a_circle_is_found_through_groups_names_passed_on_and_paths_in_the_code() {
    let file = |name: &str, text: &str| Source::of(&format!("crates/a/src/{name}.rs"), text);
    let sources = [
        file("lib", "mod x;\nmod y;\nmod z;\nmod w;\npub use y::{Y, self as why};\n"),
        file("x", "use crate::{\n    Y,\n    z::Z,\n};\nstruct X;\n"),
        file("y", "pub struct Y;\nfn f() { crate::x::g(); }\n"),
        file("z/mod", "mod child;\npub struct Z;\n// use crate::x::X;\nfn f() { child::f() }\n"),
        file("z/child", "use super::Z;\npub fn f() {}\n"),
        file("w", "use std::x::X;\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::x;\n}\n"),
    ];
    let circles = Graph::new(&sources).circles();
    assert_eq!(circles, ["crates/a/src/x.rs crates/a/src/y.rs"]);
    nothing("No circle, no knot:", &Graph::new(&sources[..2]).circles());
}
