//! `cosmark adaptors`: what can be spoken to, and with which keys.

use cosmark_adaptor_api::{AdaptorDef, Alias, Key, STORE_FACTS};
use cosmark_driver::describe::{abilities, adaptor_as_json, auth_as_json, keys_as_json};
use cosmark_nodes::source::{SOURCES, SourceRow};
use serde_json::{Value, json};

use crate::args::AdaptorsArgs;
use crate::cmd::check::reading;
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::registry::CATALOG;

/// Runs the subcommand.
pub fn run(args: &AdaptorsArgs) -> Outcome {
    match (&args.name, args.json) {
        (_, true) => verbatim!("{:#}", all_as_json(args)?),
        (None, false) => list_all(),
        (Some(name), false) => show_one(name, args)?,
    }
    Ok(Exit::Done)
}

fn list_all() {
    println!("storage types");
    for def in CATALOG.adaptors {
        line(def.name, &format!("{}{}", def.summary, names(def.aliases)));
    }
    println!("auth types");
    for def in CATALOG.auths {
        line(def.name, &format!("{}{}", def.summary, names(def.aliases)));
    }
    println!("node types (`nodes:`: the store's machines)");
    for row in SOURCES {
        line(row.name, row.help);
    }
    println!("known, but not spoken by this build");
    for (name, sentence) in CATALOG.not_built {
        line(name, sentence);
    }
    println!("`cosmark adaptors NAME` shows the keys of one; for a plugin give its file, and --plugins DIR");
}

/// A name and what it is.
fn line(name: &str, text: &str) {
    println!("  {name:<12} {text}");
}

fn names(aliases: &[Alias]) -> String {
    let names: Vec<&str> = aliases.iter().map(|alias| alias.name).collect();
    if names.is_empty() { String::new() } else { format!(" (also: {})", names.join(", ")) }
}

/// A plugin is named by its file.
fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".so")
}

/// Loads a plugin, if its directory was named: that is code, and a name alone is no wish to run it.
fn plugin_row(path: &str, args: &AdaptorsArgs) -> Result<&'static AdaptorDef, Problem> {
    if args.plugins.is_none() {
        return Err(Problem::usage(format!(
            "{path}: showing the keys of a plugin runs its code; if you trust it, add --plugins DIR with a directory above it"
        )));
    }
    let catalog = reading(args.plugins.as_deref())?;
    let found = catalog.storage(catalog.plugin.name, [(catalog.plugin.key, path)]);
    found.map(|found| found.def).map_err(Problem::usage)
}

fn show_storage(def: &AdaptorDef) {
    println!("storage type {}: {}", def.name, def.summary);
    print_aliases(def.aliases);
    println!("  can: {}", abilities(def.capability).join(", "));
    print_keys(def.keys);
    println!("  any storage also takes, for the verdict:");
    print_keys(STORE_FACTS);
}

fn show_one(name: &str, args: &AdaptorsArgs) -> Result<(), Problem> {
    if is_file(name) {
        let def = plugin_row(name, args)?;
        println!("a plugin: in a workload, type {} with {}={name}", CATALOG.plugin.name, CATALOG.plugin.key);
        show_storage(def);
        return Ok(());
    }
    let (adaptor, auth) = (CATALOG.adaptor(name), CATALOG.auth(name));
    let node = SOURCES.iter().find(|row| row.name.eq_ignore_ascii_case(name));
    if let Some(row) = node {
        println!("node type {}: {}", row.name, row.help);
        print_keys(row.keys);
        if adaptor.is_err() && auth.is_err() {
            return Ok(());
        }
    }
    if let (Err(text), Err(_)) = (&adaptor, &auth) {
        return Err(Problem::usage(text.clone()));
    }
    if let Ok(found) = adaptor {
        show_storage(found.def);
    }
    if let Ok(found) = auth {
        println!("auth type {}: {}", found.def.name, found.def.summary);
        print_aliases(found.def.aliases);
        print_keys(found.def.keys);
    }
    Ok(())
}

fn print_aliases(aliases: &[Alias]) {
    for alias in aliases {
        println!("  also `{}`: {}", alias.name, alias.note);
    }
}

/// Where there is little room each is wrapped between words.
const KEY_COLUMNS: &[Column] = &[
    Column::text("key").wraps(10),
    Column::text("default").wraps(8),
    Column::text("value").wraps(12),
    Column::text("meaning").wraps(24),
];

fn print_keys(keys: &[Key]) {
    if keys.is_empty() {
        println!("  no keys");
        return;
    }
    let row = |key: &Key| {
        let mut name = key.name.to_owned();
        if !key.aliases.is_empty() {
            name = format!("{name}\n({})", key.aliases.join(", "));
        }
        let mut help = if key.secret { format!("{} (secret)", key.help) } else { key.help.to_owned() };
        if let Some(variable) = key.env {
            help = format!("{help}; environment: {variable}");
        }
        vec![name, key.default.unwrap_or("-").to_owned(), key.kind.describe(), help]
    };
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    println!("{}", fit::table(KEY_COLUMNS, &rows, |_, _| Ink::Plain));
}

fn all_as_json(args: &AdaptorsArgs) -> Result<Value, Problem> {
    let name = args.name.as_deref();
    let wanted = |row: &str, aliases: &[Alias]| {
        name.is_none_or(|name| {
            row.eq_ignore_ascii_case(name)
                || aliases.iter().any(|alias| alias.name.eq_ignore_ascii_case(name))
        })
    };
    let adaptors: Vec<Value> = match name.filter(|name| is_file(name)) {
        Some(file) => vec![adaptor_as_json(plugin_row(file, args)?)],
        None => {
            let rows = CATALOG.adaptors.iter().filter(|def| wanted(def.name, def.aliases));
            rows.map(adaptor_as_json).collect()
        }
    };
    let auths: Vec<Value> =
        CATALOG.auths.iter().filter(|def| wanted(def.name, def.aliases)).map(auth_as_json).collect();
    let nodes: Vec<Value> = SOURCES.iter().filter(|row| wanted(row.name, &[])).map(node_as_json).collect();
    if adaptors.is_empty() && auths.is_empty() && nodes.is_empty() {
        let name = name.unwrap_or_default();
        // The sentence that names what there is.
        let said = CATALOG.adaptor(name).err();
        return Err(Problem::usage(said.unwrap_or_else(|| format!("nothing is called {name}"))));
    }
    Ok(json!({ "storage": adaptors, "auth": auths, "nodes": nodes }))
}

fn node_as_json(row: &SourceRow) -> Value {
    json!({ "name": row.name, "summary": row.help, "keys": keys_as_json(row.keys) })
}
