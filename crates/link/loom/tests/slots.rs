//! Models of threads of one client that claim, give up and take over the slots of a queue which one of them leaves to
//! the next: no slot has two owners, nothing is written while the card reads it, and no wake-up is lost. Between a
//! thread that ends and the next nothing passes but these words.
#![forbid(unsafe_code)]

use link_loom::{protocol, slots};
use loom::cell::Cell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex, Notify};
use loom::thread;

const SLOTS: usize = 2;

/// A queue, as its client and its card have it, and what both sleep on.
struct Queue {
    free: AtomicU64,
    abandoned: AtomicU64,
    collected: AtomicU64,
    /// Of each slot the number of its last request.
    sequences: [AtomicU64; SLOTS],
    submission: AtomicU64,
    waiting: AtomicU64,
    answered: AtomicU64,
    asleep: AtomicU64,
    replies: [AtomicU64; SLOTS],
    requests: [Cell<u64>; SLOTS],
    doorbell: Notify,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Queue {
    /// A queue with this many free slots.
    fn new(free: u64) -> Arc<Self> {
        let words = || std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self {
            free: AtomicU64::new(free),
            abandoned: AtomicU64::new(0),
            collected: AtomicU64::new(0),
            sequences: words(),
            submission: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            asleep: AtomicU64::new(0),
            replies: words(),
            requests: std::array::from_fn(|_| Cell::new(0)),
            doorbell: Notify::new(),
            lock: Mutex::new(()),
            woken: Condvar::new(),
        })
    }

    /// Writes a request into an own slot, hands it to the card, and rings.
    fn send(&self, slot: u32) -> u64 {
        let sequence = self.sequences[slot as usize].load(Ordering::Relaxed) + 1;
        self.sequences[slot as usize].store(sequence, Ordering::Relaxed);
        self.requests[slot as usize].set(sequence);
        protocol::submit(&self.submission, 1 << slot);
        if protocol::must_ring(&self.asleep) {
            self.doorbell.notify();
        }
        sequence
    }

    fn is_over(&self, slot: u32) -> bool {
        let answered = protocol::pending(&self.answered, self.collected.load(Ordering::Relaxed));
        let word = protocol::look(&self.replies[slot as usize]);
        answered & 1 << slot != 0 && word == self.sequences[slot as usize].load(Ordering::Relaxed)
    }

    /// Gives back a slot that was given up, if its request is over.
    fn reap(&self, slot: u32, take_over: fn(&AtomicU64, u64, &dyn Fn() -> bool) -> bool) {
        let bit = 1 << slot;
        let is_given_up = self.abandoned.load(Ordering::Acquire) & bit != 0;
        if is_given_up && take_over(&self.abandoned, bit, &|| self.is_over(slot)) {
            self.collected.fetch_xor(bit, Ordering::Relaxed);
            slots::give_back(&self.free, bit);
        }
    }

    fn reap_all(&self) {
        (0..SLOTS as u32).for_each(|slot| self.reap(slot, take_over));
    }

    /// Sleeps until a request is answered, and collects the answer.
    fn collect(&self, slot: u32, sequence: u64) {
        let (bit, reply) = (1 << slot, &self.replies[slot as usize]);
        protocol::announce_wait(&self.waiting, bit);
        while protocol::look(reply) != sequence {
            let guard = self.lock.lock().unwrap();
            if reply.load(Ordering::SeqCst) != sequence {
                drop(self.woken.wait(guard).unwrap());
            }
        }
        protocol::announce_done(&self.waiting, bit);
        self.collected.fetch_xor(bit, Ordering::Relaxed);
        slots::give_back(&self.free, bit);
    }

    /// The card, until it has answered this many requests.
    fn serve(&self, requests: usize) {
        let (mut taken, mut done) = (0, 0);
        while done < requests {
            let mut pending = protocol::pending(&self.submission, taken);
            if pending == 0 {
                protocol::announce_sleep(&self.asleep);
                if protocol::pending(&self.submission, taken) == 0 {
                    self.doorbell.wait();
                }
                protocol::announce_awake(&self.asleep);
                continue;
            }
            while pending != 0 {
                let slot = pending.trailing_zeros();
                let bit = 1 << slot;
                (pending, taken, done) = (pending & !bit, taken ^ bit, done + 1);
                let sequence = self.requests[slot as usize].get();
                protocol::publish(&self.replies[slot as usize], sequence);
                protocol::tell_answered(&self.answered, bit);
                if protocol::must_wake(&self.waiting, bit) != 0 {
                    drop(self.lock.lock().unwrap());
                    self.woken.notify_all();
                }
            }
        }
    }
}

fn take_over(abandoned: &AtomicU64, bit: u64, is_over: &dyn Fn() -> bool) -> bool {
    slots::take_over(abandoned, bit, is_over, || ())
}

fn take_over_after_one_look(abandoned: &AtomicU64, bit: u64, is_over: &dyn Fn() -> bool) -> bool {
    is_over() && abandoned.fetch_and(!bit, Ordering::AcqRel) & bit != 0
}

/// Explores a model with this many forced switches.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A thread that ends with a request in flight, and the one that has its place in the share from then on: it learns of
/// the place by a counter that orders nothing.
#[test]
fn the_next_thread_of_a_share_has_all_slots_and_both_sides_may_sleep() {
    check(3, || {
        let (queue, threads) = (Queue::new(3), Arc::new(AtomicU64::new(1)));
        let first = {
            let (queue, threads) = (Arc::clone(&queue), Arc::clone(&threads));
            thread::spawn(move || {
                let slot = slots::claim(&queue.free).unwrap();
                queue.send(slot);
                slots::give_up(&queue.abandoned, 1 << slot);
                threads.fetch_sub(1, Ordering::Relaxed);
            })
        };
        let next = {
            let (queue, threads) = (Arc::clone(&queue), Arc::clone(&threads));
            thread::spawn(move || {
                threads.fetch_add(1, Ordering::Relaxed);
                // In whichever slot is free: that of the first thread may be in use, given up, or given back.
                queue.reap_all();
                let slot = slots::claim(&queue.free).expect("one is in use at most");
                let sequence = queue.send(slot);
                queue.collect(slot, sequence);
            })
        };
        queue.serve(2);
        first.join().unwrap();
        next.join().unwrap();
        queue.reap_all();
        assert_eq!(queue.free.load(Ordering::Relaxed), 3, "a slot is lost");
        assert_eq!(queue.abandoned.load(Ordering::Relaxed), 0);
        let left = protocol::pending(&queue.answered, queue.collected.load(Ordering::Relaxed));
        assert_eq!(left, 0, "an answer is left");
    });
}

/// Two threads that look after a slot that was given up and is answered. One of them gives it up again, with another
/// request, beside the card that reads it. `first` says how the other one takes slots over.
fn given_up_twice(first: fn(&AtomicU64, u64, &dyn Fn() -> bool) -> bool) {
    check(3, move || {
        let queue = Queue::new(1);
        let slot = slots::claim(&queue.free).unwrap();
        queue.send(slot);
        slots::give_up(&queue.abandoned, 1);
        queue.serve(1);
        let again = |reap: fn(&AtomicU64, u64, &dyn Fn() -> bool) -> bool| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                queue.reap(0, reap);
                let Some(slot) = slots::claim(&queue.free) else { return 0 };
                // In flight at once are as many requests as there are slots.
                assert_eq!(queue.submission.load(Ordering::Relaxed), 1, "two requests in one slot");
                queue.send(slot);
                slots::give_up(&queue.abandoned, 1);
                1
            })
        };
        let threads = [again(first), again(take_over)];
        let sent: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(sent, 1, "two requests in one slot");
    });
}

#[test]
fn a_slot_that_is_given_up_again_is_not_taken_over_for_its_request_before() {
    given_up_twice(take_over);
}

#[test]
#[should_panic(expected = "two requests in one slot")]
fn after_one_look_alone_a_slot_has_two_owners() {
    given_up_twice(take_over_after_one_look);
}

/// Two threads that claim the only slot, write its request and give it back: one at a time, and the second one sees
/// what the first one wrote.
fn passed_on(claim: fn(&AtomicU64) -> Option<u32>) {
    check(3, move || {
        let queue = Queue::new(1);
        let threads = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let Some(slot) = claim(&queue.free) else { return 0 };
                let request = &queue.requests[slot as usize];
                request.set(request.get() + 1);
                slots::give_back(&queue.free, 1 << slot);
                1
            })
        });
        let owners: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!((queue.requests[0].get(), queue.free.load(Ordering::Relaxed)), (owners, 1));
    });
}

#[test]
fn a_free_slot_has_one_owner_who_sees_what_was_written_before() {
    passed_on(slots::claim);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn claimed_without_order_a_slot_is_written_by_two() {
    passed_on(|free| free.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok().then_some(0));
}
