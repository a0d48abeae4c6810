//! Processes that hold secrets leave no core file and let no other process of their user read their memory.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const NOBODY: u32 = 65534;

fn cryptand(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
    command.arg("--home").arg(home).args(arguments).env_remove("CRYPTAND_HOME").stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Lets a command write core files, in this folder.
fn dumping(command: &mut Command, folder: &Path) {
    command.current_dir(folder);
    // SAFETY: between fork and exec only a system call is made, which is async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(|| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
            Ok(())
        });
    }
}

/// Ends a process by this signal; whether the kernel wrote its memory to a core file.
fn dumps(mut child: Child, signal: i32) -> bool {
    let status = loop {
        // SAFETY: sends a signal to a child that was not waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        // The runtime's handler of a fault gives way to the next one.
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::yield_now(),
        }
    };
    assert_eq!(status.signal(), Some(signal));
    status.core_dumped()
}

fn files(folder: &Path) -> Vec<std::ffi::OsString> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Reads standard error of a child until it holds this.
fn says(child: &mut Child, what: &str) {
    let (mut heard, mut byte) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&heard).contains(what) {
        assert_eq!(
            child.stderr.as_mut().unwrap().read(&mut byte).unwrap(),
            1,
            "{}",
            String::from_utf8_lossy(&heard)
        );
        heard.push(byte[0]);
    }
}

/// A process that reads a line from a pipe, is in the middle of it, and shows by this that it does.
fn reading(mut command: Command, question: &str, line: &str) -> Child {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    says(&mut child, question);
    child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    child
}

#[test]
fn who_holds_a_secret_leaves_no_core() {
    let base = tempfile::tempdir().unwrap();
    let (home, cores) = (base.path().join("home"), base.path().join("cores"));
    std::fs::create_dir(&cores).unwrap();
    done(cryptand(&home, &["init", "--no-master-keys"]));
    // That a process killed here leaves one, where the machine lets any.
    let mut plain = Command::new("cat");
    dumping(&mut plain, &cores);
    let bites = dumps(plain.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap(), libc::SIGABRT);
    for file in files(&cores) {
        std::fs::remove_file(cores.join(file)).unwrap();
    }
    let mut serve = cryptand(&home, &["serve", "--background"]);
    dumping(&mut serve, &cores);
    done(serve);
    let part = ["master-key", "load", "aes", "first", "--from-stdin"];
    let cases: [(&[&str], &str, &str); 3] = [
        (&part, "first part", "5A5A5A5A"),
        (&["unseal"], "Passphrase", "correct horse"),
        (&["master-key", "seal"], "Passphrase", "correct horse"),
    ];
    for (arguments, question, line) in cases {
        if arguments.contains(&"seal") {
            // Where nothing is loaded it asks for no passphrase.
            let mut load = reading(cryptand(&home, &part), "first part", &("5A".repeat(32) + "\n"));
            assert!(load.wait().unwrap().success());
        }
        for signal in [libc::SIGABRT, libc::SIGSEGV] {
            let mut command = cryptand(&home, arguments);
            dumping(&mut command, &cores);
            let child = reading(command, question, line);
            assert_eq!(limit_of(child.id()), ["0", "0"], "{arguments:?}");
            assert!(!dumps(child, signal), "{arguments:?} left a core, by signal {signal}");
        }
    }
    // Its exit code says how well the home serves, and this one has no keys in use.
    let status = cryptand(&home, &["status", "--json"]).output().unwrap().stdout;
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    let daemon = status["daemon_pid"].as_u64().unwrap() as u32;
    assert_eq!(limit_of(daemon), ["0", "0"]);
    // Its files in /proc are root's: who is not root can neither read nor trace it.
    let owner =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{daemon}/mem")).unwrap());
    assert_eq!(owner, 0);
    assert_eq!(files(&cores), Vec::<std::ffi::OsString>::new(), "core files, where cat leaves one: {bites}");
    done(cryptand(&home, &["stop"]));
}

/// The limit of core files of a process: what is in force, and what it may raise it to.
fn limit_of(pid: u32) -> Vec<String> {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    line.split_whitespace().skip(4).take(2).map(str::to_owned).collect()
}

#[test]
fn another_process_of_the_same_user_reads_nothing() {
    // Root reads everything: the attack is mounted by and on another user, where that can be had.
    let is_root = rustix::process::geteuid().is_root();
    let base = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let program = base.path().join("cryptand");
    needs::copy_program(env!("CARGO_BIN_EXE_cryptand").as_ref(), &program);
    let text = base.path().join("text");
    std::fs::write(&text, b"a text").unwrap();
    let own = |mut command: Command| {
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let memory = |pid: u32| {
        let mut command = own(Command::new("dd"));
        let output =
            command.arg(format!("if=/proc/{pid}/mem")).args(["of=/dev/null", "count=0"]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut plain = own(Command::new("cat")).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Its memory opens once the kernel is through with executing it, which is a little after it was told of.
    let begun = std::time::Instant::now();
    let (bites, said) = loop {
        let (bites, said) = memory(plain.id());
        if bites || begun.elapsed().as_secs() >= 60 {
            break (bites, said);
        }
    };
    plain.kill().unwrap();
    plain.wait().unwrap();
    assert!(bites, "the memory of any other process of the user opens: {said}");

    let (reader, writer) = std::io::pipe().unwrap();
    if is_root {
        // The program opens it by its name, which only its owner may.
        std::os::unix::fs::fchown(&reader, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = Command::new(&program);
    command.args(["encrypt", "--passphrase-fd", "0", "-o", "-"]).arg(&text).env("HOME", base.path());
    let mut child = own(command).stdin(reader).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut writer = writer;
    writer.write_all(b"correct horse").unwrap();
    // It closes its memory before it reads anything, and stays at this line, which has no end.
    let begun = std::time::Instant::now();
    let said = loop {
        let (opens, said) = memory(child.id());
        if !opens {
            break said;
        }
        assert!(begun.elapsed().as_secs() < 60, "its memory stays open");
    };
    assert!(said.contains("ermission denied") && child.try_wait().unwrap().is_none(), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
}
