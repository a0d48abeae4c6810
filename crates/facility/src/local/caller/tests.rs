use super::*;
use std::sync::mpsc;

fn prepared(engine: &Engine) -> Arc<Prepared> {
    let key = engine.rsa_generate(1024, &[1, 0, 1]).unwrap();
    let public = RsaPublicKey::new(&key.n(), &key.e()).unwrap();
    Arc::new(Prepared { key: Key::Public(public), modulus: key.n().to_vec(), kind: 0 })
}

fn work(prepared: &Arc<Prepared>, last: u8) -> Work {
    let mut block = SecretBytes::new(prepared.modulus.len());
    block[prepared.modulus.len() - 1] = last;
    Work { verb: Verb::ClearRsaPublic, prepared: Arc::clone(prepared), block }
}

/// With room for whatever the test holds.
fn hold(caller: &Caller, work: Work) -> Holding {
    caller.hold(work, 64, 2).ok().expect("room")
}

#[test]
fn a_thread_runs_what_it_holds_as_one_batch_and_no_more_than_its_lanes() {
    let caller = Caller::new();
    let prepared = prepared(caller.engine().unwrap());
    let held: Vec<Holding> = (0..LANES).map(|last| hold(&caller, work(&prepared, last as u8))).collect();
    assert!(caller.hold(work(&prepared, 0), 64, 2).is_err(), "no more than the lanes");
    assert!(will_run() && held.iter().all(|held| held.is_waiting()));
    assert!(held[3].wait(&caller));
    for (last, held) in held.iter().enumerate() {
        assert!(held.is_over());
        let mut reply = Reply::new();
        assert!(held.collect(&mut reply));
        // 0 and 1 are their own powers.
        let result = reply.arguments().bytes(places::RESULT).to_vec();
        assert_eq!(result.len(), 128);
        assert_eq!(last < 2, result[..127].iter().all(|byte| *byte == 0));
        assert!(!held.collect(&mut reply), "once");
    }
    assert_eq!(caller.running(), 0);
}

#[test]
fn what_a_dropped_ticket_held_is_forgotten_at_once() {
    let caller = Caller::new();
    let prepared = prepared(caller.engine().unwrap());
    let holding = hold(&caller, work(&prepared, 2));
    let held = Arc::clone(&*holding);
    drop(holding);
    assert!(matches!(*held.lock(), State::Gone));
    caller.finish(&held);
    assert!(!held.is_over());
}

#[test]
fn who_waits_for_another_threads_pass_is_woken_by_its_end() {
    let held = Arc::new(Held::new(Verb::ClearRsaPublic, State::Running(Verb::ClearRsaPublic)));
    let (sender, receiver) = mpsc::channel();
    let waiter = {
        let held = Arc::clone(&held);
        std::thread::spawn(move || {
            sender.send(()).unwrap();
            held.wait(&Caller::new())
        })
    };
    receiver.recv().unwrap();
    assert!(!held.is_over());
    held.answer(Ok(SecretBytes::new(128)));
    assert!(waiter.join().unwrap());
}

#[test]
fn a_pass_that_panics_leaves_nobody_waiting() {
    let caller = Caller::new();
    let held =
        [(); 2].map(|()| Arc::new(Held::new(Verb::ClearRsaPublic, State::Running(Verb::ClearRsaPublic))));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        caller.running.fetch_add(1, Relaxed);
        let _pass = Pass { caller: &caller, batch: &held };
        panic!("in the engine");
    }));
    assert!(panicked.is_err());
    assert_eq!(caller.running(), 0);
    for held in &held {
        let mut reply = Reply::new();
        assert!(held.wait(&caller) && held.collect(&mut reply));
        assert_eq!(reply.codes(), code::SELF_CHECK);
    }
}

#[test]
fn what_the_parent_of_a_fork_holds_is_left_to_it_whatever_lock_was_held() {
    let caller = Caller::new();
    let prepared = prepared(caller.engine().unwrap());
    let state = State::Waiting(work(&prepared, 2));
    let parents = Held { epoch: link::fork::epoch() + 1, ..Held::new(Verb::ClearRsaPublic, state) };
    let parents = Holding(Arc::new(parents));
    assert!(parents.is_forked());
    MINE.with(|mine| mine.borrow_mut().held.push(Arc::clone(&*parents)));
    let other = Arc::clone(&*parents);
    // Held for ever by a thread that the child does not have.
    let _lock = other.lock();
    let own = hold(&caller, work(&prepared, 1));
    MINE.with(|mine| assert_eq!(mine.borrow().held.len(), 1));
    MINE.with(|mine| mine.borrow_mut().held.push(Arc::clone(&*parents)));
    assert!(own.wait(&caller));
    drop(parents);
}

#[test]
fn a_call_stays_here_while_few_are_under_way_and_cards_promise_no_better() {
    let caller = Caller::new();
    let prepared = prepared(caller.engine().unwrap());
    let work = work(&prepared, 1);
    assert!(caller.takes_call(&work, 0, 2, None));
    assert!(caller.takes_call(&work, 0, 2, Some(0)));
    // Here it takes far longer than it once did, of late.
    let time = &caller.times[prepared.kind];
    time.best_ns.store(100_000, Relaxed);
    time.recent_ns.store(300_000, Relaxed);
    time.measured_tsc.store(link::tsc(), Relaxed);
    assert!(!caller.takes_call(&work, 0, 2, Some(0)));
    assert!(caller.takes_call(&work, 0, 2, Some(300_000)));
    // Many under way, for a while.
    let many = (0..100).filter(|_| caller.takes_call(&work, 95, 2, None)).count();
    assert!(many < 10, "{many}");
    caller.running.store(2, Relaxed);
    caller.level.store(0, Relaxed);
    assert!(!caller.takes_call(&work, 0, 2, None));
}

#[test]
fn tokens_are_compared_whole() {
    let long: Vec<u8> = (0..21).collect();
    assert!(is_equal(&long, &long.clone()) && !is_equal(&long, &long[..20]));
    for at in 0..long.len() {
        let mut other = long.clone();
        other[at] ^= 0x80;
        assert!(!is_equal(&long, &other), "{at}");
    }
}

#[test]
fn times_follow_what_is_measured_and_what_was_never_so_fast_again_fades() {
    let time = Time::default();
    let learn = |us: u64| {
        let begin = link::tsc();
        time.learn(begin, begin + link::ns_to_tsc(us * 1000));
    };
    learn(100);
    let first = time.best_ns.load(Relaxed);
    (0..40).for_each(|_| learn(400));
    let (best, recent) = (time.best_ns.load(Relaxed), time.recent_ns.load(Relaxed));
    assert!(best > first && best < 2 * first, "{first} {best}");
    assert!(recent > 3 * first, "{recent}");
}

#[test]
fn a_share_is_whole_steps_and_all_where_no_processor_is_left_for_cards() {
    let shares = |processors| [1, 2, 3, 4, 8, 15, 16, 96].map(|under_way| share(under_way, processors));
    assert_eq!(shares(2), [1, 1, 3, 4, 4, 4, 8, 8]);
    for processors in [0, 1] {
        assert_eq!(shares(processors), [HELD_MAX; 8]);
    }
}

#[test]
fn threads_count_while_they_run_batches() {
    let caller = Caller::new();
    let at_it_tsc = link::ns_to_tsc(AT_IT_NS);
    let begun_tsc = 10 * at_it_tsc;
    assert_eq!(caller.threads(begun_tsc), 0);
    for place in [0, 1, PLACES - 1] {
        caller.batches_tsc[place].store(begun_tsc + place as u64, Relaxed);
    }
    assert_eq!(caller.threads(begun_tsc), 3);
    assert_eq!(caller.threads(begun_tsc + at_it_tsc), 3);
    assert_eq!(caller.threads(begun_tsc + at_it_tsc + 1), 2);
    assert_eq!(caller.threads(begun_tsc + 2 * at_it_tsc), 0);
    let places: Vec<usize> = (0..2).map(|_| Mine::default().begins(&caller.threads, begun_tsc)).collect();
    assert!(places[0] != places[1] && places.iter().all(|place| *place < PLACES), "{places:?}");
}
