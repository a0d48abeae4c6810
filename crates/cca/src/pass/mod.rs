//! The kernel pass: everything that the computations of a batch asked for, grouped by kind, one
//! engine call per kind.
//!
//! A kind is a type that implements [`Work`], in a file of its own here, with a queue in [`Pass`].
//! Order of the kinds within a pass does not matter: what is asked in one pass is independent.

mod cipher;
mod gcm;
mod hash;
mod mac;
pub(crate) mod rsa;
pub(crate) mod rsa_keys;
mod unwrap_aes;
mod unwrap_des;
mod wrap_aes;
mod wrap_des;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use engine::Engine;

use crate::registers::Domain;

pub(crate) use cipher::{Cipher, KeyRule};
pub(crate) use gcm::Gcm;
pub(crate) use hash::{Hash, HashOutput};
pub(crate) use mac::Mac;
pub(crate) use unwrap_aes::UnwrapAes;
pub(crate) use unwrap_des::UnwrapDes;
pub(crate) use wrap_aes::WrapAes;
pub(crate) use wrap_des::WrapDes;

/// A kind of kernel work. `'a` is how long the requests of the batch live.
pub(crate) trait Work<'a>: Sized {
    /// What the computation gets back.
    type Answer;

    /// The queue of this kind.
    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer>;

    /// Does all of it: pushes exactly one answer for each piece of work, in order.
    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>);
}

/// What kernel work may use: the engine, and the master keys of every domain.
pub(crate) struct Kernel<'k> {
    pub(crate) engine: &'k Engine,
    pub(crate) domains: &'k mut [Domain],
}

macro_rules! kinds {
    ($($field:ident: $kind:ty => $answer:ty,)*) => {
        /// The queues of one batch: a field for each kind.
        #[derive(Default)]
        pub(crate) struct Pass<'a> {
            $(pub(crate) $field: Queue<$kind, $answer>,)*
        }

        impl Pass<'_> {
            /// Whether nothing is asked.
            pub(crate) fn is_idle(&self) -> bool {
                true $(&& self.$field.is_idle())*
            }

            /// Does everything that is asked.
            pub(crate) fn run(&self, kernel: &mut Kernel<'_>) {
                $(self.$field.run(kernel);)*
            }
        }
    };
}

kinds! {
    load_private: rsa_keys::LoadPrivate<'a> => rsa_keys::PrivateAnswer,
    load_public: rsa_keys::LoadPublic<'a> => rsa_keys::PublicAnswer,
    rsa_private: rsa::RsaPrivate => rsa::OperationAnswer,
    rsa_public: rsa::RsaPublic => rsa::OperationAnswer,
    rsa_generate: rsa::RsaGenerate<'a> => rsa::GenerateAnswer,
    rsa_wrap: rsa::RsaWrap => rsa::WrapAnswer,

    unwrap_des: UnwrapDes => unwrap_des::Answer,
    unwrap_aes: UnwrapAes => unwrap_aes::Answer,
    wrap_des: WrapDes => wrap_des::Answer,
    wrap_aes: WrapAes => wrap_aes::Answer,
    cipher: Cipher => cipher::Answer,
    gcm: Gcm<'a> => gcm::Answer,
    mac: Mac<'a> => mac::Answer,
    hash: Hash<'a> => hash::Answer,
}

/// The work of one kind: what is asked for the next pass, and answers that nobody took yet.
pub(crate) struct Queue<W, A> {
    asked: RefCell<Vec<W>>,
    /// In ascending order of their tickets.
    answers: RefCell<Vec<(u64, Option<A>)>>,
    /// Ticket of the first piece of work in `asked`.
    first: Cell<u64>,
}

impl<W, A> Default for Queue<W, A> {
    fn default() -> Self {
        Self { asked: RefCell::default(), answers: RefCell::default(), first: Cell::new(0) }
    }
}

impl<W, A> Queue<W, A> {
    /// Adds work for the next pass.
    pub(crate) fn ask(&self, work: W) -> Ask<'_, W, A> {
        let mut asked = self.asked.borrow_mut();
        let ticket = self.first.get() + asked.len() as u64;
        asked.push(work);
        Ask { queue: self, ticket }
    }

    fn is_idle(&self) -> bool {
        self.asked.borrow().is_empty()
    }

    fn take(&self, ticket: u64) -> Option<A> {
        let mut answers = self.answers.borrow_mut();
        let index = answers.binary_search_by_key(&ticket, |(of, _)| *of).ok()?;
        answers[index].1.take()
    }

    fn run<'a>(&self, kernel: &mut Kernel<'_>)
    where
        W: Work<'a, Answer = A>,
    {
        let mut asked = self.asked.borrow_mut();
        if asked.is_empty() {
            return;
        }
        let mut answers = self.answers.borrow_mut();
        answers.retain(|(_, answer)| answer.is_some());
        let next = self.first.get() + asked.len() as u64;
        let mut sink = Sink { next: self.first.get(), out: &mut answers };
        W::run(kernel, &mut asked, &mut sink);
        assert_eq!(sink.next, next, "one answer for each piece of work");
        self.first.set(next);
        asked.clear();
    }
}

/// Takes the answers of one kind, in the order of the work.
pub(crate) struct Sink<'q, A> {
    next: u64,
    out: &'q mut Vec<(u64, Option<A>)>,
}

impl<A> Sink<'_, A> {
    /// The answer to the next piece of work.
    pub(crate) fn push(&mut self, answer: A) {
        self.out.push((self.next, Some(answer)));
        self.next += 1;
    }
}

/// Work that was asked for. Resolves after the next pass; must be awaited once.
pub(crate) struct Ask<'p, W, A> {
    queue: &'p Queue<W, A>,
    ticket: u64,
}

impl<W, A> Future for Ask<'_, W, A> {
    type Output = A;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<A> {
        match self.queue.take(self.ticket) {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    /// Work that needs no kernel.
    struct Doubling(u32);

    fn answer(queue: &Queue<Doubling, u32>) {
        let mut asked = queue.asked.borrow_mut();
        let mut answers = queue.answers.borrow_mut();
        answers.retain(|(_, answer)| answer.is_some());
        let mut sink = Sink { next: queue.first.get(), out: &mut answers };
        asked.iter().for_each(|work| sink.push(2 * work.0));
        let next = sink.next;
        queue.first.set(next);
        asked.clear();
    }

    fn poll<T>(ask: &mut Ask<'_, Doubling, T>) -> Option<T> {
        match pin!(ask).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn answers_find_their_askers_in_any_order_and_late() {
        let queue = Queue::default();
        let mut asks: Vec<_> = (0..5).map(|number| queue.ask(Doubling(number))).collect();
        assert!(poll(&mut asks[0]).is_none());
        answer(&queue);
        for index in [3, 0, 4] {
            assert_eq!(poll(&mut asks[index]), Some(2 * index as u32));
        }
        let mut later = queue.ask(Doubling(50));
        assert!(poll(&mut later).is_none());
        answer(&queue);
        assert_eq!(poll(&mut later), Some(100));
        assert_eq!((poll(&mut asks[1]), poll(&mut asks[2])), (Some(2), Some(4)));
        answer(&queue);
        assert!(queue.answers.borrow().is_empty());
    }
}
