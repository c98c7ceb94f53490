//! The files of a directory of the driver, for `filewrite` and `mfilewrite`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cosmark_adaptor_api::BodySource;

/// Regular files of one directory, sorted by name, not recursive.
#[derive(Debug)]
pub struct FileSet {
    files: Vec<(String, PathBuf)>,
}

impl FileSet {
    /// Reads the directory once.
    ///
    /// # Errors
    /// A directory that is not there, cannot be read, or holds no file.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
            }
        }
        if files.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the directory holds no files"));
        }
        files.sort();
        Ok(Self { files })
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.files.len() as u64
    }

    /// Name of file `number`, from 1.
    #[must_use]
    pub fn name(&self, number: u64) -> &str {
        self.entry(number).map_or("", |(name, _)| name)
    }

    /// Opens file `number`, from 1.
    ///
    /// # Errors
    /// Of the file system.
    pub fn open(&self, number: u64) -> io::Result<FileBody> {
        let (_, path) = self.entry(number).ok_or(io::ErrorKind::NotFound)?;
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(FileBody { file, len })
    }

    fn entry(&self, number: u64) -> Option<&(String, PathBuf)> {
        self.files.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }
}

/// A file as the body of a write.
#[derive(Debug)]
pub struct FileBody {
    file: File,
    len: u64,
}

impl BodySource for FileBody {
    fn len(&self) -> u64 {
        self.len
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }
}
