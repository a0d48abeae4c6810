//! Why a request is refused: an error number, and the text of the extended acknowledgement, which daemons log.

use crate::wire::errno;
use ipsec::SaError;
use std::borrow::Cow;

/// A refusal. Texts are Linux's where Linux has the case (net/xfrm/xfrm_user.c, xfrm_state.c); no text holds anything
/// of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The error number, as programs read it from errno.
    pub(crate) errno: i32,
    /// Text of the extended acknowledgement; empty for none.
    pub(crate) text: Cow<'static, str>,
    /// Offset in the message of the attribute that the refusal is about.
    pub(crate) offset: Option<u32>,
}

impl Refusal {
    pub(crate) fn new(errno: i32, text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { errno, text: text.into(), offset: None }
    }

    /// A refusal for which Linux gives only the number.
    pub(crate) fn bare(errno: i32) -> Refusal {
        Refusal::new(errno, "")
    }

    pub(crate) fn at(self, offset: usize) -> Refusal {
        Refusal { offset: u32::try_from(offset).ok(), ..self }
    }

    /// A refusal (EINVAL) of a request that makes no sense.
    pub(crate) fn invalid(text: &'static str) -> Refusal {
        Refusal::new(errno::EINVAL, text)
    }
}

impl From<SaError> for Refusal {
    fn from(error: SaError) -> Refusal {
        let errno = match error {
            // As a kernel answers that does not have the algorithm.
            SaError::Weak { .. } => errno::ENOSYS,
            _ => errno::EINVAL,
        };
        Refusal::new(errno, error.to_string())
    }
}
