//! Files that a user names. Only regular files are read, and only up to a size: reading a pipe could block, reading
//! a device might never end, and a file that does not fit into memory would kill the process without a message.

use crate::narrow::exact;
use std::fs::{File, FileType};
use std::io::{Error, Read, Result};
use std::path::Path;

/// The most that a scenario may hold, or a file that is read into one.
pub const MOST_SCENARIO_BYTES: u64 = 4 << 20;
/// The most that a list of flows or links may hold: some 30 million lines.
pub const MOST_LIST_BYTES: u64 = 1 << 30;

/// What a file holds.
///
/// # Errors
/// It can't be read, is no regular file, or holds more than `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(Error::other(format!("it is {}, not a regular file", kind(about.file_type()))));
    }
    if about.len() > most {
        return Err(too_large(most));
    }
    let mut content = Vec::with_capacity(exact::<usize>(about.len()));
    // Some of the system's own files report a length that is not theirs.
    File::open(path)?.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(content)
}

/// What a text file holds.
///
/// # Errors
/// As `read`; or it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        Error::other(format!("it is not a text file (byte {byte} is not UTF-8)"))
    })
}

fn too_large(most: u64) -> Error {
    Error::other(format!("it is larger than {} MiB, the most that is read", most >> 20))
}

#[cfg(unix)]
fn kind(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn kind(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a device" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, most: u64) -> String {
        read_text(Path::new(path), most).expect_err(path).to_string()
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/files.rs");
        assert!(read_text(Path::new(own), MOST_SCENARIO_BYTES).unwrap().starts_with("//! Files"));
        assert_eq!(refused(env!("CARGO_MANIFEST_DIR"), 10), "it is a folder, not a regular file");
        assert!(refused(own, 10).starts_with("it is larger than 0 MiB"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_told() {
        assert_eq!(refused("/dev/zero", MOST_LIST_BYTES), "it is a device, not a regular file");
    }
}
