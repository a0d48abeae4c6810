//! The queue of one kind of work: requests for the next pass, and results until they are taken.

use super::{Kernel, Work};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The requested work of one kind, and its results.
pub(crate) struct Queue<W, A> {
    asked: RefCell<Vec<W>>,
    /// Answers of the tickets from `base` on.
    answers: RefCell<Vec<Option<A>>>,
    base: Cell<u64>,
    /// Number of answers that were not taken yet.
    untaken: Cell<usize>,
    /// Ticket of the first piece of work in `asked`.
    first: Cell<u64>,
    /// Number of pieces of work that room is reserved for at once, so that none is moved as more come.
    expected: usize,
}

impl<W, A> Queue<W, A> {
    /// A queue for a batch of `expected` requests.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            asked: RefCell::default(),
            answers: RefCell::default(),
            base: Cell::new(0),
            untaken: Cell::new(0),
            first: Cell::new(0),
            expected,
        }
    }

    /// Adds work for the next pass.
    pub(crate) fn ask(&self, work: W) -> Ask<'_, W, A> {
        let mut asked = self.asked.borrow_mut();
        let ticket = self.first.get() + asked.len() as u64;
        if asked.capacity() == 0 {
            asked.reserve_exact(self.expected);
        }
        asked.push(work);
        Ask { queue: self, ticket }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.asked.borrow().is_empty()
    }

    /// Looks at the first piece of work for the next pass; `None` if there is none.
    pub(crate) fn first<T>(&self, look: impl FnOnce(&W) -> T) -> Option<T> {
        self.asked.borrow().first().map(look)
    }

    fn take(&self, ticket: u64) -> Option<A> {
        let index = usize::try_from(ticket.checked_sub(self.base.get())?).ok()?;
        let answer = self.answers.borrow_mut().get_mut(index)?.take()?;
        self.untaken.set(self.untaken.get() - 1);
        Some(answer)
    }

    pub(super) fn run<'a>(&self, kernel: &mut Kernel<'_>)
    where
        W: Work<'a, Answer = A>,
    {
        self.answer(|asked, answers| W::run(kernel, asked, answers));
    }

    /// Answers all requested work with `run`.
    fn answer(&self, run: impl FnOnce(&mut [W], &mut [Option<A>])) {
        let mut asked = self.asked.borrow_mut();
        if asked.is_empty() {
            return;
        }
        let mut answers = self.answers.borrow_mut();
        if self.untaken.get() == 0 {
            answers.clear();
            self.base.set(self.first.get());
        }
        let before = answers.len();
        answers.resize_with(before + asked.len(), || None);
        run(&mut asked, &mut answers[before..]);
        assert!(answers[before..].iter().all(Option::is_some), "one answer for each piece of work");
        self.untaken.set(self.untaken.get() + asked.len());
        self.first.set(self.first.get() + asked.len() as u64);
        asked.clear();
    }
}

/// Requested work. Resolves after the next pass; must be awaited once.
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
    use super::*;
    use std::pin::pin;
    use std::task::Waker;

    fn double(queue: &Queue<u32, u32>) {
        queue.answer(|asked, answers| {
            for (work, answer) in asked.iter().zip(answers) {
                *answer = Some(2 * *work);
            }
        });
    }

    fn poll(ask: &mut Ask<'_, u32, u32>) -> Option<u32> {
        match pin!(ask).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn answers_find_their_askers_in_any_order_and_late() {
        let queue = Queue::new(5);
        let mut asks: Vec<_> = (0..5).map(|number| queue.ask(number)).collect();
        assert!(poll(&mut asks[0]).is_none());
        double(&queue);
        for index in [3, 0, 4] {
            assert_eq!(poll(&mut asks[index]), Some(2 * index as u32));
        }
        let mut later = queue.ask(50);
        assert!(poll(&mut later).is_none());
        double(&queue);
        assert_eq!(poll(&mut later), Some(100));
        assert_eq!((poll(&mut asks[1]), poll(&mut asks[2])), (Some(2), Some(4)));
        assert_eq!(queue.untaken.get(), 0);
        let mut last = queue.ask(7);
        double(&queue);
        assert_eq!(poll(&mut last), Some(14));
        assert_eq!(queue.answers.borrow().len(), 1, "answers that were taken give way");
    }

    #[test]
    #[should_panic(expected = "one answer for each piece of work")]
    fn work_without_an_answer_is_a_fault() {
        let queue: Queue<u32, u32> = Queue::new(0);
        queue.ask(1);
        queue.answer(|_, _| {});
    }
}
