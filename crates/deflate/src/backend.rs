//! The libraries that compress and inflate: Intel's ISA-L if it is installed, zlib-rs otherwise.

use crate::isal_ffi;

/// The library that compresses or inflates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// ISA-L's igzip: compresses at levels 1 and 2, and inflates. Where the library is not installed, and at other
    /// levels, [`Backend::ZlibRs`] does the work.
    Isal,
    /// zlib-rs: every level.
    ZlibRs,
}

impl Backend {
    /// The fastest available backend for compression at `level` (1 to 9).
    #[must_use]
    pub fn best(level: u8) -> Self {
        if isal_level(level).is_some() { Self::best_inflate() } else { Self::ZlibRs }
    }

    /// The fastest available backend for inflating.
    #[must_use]
    pub fn best_inflate() -> Self {
        if Self::Isal.is_available() { Self::Isal } else { Self::ZlibRs }
    }

    /// Whether this machine has the backend's library.
    #[must_use]
    pub fn is_available(self) -> bool {
        self == Self::ZlibRs || isal_ffi::is_available()
    }

    /// The backend's name, as summaries and reports print it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Isal => "ISA-L",
            Self::ZlibRs => "zlib-rs",
        }
    }
}

/// ISA-L's level that serves for ours; `None` if zlib-rs is the better choice. Measured over records, source code and
/// machine code. ISA-L's 1 takes two thirds of the time of zlib-rs's 1, and its output is a seventh to a quarter
/// smaller. ISA-L's 3 takes at most three quarters of the time of zlib-rs's 2, and its output is about as large or
/// smaller. ISA-L's 2 is like its 1 to one part in a hundred, and zlib-rs's 3 has smaller output than any of them.
pub(crate) fn isal_level(level: u8) -> Option<u32> {
    match level {
        0..=1 => Some(1),
        2 => Some(3),
        _ => None,
    }
}
