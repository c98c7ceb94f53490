//! Bodies of downloads: one file, or those of a run as one archive (POSIX, pax: the ustar interchange format; RFC 1952). Each
//! part is read when the client has taken what came before it: whoever takes nothing holds none of the threads that all
//! requests share which read files.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::PathBuf;
use std::vec::IntoIter;

use axum::body::{Body, Bytes};
use cosmark_archive::{open_file, place_named};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::{self, StreamExt};

use crate::api::types::FileInfo;

/// Bytes that are read of a file at a time.
const PART: u64 = 64 << 10;
/// The contents of a file in a tar archive end at a multiple of so many bytes.
const BLOCK: u64 = 512;

/// What is read a part at a time.
trait Parts: Send + 'static {
    /// What comes next, which may be empty; `None` after the end. Blocks for as long as the disk takes.
    fn part(&mut self) -> io::Result<Option<Vec<u8>>>;
}

/// A body of these parts, each read on a thread where that harms nobody.
fn body_of<P: Parts>(parts: P) -> Body {
    let parts = stream::unfold(Some(parts), |state: Option<P>| async move {
        let mut parts = state?;
        loop {
            let reading = tokio::task::spawn_blocking(move || {
                let part = parts.part();
                (parts, part)
            });
            match reading.await {
                Ok((rest, Ok(Some(part)))) if part.is_empty() => parts = rest,
                Ok((rest, Ok(Some(part)))) => return Some((Ok(Bytes::from(part)), Some(rest))),
                Ok((_, Ok(None))) => return None,
                // A client sees that the body broke off.
                Ok((_, Err(cause))) => return Some((Err(cause), None)),
                Err(_) => return Some((Err(io::Error::other("this download failed by a bug")), None)),
            }
        }
    });
    // Whoever compresses or measures a body may ask once more after its end.
    Body::from_stream(parts.fuse())
}

impl Parts for Take<File> {
    fn part(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut part = Vec::new();
        self.by_ref().take(PART).read_to_end(&mut part)?;
        Ok((!part.is_empty()).then_some(part))
    }
}

/// The first `bytes` of a file: so many it had when it was listed, and it may grow.
pub fn of_file(open: File, bytes: u64) -> Body {
    body_of(open.take(bytes))
}

/// Files that go into an archive.
struct Packing {
    dir: PathBuf,
    /// Name of the directory in the archive.
    stem: String,
    files: IntoIter<FileInfo>,
    /// What is left of the file that goes in now, and of the zeros behind it.
    open: Option<Box<dyn Read + Send>>,
    /// `None` after the end.
    tar: Option<tar::Builder<GzEncoder<Vec<u8>>>>,
}

impl Parts for Packing {
    fn part(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(tar) = &mut self.tar else { return Ok(None) };
        if let Some(open) = &mut self.open {
            if io::copy(&mut open.by_ref().take(PART), tar.get_mut())? == 0 {
                self.open = None;
            }
        } else if let Some(file) = self.files.next() {
            // One that is gone by now is left out.
            if let Ok(open) = open_file(&place_named(&self.dir, &file.name)) {
                let mut head = tar::Header::new_gnu();
                head.set_metadata(&open.metadata()?);
                // A file may grow meanwhile: exactly what the head says goes in.
                head.set_size(file.bytes);
                tar.append_data(&mut head, format!("{}/{}", self.stem, file.name), io::empty())?;
                let padded = file.bytes.next_multiple_of(BLOCK);
                self.open = Some(Box::new(open.take(file.bytes).chain(io::repeat(0)).take(padded)));
            }
        } else {
            return self.tar.take().map(|tar| tar.into_inner()?.finish()).transpose();
        }
        Ok(Some(std::mem::take(tar.get_mut().get_mut())))
    }
}

/// These files of `dir` as `.tar.gz`, below a directory of this name.
pub fn of_files(dir: PathBuf, stem: String, files: Vec<FileInfo>) -> Body {
    let tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    body_of(Packing { dir, stem, files: files.into_iter(), open: None, tar: Some(tar) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::Duration;

    use axum::body::to_bytes;
    use flate2::read::GzDecoder;

    use super::*;

    const LARGE: u64 = 4 << 20;

    #[test]
    fn who_takes_nothing_more_of_a_download_keeps_no_thread_from_others() {
        let dir = tempfile::tempdir().unwrap();
        // Nothing that packs well: the archive has many parts, too. The multiplier is Knuth's (MMIX).
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        let bytes: Vec<u8> = (0..LARGE).map(|_| next()).collect();
        fs::write(dir.path().join("large"), &bytes).unwrap();
        let listed = || vec![FileInfo { name: "large".to_owned(), bytes: LARGE, what: String::new() }];
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
        runtime.unwrap().block_on(async {
            let all = async {
                let mut held = Vec::new();
                for _ in 0..4 {
                    let one = of_file(open_file(&dir.path().join("large")).unwrap(), LARGE);
                    let packed = of_files(dir.path().to_owned(), "w1".to_owned(), listed());
                    for body in [one, packed] {
                        let mut parts = body.into_data_stream();
                        assert!(!parts.next().await.unwrap().unwrap().is_empty());
                        held.push(parts);
                    }
                }
                tokio::task::spawn_blocking(|| ()).await.unwrap();
                let mut whole = 0;
                let mut first = held.swap_remove(0);
                while let Some(part) = first.next().await {
                    whole += part.unwrap().len();
                }
                assert!(whole < bytes.len() && bytes.len() - whole <= 64 << 10, "{whole}");
            };
            tokio::time::timeout(Duration::from_secs(60), all).await.unwrap();
        });
    }

    #[tokio::test]
    async fn an_archive_has_each_file_as_it_was_listed_whatever_became_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{}.csv", "n".repeat(150));
        // Its bytes, and how many were there when it was listed.
        let files: [(&str, usize, u64); 7] = [
            ("empty", 0, 0),
            ("block", 512, 512),
            ("odd", 513, 513),
            (&long, 200_000, 200_000),
            ("grown", 1000, 300),
            ("cut", 300, 1000),
            ("gone", 0, 5),
        ];
        let mut listed = Vec::new();
        for (name, size, bytes) in files {
            if name != "gone" {
                fs::write(dir.path().join(name), vec![b'x'; size]).unwrap();
            }
            listed.push(FileInfo { name: name.to_owned(), bytes, what: String::new() });
        }
        let body = of_files(dir.path().to_owned(), "w1-it".to_owned(), listed);
        let packed = to_bytes(body, usize::MAX).await.unwrap();
        let mut read = BTreeMap::new();
        for entry in tar::Archive::new(GzDecoder::new(&packed[..])).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            read.insert(entry.path().unwrap().to_str().unwrap().to_owned(), bytes);
        }
        assert_eq!(read.len(), 6, "{:?}", read.keys());
        let of = |name: &str| &read[&format!("w1-it/{name}")];
        assert!(of("empty").is_empty() && of("block").len() == 512 && of("odd").len() == 513);
        assert!(of(&long).len() == 200_000 && of(&long).iter().all(|byte| *byte == b'x'));
        assert_eq!(of("grown"), &vec![b'x'; 300]);
        assert_eq!(of("cut"), &[vec![b'x'; 300], vec![0; 700]].concat());
    }
}
