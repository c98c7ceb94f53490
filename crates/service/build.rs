//! Takes two things into the library: the console's files, if they were built (`make console` leaves them in
//! `console/dist/console/`), and the workloads and targets that come with Cosmark. Without the console everything builds.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let missing = |name| io::Error::other(format!("cargo does not say {name}"));
    let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| missing("OUT_DIR"))?);
    let root = Path::new(&manifest).join("../..").canonicalize()?;
    // The directory above is always there, so that cargo does not run this again for want of it.
    println!("cargo::rerun-if-changed={}", root.join("console/dist").display());
    let console = root.join("console/dist/console");
    let mut text = String::from("/// Path and content of each file.\nstatic FILES: &[(&str, &[u8])] = &[\n");
    for file in files_below(&console)? {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&console).map_err(io::Error::other)?.display().to_string();
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    text.push_str("];\n");
    fs::write(out.join("console.rs"), text)?;

    let mut text = String::from(
        "/// Kind, path and text of each workload and target that comes with Cosmark.\n\
         static LIBRARY: &[(&str, &str, &str)] = &[\n",
    );
    // Not the whole of testbeds: a bed may leave files there, and all that depends on this would be built again. Whoever adds
    // a bed puts it into the table of the README.
    for watched in ["workloads", "testbeds/README.md"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    for directory in ["workloads", "testbeds"] {
        for file in files_below(&root.join(directory))? {
            let path = file.strip_prefix(&root).map_err(io::Error::other)?.display().to_string();
            let kind = match path.rsplit('/').next().unwrap_or_default() {
                "target.yaml" => "target",
                name if directory == "workloads" && (name.ends_with(".yaml") || name.ends_with(".xml")) => {
                    "workload"
                }
                _ => continue,
            };
            println!("cargo::rerun-if-changed={}", file.display());
            let _ =
                writeln!(text, "    ({kind:?}, {path:?}, include_str!({:?})),", file.display().to_string());
        }
    }
    text.push_str("];\n");
    fs::write(out.join("library.rs"), text)
}

/// All files below a directory, sorted; none when it is not there.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_below(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
