//! A key that is being opened.

use super::{Format, Key, Under};
use crate::pass::{Ask, Open, Opened};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use wire::{Codes, code};

/// Resolves to the key after the next pass; at once if the key is clear.
pub(crate) struct Opening<'p, 'a>(State<'p, 'a>);

enum State<'p, 'a> {
    Asked {
        ask: Ask<'p, Open<'a>, Result<Opened, Codes>>,
        format: Format,
        under: Under,
        is_outdated: bool,
    },
    /// Boxed, so that waiting for a wrapped key takes little room.
    Clear(Option<Box<Key>>),
}

impl<'p, 'a> Opening<'p, 'a> {
    pub(super) fn asked(
        ask: Ask<'p, Open<'a>, Result<Opened, Codes>>,
        format: Format,
        under: Under,
        is_outdated: bool,
    ) -> Self {
        Self(State::Asked { ask, format, under, is_outdated })
    }

    pub(super) fn clear(key: Key) -> Self {
        Self(State::Clear(Some(Box::new(key))))
    }
}

impl Future for Opening<'_, '_> {
    type Output = Result<Key, Codes>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            State::Asked { ask, format, under, is_outdated } => {
                Pin::new(ask).poll(context).map(|opened| match opened? {
                    Opened::Secret(secret, age) => {
                        let (format, under, is_outdated) = (*format, Some(*under), *is_outdated);
                        Ok(Key { secret, format, under, age, is_outdated })
                    }
                    Opened::Private(_) | Opened::Public(_) => Err(code::SELF_CHECK),
                })
            }
            State::Clear(key) => Poll::Ready(key.take().map(|key| *key).ok_or(code::SELF_CHECK)),
        }
    }
}
