//! The system calls of a process that holds keys and serves, such as a card: each with the reason
//! why it is allowed.
//!
//! A system call that is not listed kills the process (SIGSYS). The program contains none, so a process that makes one
//! runs foreign code: returning an error would let such a process continue with master keys in its memory.

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// A system call that is allowed, with a condition on its arguments.
pub struct Rule {
    /// Name of the call.
    pub name: &'static str,
    call: i64,
    only: Only,
    /// What would not work without the call.
    pub why: &'static str,
}

/// The condition on the arguments of a call.
enum Only {
    Always,
    /// The argument at this index has none of these bits.
    Without(u8, libc::c_int),
    /// The argument at this index is one of these values.
    OneOf(u8, &'static [libc::c_int]),
    /// The pointer at this index is null.
    Null(u8),
    /// The argument at the first index is this process's id, and that at the second one of these
    /// values.
    Own(u8, u8, &'static [libc::c_int]),
}

macro_rules! rules {
    ($(#[$doc:meta])* $name:ident: $($call:ident $only:expr, $why:literal;)*) => {
        $(#[$doc])*
        pub const $name: &[Rule] = &[$(Rule {
            name: stringify!($call),
            call: libc::$call,
            only: $only,
            why: $why,
        }),*];
    };
}

use Only::{Always, Null, OneOf, Own, Without};

/// Operations of futex(2): wakes of a word shared with a client, and waits and wakes of the
/// process's own locks. No operation that moves waiters from one word to another, or hands on a
/// lock's priority: those have had flaws in the kernel.
const FUTEX_OPERATIONS: &[libc::c_int] = &[
    libc::FUTEX_WAKE,
    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
    libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
];

rules! {
    /// Every system call that all such programs may make.
    RULES:
    // Control channels and the doorbell.
    SYS_recvmsg Always, "orders with descriptors, handouts";
    SYS_recvfrom Always, "doorbell rings";
    SYS_sendmsg Always, "notices with descriptors, handouts";
    SYS_sendto Null(4), "completion rings to clients that wait on a socket; to no address";
    SYS_accept4 Always, "a later daemon connects to the listener";
    SYS_getsockopt Always, "who that daemon is, and what kind of socket a new one is";
    SYS_ppoll Always, "sleeping on the doorbell and the control channels";
    SYS_close Always, "descriptors of ended queues and channels";
    SYS_fcntl OneOf(1, &[libc::F_GET_SEALS]), "seals of a queue's memory";
    SYS_fstat Always, "length of a queue's memory";
    // Memory.
    SYS_mmap Without(2, libc::PROT_EXEC), "queues, memory of Argon2id; never executable";
    SYS_munmap Always, "ended queues, memory of Argon2id";
    SYS_madvise Always, "queues are not inherited, memory of Argon2id stays out of dumps";
    SYS_pwrite64 OneOf(2, &[size_of::<u64>() as libc::c_int]), "the end of a queue whose memory cannot be mapped";
    // Waiting and time.
    SYS_futex OneOf(1, FUTEX_OPERATIONS), "waking a client that sleeps on its slot; locks of the runtime at exit";
    SYS_sched_yield Always, "letting clients bring more requests before a long pass";
    SYS_clock_gettime Always, "time, on machines whose shared page does not tell it";
    SYS_getcpu Always, "the processor of the status page, on machines whose shared page does not tell it";
    // Entropy.
    SYS_getrandom Always, "reseeding of the random generator";
    // The end.
    SYS_sigaltstack Always, "the runtime takes its signal stack down at exit";
    SYS_exit_group Always, "exit";
    SYS_write OneOf(0, &[libc::STDERR_FILENO]), "the reason of a panic or an abort";
    SYS_rt_sigprocmask Always, "abort";
    SYS_getpid Always, "abort";
    SYS_gettid Always, "abort";
    SYS_tgkill Own(0, 2, &[libc::SIGABRT]), "abort, of this process and by no other signal";
    SYS_rt_sigaction OneOf(0, &[libc::SIGABRT]), "abort, and no other handler";
}

rules! {
    /// System calls that a program whose threads carry packets may make beside [`RULES`], on
    /// devices and sockets that were open before. None of them opens, binds or connects anything.
    PACKET_RULES:
    SYS_read Always, "packets from a device, counts of events";
    SYS_write Always, "packets to a device, wakes of threads, the reason of a panic";
    SYS_writev Always, "packets to a device, behind their header";
    SYS_pread64 Always, "the journal of what the process before knew";
    SYS_pwrite64 Always, "the journal of what the next process must know";
    SYS_sendmmsg Always, "packets of protocol 50, many a call";
    SYS_poll Always, "sleeping on devices and sockets";
    SYS_epoll_pwait Always, "sleeping on devices and sockets";
    SYS_epoll_ctl Always, "sockets that came later";
    SYS_futex Always, "locks between threads";
    SYS_exit Always, "threads that end when the process does";
    SYS_mremap Always, "lists that grow";
}

/// Applies the policy to the whole process; it may then make the calls of [`RULES`] and of
/// `beside`.
pub fn apply(beside: &[Rule]) -> Result<(), Errno> {
    let program = compile(beside).ok_or(Errno::INVAL)?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| match error {
        seccompiler::Error::Prctl(cause) | seccompiler::Error::Seccomp(cause) => {
            cause.raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error)
        }
        _ => Errno::INVAL,
    })
}

fn compile(beside: &[Rule]) -> Option<BpfProgram> {
    let mut calls = std::collections::BTreeMap::new();
    for rule in RULES.iter().chain(beside) {
        // Each of these arguments is a C `int`: the upper half of its register means nothing.
        let condition = |index, operator, value: libc::c_int| {
            SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, u64::from(value as u32)).ok()
        };
        let is = |index, value: libc::c_int| condition(index, SeccompCmpOp::Eq, value);
        let all = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions).ok();
        let alternatives = match rule.only {
            Always => Vec::new(),
            Without(index, bits) => {
                vec![all(vec![condition(index, SeccompCmpOp::MaskedEq(u64::from(bits as u32)), 0)?])?]
            }
            OneOf(index, values) => {
                values.iter().map(|value| all(vec![is(index, *value)?])).collect::<Option<Vec<_>>>()?
            }
            Null(index) => {
                let null = SeccompCondition::new(index, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0).ok()?;
                vec![all(vec![null])?]
            }
            Own(process, index, values) => {
                let own = libc::c_int::try_from(link::world::pid()).ok()?;
                let each = values.iter().map(|value| all(vec![is(process, own)?, is(index, *value)?]));
                each.collect::<Option<Vec<_>>>()?
            }
        };
        calls.insert(rule.call, alternatives);
    }
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    SeccompFilter::new(calls, SeccompAction::KillProcess, SeccompAction::Allow, architecture)
        .ok()?
        .try_into()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_rule_has_a_reason_and_stands_once() {
        for rules in [RULES, PACKET_RULES] {
            let mut seen = HashSet::new();
            for rule in rules {
                assert!(seen.insert(rule.call), "{} stands twice", rule.name);
                assert!(rule.why.len() >= 4, "{} has no reason", rule.name);
            }
            assert!(compile(rules).is_some());
        }
    }

    #[test]
    fn nothing_that_opens_starts_or_traces_is_listed() {
        let calls: HashSet<_> = RULES.iter().chain(PACKET_RULES).map(|rule| rule.call).collect();
        for forbidden in [
            libc::SYS_open,
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_ioctl,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_fork,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_mprotect,
            libc::SYS_prctl,
            libc::SYS_seccomp,
            libc::SYS_io_uring_setup,
            libc::SYS_bpf,
        ] {
            assert!(!calls.contains(&forbidden), "{forbidden}");
        }
    }
}
