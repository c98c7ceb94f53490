//! Takes the page of the HTML report into the library, if it was built: `make console` leaves it in
//! `console/dist/report.html`. Without it everything builds, and `cosmark report` says what to do.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let missing = |name| io::Error::other(format!("cargo does not say {name}"));
    let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?;
    let out = env::var_os("OUT_DIR").ok_or_else(|| missing("OUT_DIR"))?;
    // The directory is always there, so that cargo does not run this again for want of a file.
    let built = Path::new(&manifest).join("../../console/dist");
    println!("cargo::rerun-if-changed={}", built.display());
    let page = Path::new(&out).join("page.html");
    let found = fs::copy(built.join("report.html"), &page).is_ok();
    let value = if found { "Some(include_str!(\"page.html\"))" } else { "None" };
    fs::write(
        Path::new(&out).join("page.rs"),
        format!("/// The page, with a place for the data.\nconst PAGE: Option<&str> = {value};\n"),
    )
}
