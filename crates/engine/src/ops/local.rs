//! `localwrite`: generated content into a directory of the driver, `<files>/<container>/<object>`: what the driver's own
//! disk can take, and a way to make the files that `filewrite` sends.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use cosmark_adaptor_api::{BodySource, Error, ErrorKind, Result};

use super::{Call, Done, local_error};
use crate::content::Body;

const PIECE: usize = 1 << 20;

pub async fn write(call: Call<'_>) -> Result<Done> {
    let directory = call.operation.files.as_deref().unwrap_or_default();
    let unsafe_name = |name: &str| name.is_empty() || name == "." || name == ".." || name.contains('/');
    if unsafe_name(call.object) || unsafe_name(call.container) {
        let message = format!("{}/{} cannot be a file name", call.container, call.object);
        return Err(Error::new(ErrorKind::Config, message).with_hint("use prefixes without slashes"));
    }
    let path: PathBuf = [directory, call.container, call.object].iter().collect();
    let body = call.body();
    let writing = tokio::task::spawn_blocking(move || write_file(&path, &body));
    let result = call.timing.time(writing).await;
    let bytes = result.map_err(|cause| Error::new(ErrorKind::LocalIo, cause.to_string()))??;
    call.marks.body_bytes = bytes;
    Ok(Done { bytes, accepted_only: false, checked: false })
}

fn write_file(path: &PathBuf, body: &Body) -> Result<u64> {
    let shown = path.display().to_string();
    let fail = |cause: std::io::Error| local_error(&shown, &cause);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    let mut file = fs::File::create(path).map_err(fail)?;
    let mut piece = vec![0; PIECE.min(usize::try_from(body.len()).unwrap_or(PIECE))];
    let mut offset = 0;
    while offset < body.len() {
        let count = usize::try_from(body.len() - offset).unwrap_or(usize::MAX).min(piece.len());
        body.copy_to(offset, &mut piece[..count]).map_err(fail)?;
        file.write_all(&piece[..count]).map_err(fail)?;
        offset += count as u64;
    }
    Ok(offset)
}
