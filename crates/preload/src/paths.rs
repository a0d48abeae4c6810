//! Where the data plane is: the folder with its two sockets.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The folder, unless `CRYPTAND_ESP` names another.
const FOLDER: &[u8] = b"/run/cryptand-esp";
/// The socket at which netlink messages are answered.
const XFRM: &[u8] = b"xfrm.sock";
/// The socket at which the data plane is asked to open sockets of an address.
const PLANE: &[u8] = b"plane.sock";
/// Longest path of a socket in bytes, without the zero byte at its end (unix(7)).
const PATH_BYTES_MAX: usize = 107;

/// The paths of a running data plane.
#[derive(Debug)]
pub struct PlanePaths {
    /// The folder above the data plane's.
    pub above: CString,
    /// The data plane's folder.
    pub folder: CString,
    /// The socket that answers netlink messages.
    pub xfrm: CString,
    /// The socket at which the data plane is asked to open sockets of an address.
    pub plane: CString,
}

static PATHS: OnceLock<Option<PlanePaths>> = OnceLock::new();

/// The data plane's paths, which the first call settles: `named` gives the value of `CRYPTAND_ESP`.
pub fn paths(named: impl FnOnce() -> Option<Vec<u8>>) -> Option<&'static PlanePaths> {
    PATHS.get_or_init(|| PlanePaths::at(&named().unwrap_or_else(|| FOLDER.to_vec()))).as_ref()
}

impl PlanePaths {
    /// The paths in a folder. `None` if they are too long for a socket, or not absolute: the working folder of a
    /// program may change.
    fn at(folder: &[u8]) -> Option<Self> {
        let folder = folder.strip_suffix(b"/").unwrap_or(folder);
        let in_folder = |name: &[u8]| {
            let path = [folder, b"/", name].concat();
            CString::new(path).ok().filter(|path| path.as_bytes().len() <= PATH_BYTES_MAX)
        };
        let slash = folder.iter().rposition(|&byte| byte == b'/').filter(|_| folder.starts_with(b"/"))?;
        Some(Self {
            above: CString::new(&folder[..slash.max(1)]).ok()?,
            xfrm: in_folder(XFRM)?,
            plane: in_folder(PLANE)?,
            folder: CString::new(folder).ok()?,
        })
    }
}

/// A path as it is shown to people.
pub fn shown(path: &CStr) -> &str {
    path.to_str().unwrap_or("(a path that is no text)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_in_the_folder() {
        let paths = PlanePaths::at(b"/run/cryptand-esp/").unwrap();
        assert_eq!(paths.above.as_bytes(), b"/run");
        assert_eq!(paths.folder.as_bytes(), b"/run/cryptand-esp");
        assert_eq!(paths.xfrm.as_bytes(), b"/run/cryptand-esp/xfrm.sock");
        assert_eq!(paths.plane.as_bytes(), b"/run/cryptand-esp/plane.sock");
        assert_eq!(PlanePaths::at(b"/esp").unwrap().above.as_bytes(), b"/");
    }

    #[test]
    fn paths_that_no_socket_has_are_none() {
        assert!(PlanePaths::at(b"").is_none());
        assert!(PlanePaths::at(b"esp").is_none());
        assert!(PlanePaths::at(b"/a\0b").is_none());
        assert!(PlanePaths::at(&[b"/", &[b'a'; 95][..]].concat()).is_some());
        assert!(PlanePaths::at(&[b"/", &[b'a'; 96][..]].concat()).is_none());
    }
}
