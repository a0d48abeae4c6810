//! Reads the addresses of backends.

use streams::{Server, UNIX_PATH_BYTES_MAX};

/// Reads a backend's address: `ADDRESS:PORT` or `unix:/path`.
///
/// # Errors
/// A text that says what is wrong with the address.
pub(crate) fn from_text(text: &str) -> Result<Server, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Server::unix(path).filter(|_| path.starts_with('/')).ok_or_else(|| {
            format!("\"{text}\": the path must begin with / and have {UNIX_PATH_BYTES_MAX} bytes at most")
        });
    }
    text.parse().map(Server::Tcp).map_err(|_| {
        format!("\"{text}\" is neither an address with a port, such as 127.0.0.1:8080, nor unix:/path; names are not looked up")
    })
}
