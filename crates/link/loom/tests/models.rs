//! Models of a client and a card: no wake-up is lost, no frame is read while it is written, no
//! torn key is used. Each model that could pass for a wrong reason has a broken twin, which loom must refute.

use link_loom::protocol;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex, Notify};
use loom::thread;

/// Forced switches that the larger models explore; beyond, the orders are more than a test may take.
const PREEMPTIONS: usize = 4;

/// The words of one queue and what their waiters sleep on.
struct Queue {
    submission: AtomicU64,
    waiting: AtomicU64,
    reply: AtomicU64,
    asleep: AtomicU64,
    doorbell: Notify,
    futex: Futex,
    request_frame: UnsafeCell<u64>,
    reply_frame: UnsafeCell<u64>,
}

impl Queue {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            submission: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            reply: AtomicU64::new(0),
            asleep: AtomicU64::new(0),
            doorbell: Notify::new(),
            futex: Futex::new(),
            request_frame: UnsafeCell::new(0),
            reply_frame: UnsafeCell::new(0),
        })
    }

    fn ring_if_asleep(&self) {
        if protocol::must_ring(&self.asleep) {
            self.doorbell.notify();
        }
    }

    /// The card, until it finds slots handed over: looks, announces, looks again, sleeps.
    fn card_waits(&self, taken: u64) -> u64 {
        loop {
            let pending = protocol::pending(&self.submission, taken);
            if pending != 0 {
                return pending;
            }
            protocol::announce_sleep(&self.asleep);
            let pending = protocol::pending(&self.submission, taken);
            if pending != 0 {
                protocol::announce_awake(&self.asleep);
                return pending;
            }
            self.doorbell.wait();
            protocol::announce_awake(&self.asleep);
        }
    }

    fn client_waits(&self, bit: u64, sequence: u64) {
        protocol::announce_wait(&self.waiting, bit);
        loop {
            let before = protocol::look(&self.reply);
            if before == sequence {
                break;
            }
            self.futex.wait(&self.reply, before);
        }
        protocol::announce_done(&self.waiting, bit);
    }

    fn card_answers(&self, bit: u64, sequence: u64) {
        protocol::publish(&self.reply, sequence);
        if protocol::must_wake(&self.waiting, bit) != 0 {
            self.futex.wake();
        }
    }
}

/// FUTEX_WAIT and FUTEX_WAKE: the kernel compares the word under the lock that a waker takes.
struct Futex {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    fn new() -> Self {
        Self { lock: Mutex::new(()), woken: Condvar::new() }
    }

    fn wait(&self, word: &AtomicU64, expected: u64) {
        let guard = self.lock.lock().unwrap();
        if word.load(Ordering::SeqCst) == expected {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    fn wake(&self) {
        drop(self.lock.lock().unwrap());
        self.woken.notify_one();
    }
}

#[test]
fn a_sleeping_card_misses_no_submission() {
    loom::model(|| {
        let queue = Queue::new();
        let client = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                protocol::submit(&queue.submission, 1);
                queue.ring_if_asleep();
            })
        };
        assert_eq!(queue.card_waits(0), 1);
        client.join().unwrap();
    });
}

#[test]
fn a_sleeping_card_misses_neither_of_two_clients() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let queue = Queue::new();
        let clients = [1, 2].map(|bit| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                protocol::submit(&queue.submission, bit);
                queue.ring_if_asleep();
            })
        });
        let mut taken = 0;
        while taken != 3 {
            taken ^= queue.card_waits(taken);
        }
        for client in clients {
            client.join().unwrap();
        }
    });
}

/// A client that rings, or not, beside a card that goes to sleep, or not: both decisions in one
/// step each, so that a wrong end is an assertion and not a hang.
fn lost_submission(rings: fn(&Queue) -> bool, sleeps: fn(&Queue) -> bool) {
    loom::model(move || {
        let queue = Queue::new();
        let client = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                protocol::submit(&queue.submission, 1);
                rings(&queue)
            })
        };
        let slept = sleeps(&queue);
        let rang = client.join().unwrap();
        assert!(rang || !slept, "lost: the card sleeps and nobody rang");
    });
}

fn rings(queue: &Queue) -> bool {
    protocol::must_ring(&queue.asleep)
}

fn rings_without_fence(queue: &Queue) -> bool {
    queue.asleep.load(Ordering::Relaxed) != 0
}

fn sleeps(queue: &Queue) -> bool {
    protocol::announce_sleep(&queue.asleep);
    protocol::pending(&queue.submission, 0) == 0
}

fn sleeps_without_fence(queue: &Queue) -> bool {
    queue.asleep.store(1, Ordering::Relaxed);
    protocol::pending(&queue.submission, 0) == 0
}

fn sleeps_without_second_look(queue: &Queue) -> bool {
    let slept = protocol::pending(&queue.submission, 0) == 0;
    protocol::announce_sleep(&queue.asleep);
    slept
}

#[test]
fn either_the_card_sees_the_submission_or_the_client_sees_it_sleep() {
    lost_submission(rings, sleeps);
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_second_look_a_submission_is_missed() {
    lost_submission(rings, sleeps_without_second_look);
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_client_a_submission_is_missed() {
    lost_submission(rings_without_fence, sleeps);
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_card_a_submission_is_missed() {
    lost_submission(rings, sleeps_without_fence);
}

#[test]
fn a_sleeping_client_misses_no_reply() {
    loom::model(|| {
        let queue = Queue::new();
        let card = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.card_answers(1, 7))
        };
        queue.client_waits(1, 7);
        card.join().unwrap();
    });
}

#[test]
fn of_two_replies_put_before_one_fence_neither_sleeper_misses_its_own() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        // Two slots of a queue whose waiting mask they share.
        let waiting = Arc::new(AtomicU64::new(0));
        let slots = Arc::new([1, 2].map(|bit| (bit, AtomicU64::new(0), Futex::new())));
        let clients = [0, 1].map(|slot| {
            let (waiting, slots) = (Arc::clone(&waiting), Arc::clone(&slots));
            thread::spawn(move || {
                let (bit, reply, futex) = &slots[slot];
                protocol::announce_wait(&waiting, *bit);
                loop {
                    let before = protocol::look(reply);
                    if before == 7 {
                        break;
                    }
                    futex.wait(reply, before);
                }
                protocol::announce_done(&waiting, *bit);
            })
        });
        slots.iter().for_each(|(_, reply, _)| protocol::publish(reply, 7));
        let sleeping = protocol::must_wake(&waiting, 3);
        slots.iter().filter(|(bit, ..)| sleeping & bit != 0).for_each(|(_, _, futex)| futex.wake());
        for client in clients {
            client.join().unwrap();
        }
    });
}

/// A thread that sleeps until either of two requests is answered, on the rounds of their queue.
fn waits_for_any(crowd: &AtomicU64, rounds: &AtomicU64, replies: [&AtomicU64; 2], futex: &Futex) {
    loop {
        protocol::join_crowd(crowd);
        let before = protocol::look(rounds);
        let is_over = replies.iter().any(|reply| protocol::look(reply) == 7);
        if !is_over {
            futex.wait(rounds, before);
        }
        protocol::leave_crowd(crowd);
        if is_over {
            return;
        }
    }
}

#[test]
fn a_thread_that_waits_for_any_of_its_requests_misses_no_round() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let words = Arc::new([0, 1, 2, 3, 4].map(|_| AtomicU64::new(0)));
        let futex = Arc::new(Futex::new());
        let card = {
            let (words, futex) = (Arc::clone(&words), Arc::clone(&futex));
            thread::spawn(move || {
                let [crowd, rounds, waiting, first, second] = &*words;
                for reply in [first, second] {
                    protocol::publish(reply, 7);
                    protocol::end_round(rounds);
                    protocol::must_wake(waiting, 3);
                    if protocol::must_wake_crowd(crowd) {
                        futex.wake();
                    }
                }
            })
        };
        let [crowd, rounds, _, first, second] = &*words;
        waits_for_any(crowd, rounds, [first, second], &futex);
        waits_for_any(crowd, rounds, [second, second], &futex);
        card.join().unwrap();
    });
}

/// A thread that sleeps for any answer, or not, beside a card that wakes it, or not. `before` is the round
/// that it would sleep on: the kernel lets it sleep only while that has not changed.
fn lost_round(sleeps: fn(&AtomicU64, &AtomicU64, &AtomicU64) -> Option<u64>) {
    loom::model(move || {
        let words = Arc::new([0, 1, 2, 3].map(|_| AtomicU64::new(0)));
        let card = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                let [crowd, rounds, waiting, reply] = &*words;
                protocol::publish(reply, 7);
                protocol::end_round(rounds);
                protocol::must_wake(waiting, 1);
                protocol::must_wake_crowd(crowd)
            })
        };
        let [crowd, rounds, _, reply] = &*words;
        let sleeps_on = sleeps(crowd, rounds, reply);
        let woke = card.join().unwrap();
        let slept = sleeps_on.is_some_and(|before| before == rounds.load(Ordering::SeqCst));
        assert!(!slept, "lost: the thread sleeps on a round that was the last");
        assert!(woke || sleeps_on.is_none(), "lost: the thread sleeps and nobody woke it");
    });
}

#[test]
fn either_the_crowd_sees_the_answer_or_the_card_sees_the_crowd() {
    lost_round(|crowd, rounds, reply| {
        protocol::join_crowd(crowd);
        let before = protocol::look(rounds);
        (protocol::look(reply) != 7).then_some(before)
    });
}

#[test]
#[should_panic(expected = "lost")]
fn a_round_read_after_the_answers_is_missed() {
    lost_round(|crowd, rounds, reply| {
        protocol::join_crowd(crowd);
        let is_over = protocol::look(reply) == 7;
        let before = protocol::look(rounds);
        (!is_over).then_some(before)
    });
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_crowd_a_round_is_missed() {
    lost_round(|crowd, rounds, reply| {
        crowd.fetch_add(1, Ordering::Relaxed);
        let before = protocol::look(rounds);
        (protocol::look(reply) != 7).then_some(before)
    });
}

/// An event loop that goes to sleep, or not, beside a card that tells it, or not.
fn lost_completion(
    sleeps: fn(&AtomicU64, &AtomicU64) -> bool,
    tells: fn(&AtomicU64, &AtomicU64, &AtomicU64) -> bool,
) {
    loom::model(move || {
        let words = Arc::new([0, 1, 2].map(|_| AtomicU64::new(0)));
        let card = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                let [events, answered, waiting] = &*words;
                tells(events, answered, waiting)
            })
        };
        let [events, answered, _] = &*words;
        let slept = sleeps(events, answered);
        let told = card.join().unwrap();
        assert!(told || !slept, "lost: the loop sleeps and nobody told it");
    });
}

fn arms(events: &AtomicU64, answered: &AtomicU64) -> bool {
    protocol::arm(events, 1);
    protocol::pending(answered, 0) == 0
}

fn tells(events: &AtomicU64, answered: &AtomicU64, waiting: &AtomicU64) -> bool {
    protocol::tell_answered(answered, 1);
    protocol::must_wake(waiting, 1);
    protocol::must_tell(events, &mut 0)
}

#[test]
fn either_the_loop_sees_the_answer_or_the_card_sees_that_it_sleeps() {
    lost_completion(arms, tells);
}

#[test]
#[should_panic(expected = "lost")]
fn an_answer_before_the_loop_says_that_it_sleeps_must_be_looked_for_again() {
    lost_completion(
        |events, answered| {
            let slept = protocol::pending(answered, 0) == 0;
            protocol::arm(events, 1);
            slept
        },
        tells,
    );
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_loop_an_answer_is_missed() {
    lost_completion(
        |events, answered| {
            events.store(1, Ordering::Relaxed);
            protocol::pending(answered, 0) == 0
        },
        tells,
    );
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_card_the_sleep_of_a_loop_is_missed() {
    lost_completion(arms, |events, answered, _| {
        protocol::tell_answered(answered, 1);
        protocol::must_tell(events, &mut 0)
    });
}

/// Two answers and a loop that sleeps for each: a card that tells of every sleep once tells of both.
#[test]
fn a_loop_that_sleeps_again_is_told_again() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let words = Arc::new([0, 1, 2].map(|_| AtomicU64::new(0)));
        let socket = Arc::new(Notify::new());
        let card = {
            let (words, socket) = (Arc::clone(&words), Arc::clone(&socket));
            thread::spawn(move || {
                let [events, answered, waiting] = &*words;
                let mut told = 0;
                for bit in [1, 2] {
                    protocol::tell_answered(answered, bit);
                    protocol::must_wake(waiting, bit);
                    if protocol::must_tell(events, &mut told) {
                        socket.notify();
                    }
                }
            })
        };
        let [events, answered, _] = &*words;
        let (mut collected, mut sleep) = (0, 0);
        while collected != 3 {
            let found = protocol::pending(answered, collected);
            collected ^= found;
            if found != 0 {
                continue;
            }
            sleep += 1;
            protocol::arm(events, sleep);
            if protocol::pending(answered, collected) == 0 {
                socket.wait();
            }
            protocol::disarm(events);
        }
        card.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "lost")]
fn without_the_fence_of_the_card_a_reply_is_missed() {
    loom::model(|| {
        let queue = Queue::new();
        let card = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                protocol::publish(&queue.reply, 7);
                queue.waiting.load(Ordering::Relaxed) & 1 != 0
            })
        };
        protocol::announce_wait(&queue.waiting, 1);
        let slept = protocol::look(&queue.reply) != 7;
        let woke = card.join().unwrap();
        assert!(woke || !slept, "lost: the client sleeps and nobody woke it");
    });
}

/// One slot, used twice: each frame is written by one side while the other leaves it alone, or
/// loom reports the race on the cell.
#[test]
fn frames_change_hands_whole_and_both_ends_may_sleep() {
    const ROUNDS: u64 = 2;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let queue = Queue::new();
        let card = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut taken = 0;
                for round in 1..=ROUNDS {
                    assert_eq!(queue.card_waits(taken), 1);
                    taken ^= 1;
                    let request = queue.request_frame.with(|frame| *frame_of(frame));
                    assert_eq!(request, round * 10);
                    queue.reply_frame.with_mut(|frame| *frame_of_mut(frame) = request + 1);
                    queue.card_answers(1, round);
                }
            })
        };
        for round in 1..=ROUNDS {
            queue.request_frame.with_mut(|frame| *frame_of_mut(frame) = round * 10);
            protocol::submit(&queue.submission, 1);
            queue.ring_if_asleep();
            queue.client_waits(1, round);
            assert_eq!(queue.reply_frame.with(|frame| *frame_of(frame)), round * 10 + 1);
        }
        card.join().unwrap();
    });
}

#[test]
fn a_key_is_read_whole_or_not_at_all() {
    loom::model(|| {
        let entry = Arc::new([AtomicU64::new(2), AtomicU64::new(20), AtomicU64::new(21)]);
        let daemon = {
            let entry = Arc::clone(&entry);
            thread::spawn(move || {
                let odd = protocol::begin_write(&entry[0]);
                entry[1].store(40, Ordering::Relaxed);
                entry[2].store(41, Ordering::Relaxed);
                assert_eq!(protocol::end_write(&entry[0], odd), 4);
            })
        };
        let generation = protocol::look(&entry[0]);
        let copy = [entry[1].load(Ordering::Relaxed), entry[2].load(Ordering::Relaxed)];
        if generation.is_multiple_of(2) && protocol::is_unchanged(&entry[0], generation) {
            assert_eq!(copy, [generation * 10, generation * 10 + 1]);
        }
        daemon.join().unwrap();
    });
}

fn frame_of<'a>(frame: *const u64) -> &'a u64 {
    // SAFETY: loom's cell checks that nobody writes it meanwhile.
    unsafe { &*frame }
}

fn frame_of_mut<'a>(frame: *mut u64) -> &'a mut u64 {
    // SAFETY: loom's cell checks that nobody else uses it meanwhile.
    unsafe { &mut *frame }
}
