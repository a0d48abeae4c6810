//! How Linux schedules the threads of a process that holds keys.

/// Starts threads that serve many requests at a time. They, and not the caller, are scheduled as
/// batch jobs (`SCHED_BATCH`, sched(7)). A thread that is woken then does not get the processor at
/// once, but when the running thread gives it up or has had its share. Meanwhile more requests
/// collect, and the two threads need not change places for every single packet. An idle processor
/// runs the thread at once.
///
/// A policy other than the normal one (`SCHED_OTHER`) is the operator's choice, and stays. The
/// normal policy stays if a container's rules forbid another.
pub fn as_batch<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: asks for a number about the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    let is_set = policy == libc::SCHED_OTHER && set(libc::SCHED_BATCH);
    let started = start();
    if is_set {
        set(libc::SCHED_OTHER);
    }
    started
}

/// Sets the policy of the calling thread, which threads that it starts inherit; whether it
/// succeeded.
fn set(policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is whole and outlives the call.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: asks for a number about the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn threads_are_of_the_batch_and_their_starter_is_not() {
        let thread = as_batch(|| std::thread::spawn(policy));
        assert_eq!((thread.join().unwrap(), policy()), (libc::SCHED_BATCH, libc::SCHED_OTHER));
    }

    #[test]
    fn a_policy_that_was_chosen_stays() {
        std::thread::spawn(|| {
            assert!(set(libc::SCHED_IDLE));
            let thread = as_batch(|| std::thread::spawn(policy));
            assert_eq!((thread.join().unwrap(), policy()), (libc::SCHED_IDLE, libc::SCHED_IDLE));
        })
        .join()
        .unwrap();
    }
}
