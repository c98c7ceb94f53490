//! Things on a machine that nobody may touch, and a witness of whether somebody did: inotify(7) sees every open below a
//! directory, and a library writes a file as soon as it is loaded.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with a FIFO, a directory and a library in it.
pub struct Canary {
    pub directory: PathBuf,
    watch: libc::c_int,
}

impl Canary {
    pub fn new(below: &Path) -> Self {
        let directory = below.canonicalize().unwrap().join("canary");
        fs::create_dir_all(directory.join("dir")).unwrap();
        let fifo = CString::new(directory.join("fifo").as_os_str().as_bytes()).unwrap();
        // SAFETY: a plain system call on a path that ends with a 0.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        fs::write(directory.join("dir/a"), "precious").unwrap();
        library(&directory);
        // SAFETY: a plain system call.
        let watch = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        assert!(watch >= 0, "{}", std::io::Error::last_os_error());
        let canary = Self { directory, watch };
        canary.watch(&canary.directory);
        canary.watch(&canary.path("dir"));
        canary
    }

    /// Also notes opens below this directory.
    pub fn watch(&self, directory: &Path) {
        let path = CString::new(directory.as_os_str().as_bytes()).unwrap();
        let what = libc::IN_OPEN | libc::IN_CREATE | libc::IN_DELETE | libc::IN_MODIFY | libc::IN_MOVE;
        // SAFETY: a plain system call on a path that ends with a 0.
        assert!(unsafe { libc::inotify_add_watch(self.watch, path.as_ptr(), what) } >= 0);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// What a value that reaches this would be.
    pub fn bait(&self, reach: &str) -> String {
        let path = match reach {
            "file" => self.path("fifo"),
            "directory" => self.path("dir"),
            "library" => self.path("lib.so"),
            "address" => return "127.0.0.2".to_owned(),
            other => panic!("there is no bait for {other}: make one"),
        };
        path.display().to_string()
    }

    /// Whether anything was opened or changed since the last question.
    pub fn is_touched(&self) -> bool {
        let mut events = [0_u8; 4096];
        // SAFETY: the buffer is valid for its length.
        let read = unsafe { libc::read(self.watch, events.as_mut_ptr().cast(), events.len()) };
        read > 0 || self.path("ran").exists()
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // SAFETY: ours, and used nowhere else.
        unsafe { libc::close(self.watch) };
    }
}

/// A library that writes the file `ran` beside it when it is loaded.
fn library(directory: &Path) {
    let source = directory.join("lib.c");
    let ran = directory.join("ran").display().to_string();
    let text = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) {{ open(\"{ran}\", O_CREAT | O_WRONLY, \
         0600); }}\n"
    );
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(directory.join("lib.so"))
        .arg(&source)
        .status()
        .unwrap();
    assert!(compiled.success());
}

#[test]
fn the_canary_sees_who_opens_it() {
    let directory = tempfile::tempdir().unwrap();
    let canary = Canary::new(directory.path());
    assert!(!canary.is_touched());
    drop(fs::File::options().read(true).write(true).open(canary.path("fifo")).unwrap());
    assert!(canary.is_touched() && !canary.is_touched());
    drop(fs::read_dir(canary.path("dir")).unwrap());
    assert!(canary.is_touched());
    // SAFETY: what this library does when it is loaded is what the test wants to see.
    drop(unsafe { libloading::Library::new(canary.path("lib.so")) }.unwrap());
    assert!(canary.path("ran").exists());
}
