//! Officers' commands in every state of a home, right and wrong: what is refused says why and how to go on, and changes
//! nothing. On a real terminal where people type.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::terminal::Terminal;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NOBODY: u32 = 65534;
const PASSPHRASE: &str = "correct horse battery";

/// A throw-away home; its daemon is stopped when the test ends.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let permissions = PermissionsExt::from_mode(0o755);
        Self { base: tempfile::Builder::new().permissions(permissions).tempdir().unwrap() }
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_cryptand")), arguments)
    }

    fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.arg("--home").arg(self.home()).args(arguments).env_remove("CRYPTAND_HOME");
        command
    }

    fn run(&self, mut command: Command, input: &str) -> (bool, String) {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // A command that fails early closes its input; that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        (status.success(), String::from_utf8([stdout, stderr].concat()).unwrap())
    }

    fn succeeds(&self, arguments: &[&str], input: &str) -> String {
        let (done, said) = self.run(self.command(arguments), input);
        assert!(done, "{arguments:?}: {said}");
        said
    }

    /// All that an order could change: registers, while somebody can be asked for them, and the sealed copy.
    fn state(&self) -> (Option<Value>, Option<Vec<u8>>) {
        let (done, said) = self.run(self.command(&["master-key", "show", "--json"]), "");
        let registers = done.then(|| serde_json::from_str(&said).unwrap());
        (registers, std::fs::read(self.home().join("master-keys.sealed")).ok())
    }

    /// A home without master keys, served.
    fn empty() -> Self {
        let place = Self::new();
        place.succeeds(&["init", "--no-master-keys", "--accelerators", "0", "--seal-memory", "64"], "");
        place.succeeds(&["serve", "--background"], "");
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.home().exists() {
            let _ = self.command(&["stop", "--lose-keys"]).stderr(Stdio::null()).status();
        }
    }
}

/// A part of a register: `salt` tells parts apart.
fn part(salt: usize, bytes: usize) -> String {
    (0..bytes).map(|at| format!("{:02X}", (salt + 37 * at) % 256)).collect()
}

/// What two officers give to `init --from-stdin`.
fn ceremony() -> String {
    let parts: String = [1, 2]
        .map(|officer| [24, 24, 32, 32].map(|bytes| part(officer * 50 + bytes, bytes) + "\n").concat())
        .concat();
    parts + PASSPHRASE + "\n" + PASSPHRASE + "\n"
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no home.
    NoHome,
    /// No daemon serves it, and it has no master keys.
    Stopped,
    /// No daemon serves it, and its master keys are sealed.
    StoppedSealed,
    /// Nothing is loaded, nothing sealed.
    Empty,
    /// The new register has its first part.
    First,
    /// The new register is complete.
    Full,
    /// A key is in use, and no sealed copy holds it.
    InUse,
    /// Keys are sealed, and not unsealed since the keeper's start.
    Closed,
    /// Keys are sealed and in use.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    LoadFirst,
    LoadMiddle,
    LoadLast,
    LoadElsewhere,
    LoadWithoutTerminal,
    DrawWithoutTerminal,
    Clear,
    Set,
    SetElsewhere,
    Seal,
    Unseal,
    UnsealWrongly,
    Show,
    Sheet,
    Pending,
    Confirm,
    Init,
}

const ORDERS: [Order; 17] = [
    Order::LoadFirst,
    Order::LoadMiddle,
    Order::LoadLast,
    Order::LoadElsewhere,
    Order::LoadWithoutTerminal,
    Order::DrawWithoutTerminal,
    Order::Clear,
    Order::Set,
    Order::SetElsewhere,
    Order::Seal,
    Order::Unseal,
    Order::UnsealWrongly,
    Order::Show,
    Order::Sheet,
    Order::Pending,
    Order::Confirm,
    Order::Init,
];

impl Order {
    fn typed(self) -> (&'static [&'static str], String) {
        let twice = format!("{PASSPHRASE}\n{PASSPHRASE}\n");
        match self {
            Self::LoadFirst => (&["master-key", "load", "aes", "first", "--from-stdin"], part(1, 32)),
            Self::LoadMiddle => (&["master-key", "load", "aes", "middle", "--from-stdin"], part(2, 32)),
            Self::LoadLast => (&["master-key", "load", "aes", "last", "--from-stdin"], part(3, 32)),
            Self::LoadElsewhere => {
                (&["master-key", "load", "aes", "first", "--domain", "7", "--from-stdin"], part(1, 32))
            }
            Self::LoadWithoutTerminal => (&["master-key", "load", "aes", "first"], part(1, 32)),
            Self::DrawWithoutTerminal => (&["master-key", "load", "aes", "first", "--random"], String::new()),
            Self::Clear => (&["master-key", "clear", "aes"], String::new()),
            Self::Set => (&["master-key", "set"], String::new()),
            Self::SetElsewhere => (&["master-key", "set", "--domain", "7"], String::new()),
            Self::Seal => (&["master-key", "seal"], twice),
            Self::Unseal => (&["unseal"], format!("{PASSPHRASE}\n")),
            Self::UnsealWrongly => (&["unseal"], "another passphrase\n".to_owned()),
            Self::Show => (&["master-key", "show"], String::new()),
            Self::Sheet => (&["master-key", "sheet"], String::new()),
            Self::Pending => (&["master-key", "pending"], String::new()),
            Self::Confirm => (&["master-key", "confirm", "1"], String::new()),
            Self::Init => (&["init"], String::new()),
        }
    }

    fn only_looks(self) -> bool {
        matches!(self, Self::Show | Self::Sheet | Self::Pending)
    }
}

/// What a refusal must say; none where the order is carried out.
fn refusal(state: State, order: Order) -> Option<&'static str> {
    use Order as O;
    use State as S;
    let refused = match (state, order) {
        // What needs a terminal says so before it looks at anything.
        (S::NoHome, O::Init) => "--from-stdin",
        (S::NoHome, _) => "cryptand init",
        (S::Stopped, O::Init) => "--from-stdin",
        (S::StoppedSealed, O::Init) => "unseal",
        (S::Stopped | S::StoppedSealed, _) => "cryptand serve",
        // Other keys would take the place of those in the sealed copy.
        (
            S::Closed,
            O::LoadFirst
            | O::LoadMiddle
            | O::LoadLast
            | O::LoadElsewhere
            | O::LoadWithoutTerminal
            | O::DrawWithoutTerminal
            | O::Set
            | O::SetElsewhere,
        ) => "Open them first: `cryptand unseal`",
        (_, O::LoadWithoutTerminal) => "--from-stdin",
        (_, O::DrawWithoutTerminal) => "openssl rand -hex 32",
        (_, O::LoadElsewhere | O::SetElsewhere) => "there is no such domain",
        (_, O::Confirm) => "master-key pending",
        (S::Open | S::Closed, O::Init) => "unseal",
        (_, O::Init) => "--from-stdin",
        (S::Empty | S::InUse | S::Open, O::LoadMiddle | O::LoadLast) => {
            "no first part yet: `cryptand master-key load aes first`"
        }
        (S::First, O::LoadFirst) => "`cryptand master-key clear aes` begins anew",
        (S::Full, O::LoadFirst | O::LoadMiddle | O::LoadLast) => "`cryptand master-key set` puts it into use",
        (S::Empty | S::InUse | S::Open, O::Set) => "has no new key: `cryptand master-key load",
        (S::First, O::Set) => "`cryptand master-key load aes last` completes it",
        (S::Empty | S::Closed, O::Seal) => "nothing to seal: `cryptand unseal`",
        // The former passphrase is asked for, and not given.
        (S::Open, O::Seal) => "standard input ended",
        (S::Empty, O::Unseal | O::UnsealWrongly) => "`cryptand master-key load`",
        (S::First | S::Full | S::InUse | S::Open, O::Unseal | O::UnsealWrongly) => "loaded already",
        (S::Closed, O::UnsealWrongly) => "does not open the sealed master keys",
        _ => return None,
    };
    Some(refused)
}

/// Gives every order that this state refuses, twice, and every one that only looks.
fn try_all(place: &Place, state: State, program: &Path) {
    let before = place.state();
    for order in ORDERS {
        let (arguments, input) = order.typed();
        let expected = refusal(state, order);
        if expected.is_none() && !order.only_looks() {
            continue;
        }
        for _ in 0..2 {
            let (done, said) = place.run(place.command(arguments), &input);
            assert_eq!(done, expected.is_none(), "{state:?}, {order:?}: {said}");
            assert!(said.contains(expected.unwrap_or_default()), "{state:?}, {order:?}: {said}");
            assert!(!said.contains("drawn, keep it"), "{state:?}, {order:?}: {said}");
            assert!(place.state() == before, "{state:?}, {order:?} changed something: {said}");
        }
    }
    if needs::lacks(needs::Need::Root) {
        return;
    }
    // Another user of the machine gives every order there is.
    for order in ORDERS {
        let (arguments, input) = order.typed();
        let mut command = place.command_of(program, arguments);
        command.uid(NOBODY).gid(NOBODY);
        let (done, said) = place.run(command, &input);
        assert!(!done && said.starts_with("cryptand: "), "{state:?}, {order:?}: {said}");
        assert!(place.state() == before, "{state:?}, {order:?} of another user changed something: {said}");
    }
}

#[test]
fn every_order_in_every_wrong_state_is_refused_with_the_way_on_and_changes_nothing() {
    let place = Place::new();
    let program = place.base.path().join("cryptand");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_cryptand")).arg(&program).status().unwrap().success());
    let carries_out = |order: Order| {
        let (arguments, input) = order.typed();
        place.succeeds(arguments, &input);
    };
    try_all(&place, State::NoHome, &program);
    place.succeeds(&["init", "--no-master-keys", "--accelerators", "0", "--seal-memory", "64"], "");
    try_all(&place, State::Stopped, &program);
    place.succeeds(&["serve", "--background"], "");
    try_all(&place, State::Empty, &program);
    carries_out(Order::LoadFirst);
    try_all(&place, State::First, &program);
    carries_out(Order::Clear);
    carries_out(Order::LoadFirst);
    carries_out(Order::LoadMiddle);
    try_all(&place, State::First, &program);
    carries_out(Order::LoadLast);
    try_all(&place, State::Full, &program);
    carries_out(Order::Set);
    try_all(&place, State::InUse, &program);
    carries_out(Order::Seal);
    place.succeeds(&["stop"], "");
    try_all(&place, State::StoppedSealed, &program);
    place.succeeds(&["serve", "--background"], "");
    try_all(&place, State::Closed, &program);
    // Wrong ones cost a wait; a keeper that starts anew knows of none.
    place.succeeds(&["stop"], "");
    place.succeeds(&["serve", "--background"], "");
    carries_out(Order::Unseal);
    try_all(&place, State::Open, &program);

    // The same key again, and a wrong passphrase of the copy that is replaced.
    carries_out(Order::LoadFirst);
    carries_out(Order::LoadMiddle);
    let before = place.state();
    let (arguments, input) = Order::LoadLast.typed();
    let (done, said) = place.run(place.command(arguments), &input);
    assert!(!done && said.contains("master-key clear") && place.state() == before, "{said}");
    carries_out(Order::Clear);
    let before = place.state();
    let input = format!("{PASSPHRASE}\n{PASSPHRASE}\nanother passphrase\n");
    let (done, said) = place.run(place.command(&["master-key", "seal"]), &input);
    assert!(!done && said.contains("does not open") && place.state() == before, "{said}");
    // And the way on works.
    let sheet = place.succeeds(&["master-key", "sheet"], "");
    let pattern: Vec<u8> =
        serde_json::from_value(place.state().0.unwrap()[2]["current_pattern"].clone()).unwrap();
    let pattern: String = pattern.iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(sheet.contains(&pattern) && sheet.contains(&*place.home().to_string_lossy()), "{sheet}");
    assert!(place.succeeds(&["master-key", "sheet", "--html"], "").contains(&pattern));
}

#[test]
fn a_typed_part_is_typed_twice_and_nothing_is_drawn_unasked() {
    let place = Place::empty();
    let before = place.state();
    let mut terminal = Terminal::new(place.command(&["master-key", "load", "aes", "first"]));
    // Too short, nothing at all, and once this and once that.
    for (first, again, expected) in [
        ("5A", None, "32 bytes, not 1"),
        ("", None, "--random"),
        (&*part(1, 32), Some(part(2, 32)), "the two differ"),
        (&*part(1, 32), Some(String::new()), "the second time nothing was typed"),
    ] {
        terminal.says("first part (32 bytes): ");
        terminal.types(first);
        if let Some(again) = again {
            terminal.says("once more: ");
            terminal.types(&again);
        }
        terminal.says(expected);
        assert!(place.state() == before);
    }
    terminal.says("first part (32 bytes): ");
    terminal.types(&part(1, 32));
    terminal.says("once more: ");
    terminal.types(&part(1, 32).to_lowercase());
    terminal.says("pattern of this part: ");
    let (status, heard, echoes) = terminal.ends();
    assert!(status.success() && echoes, "{heard}");
    assert!(!heard.contains("drawn, keep it"), "{heard}");
}

/// On a terminal `set` seals what it set; without a passphrase the keys are in use, and the next step is named.
#[test]
fn what_is_set_on_a_terminal_is_sealed_in_the_same_step() {
    let place = Place::empty();
    let load = |salt| {
        for (which, salt) in [("first", salt), ("last", salt + 1)] {
            place.succeeds(&["master-key", "load", "aes", which, "--from-stdin"], &part(salt, 32));
        }
    };
    load(1);
    let mut terminal = Terminal::new(place.command(&["master-key", "set"]));
    terminal.says("lost if the keeper ends");
    terminal.says("seals the master keys: ");
    terminal.until_hidden();
    terminal.near.write_all(b"\x04").unwrap();
    let (status, heard, _) = terminal.ends();
    assert!(!status.success() && heard.contains("`cryptand master-key seal`, now"), "{heard}");
    assert!(place.state().1.is_none());

    load(3);
    let mut terminal = Terminal::new(place.command(&["master-key", "set"]));
    terminal.says("seals the master keys: ");
    terminal.types(PASSPHRASE);
    terminal.says("Once more: ");
    terminal.types(PASSPHRASE);
    let (status, heard, _) = terminal.ends();
    assert!(status.success() && heard.contains("sealed"), "{heard}");
    assert!(place.state().1.is_some());

    load(5);
    let (status, heard, _) = Terminal::new(place.command(&["master-key", "set", "--without-seal"])).ends();
    assert!(status.success() && heard.contains("seal the new keys with"), "{heard}");
}

#[test]
fn an_officer_who_leaves_in_the_middle_changes_nothing() {
    let place = Place::empty();
    for (arguments, question) in [
        (&["master-key", "load", "aes", "first"][..], "first part (32 bytes): "),
        (&["unseal"], "Passphrase"),
    ] {
        let before = place.state();
        let mut terminal = Terminal::new(place.command(arguments));
        terminal.says(question);
        terminal.until_hidden();
        // Ctrl-C, which reaches the command as a key or as a signal.
        terminal.near.write_all(b"\x03").unwrap();
        let (status, heard, echoes) = terminal.ends();
        assert_eq!(status.signal(), Some(libc::SIGINT), "{heard}");
        assert!(echoes, "the terminal shows what is typed again: {heard}");
        assert!(place.state() == before);
    }
}

#[test]
fn a_drawn_part_is_typed_back_before_it_is_loaded() {
    let place = Place::empty();
    let draw = ["master-key", "load", "aes", "first", "--random"];
    let mut terminal = Terminal::new(place.command(&draw));
    let mut shown = Vec::new();
    for _ in 0..3 {
        terminal.says("drawn, keep it: ");
        shown.push(terminal.until("\r\n"));
        terminal.says("press Enter");
        terminal.types("");
        terminal.says("typed back: ");
        terminal.types(match shown.len() {
            1 => "",
            2 => "5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A",
            _ => &shown[0],
        });
        // Nothing that is typed back wrongly is loaded.
        if shown.len() < 3 {
            terminal.says("nothing was loaded");
        }
    }
    terminal.says("pattern of this part: ");
    let (status, heard, _) = terminal.ends();
    assert!(status.success(), "{heard}");
    assert!(shown[0].len() == 64 && shown.iter().all(|again| *again == shown[0]), "{heard}");

    // Where it would not be taken, none is drawn.
    let before = place.state();
    let (status, heard, _) = Terminal::new(place.command(&draw)).ends();
    assert_eq!(status.code(), Some(3), "{heard}");
    assert!(heard.contains("master-key load aes last") && !heard.contains("drawn"), "{heard}");
    assert!(place.state() == before);
}

/// Has the officer of a running `init` give parts of these registers.
fn gives(terminal: &mut Terminal, officer: usize, registers: &[(&str, usize)]) {
    for (at, (register, bytes)) in registers.iter().enumerate() {
        let which = if officer == 1 { "first" } else { "last" };
        terminal.says(&format!("{register}, {which} part ({bytes} bytes): "));
        terminal.types(&part(officer * 50 + at + bytes, *bytes));
        terminal.says("once more: ");
        terminal.types(&part(officer * 50 + at + bytes, *bytes));
    }
}

#[test]
fn an_interrupted_init_is_gone_on_with_and_nothing_is_lost() {
    let place = Place::new();
    let init = ["init", "--accelerators", "0", "--seal-memory", "64"];
    let mut terminal = Terminal::new(place.command(&init));
    // Who unseals is asked, and nothing is taken for an answer that is none.
    for answer in ["", "yes", "a"] {
        terminal.says("Which? [a/u] ");
        terminal.types(answer);
    }
    gives(&mut terminal, 1, &[("sym", 24), ("asym", 24)]);
    terminal.says("aes, first part (32 bytes): ");
    terminal.until_hidden();
    terminal.near.write_all(b"\x03").unwrap();
    assert_eq!(terminal.ends().0.signal(), Some(libc::SIGINT));
    let given = place.state();
    assert_eq!(given.0.as_ref().unwrap()[1]["new_state"], "partial");

    // Without a terminal nothing becomes of it; with one, what was given is not asked for again.
    let (done, said) = place.run(place.command(&["init"]), "");
    assert!(!done && said.contains("--from-stdin") && place.state() == given, "{said}");
    let mut terminal = Terminal::new(place.command(&["init"]));
    terminal.says("2 of 4 parts were given before");
    gives(&mut terminal, 1, &[("aes", 32), ("apka", 32)]);
    terminal.says("press Enter");
    terminal.types("");
    gives(&mut terminal, 2, &[("sym", 24)]);
    // The end of what is typed is an end without a part, too.
    terminal.says("asym, last part (24 bytes): ");
    terminal.until_hidden();
    terminal.near.write_all(b"\x04").unwrap();
    let (status, heard, _) = terminal.ends();
    assert_eq!(status.code(), Some(1), "{heard}");
    assert!(heard.contains("goes on with them"), "{heard}");

    let mut terminal = Terminal::new(place.command(&["init"]));
    terminal.says("Officer 1: every part was given before");
    gives(&mut terminal, 2, &[("asym", 24), ("aes", 32), ("apka", 32)]);
    terminal.says("press Enter");
    terminal.types("");
    terminal.says("seals the master keys: ");
    terminal.until_hidden();
    terminal.near.write_all(b"\x03").unwrap();
    assert_eq!(terminal.ends().0.signal(), Some(libc::SIGINT));
    let in_use = place.state();
    assert!(in_use.1.is_none());

    let mut terminal = Terminal::new(place.command(&["init"]));
    terminal.says("seals the master keys: ");
    terminal.types(PASSPHRASE);
    terminal.says("Once more: ");
    terminal.types(PASSPHRASE);
    let (status, heard, _) = terminal.ends();
    assert!(status.success(), "{heard}");
    // The same keys as if nobody had been interrupted. The daemon that served before goes on.
    place.succeeds(&["stop"], "");
    place.succeeds(&["serve", "--background"], "");
    place.succeeds(&["unseal"], &format!("{PASSPHRASE}\n"));
    for (now, before) in
        place.state().0.unwrap().as_array().unwrap().iter().zip(in_use.0.unwrap().as_array().unwrap())
    {
        assert_eq!(now["current_pattern"], before["current_pattern"]);
        assert!(now["current_pattern"].is_array());
    }
    let before = place.state();
    let (done, said) = place.run(place.command(&["init", "--from-stdin"]), "");
    assert!(!done && said.contains("unseal") && place.state() == before, "{said}");
}

#[test]
fn a_home_with_records_is_given_no_other_keys_by_init() {
    let place = Place::new();
    let lines = ceremony();
    place.succeeds(&["init", "--from-stdin", "--accelerators", "0", "--seal-memory", "64"], &lines);
    place.succeeds(&["serve", "--background"], "");
    place.succeeds(&["unseal"], &format!("{PASSPHRASE}\n"));
    place.succeeds(&["key", "generate", "A.B", "--type", "aes256"], "");
    place.succeeds(&["stop"], "");
    std::fs::rename(place.home().join("master-keys.sealed"), place.base.path().join("kept")).unwrap();
    let (done, said) = place.run(place.command(&["init", "--from-stdin"]), &lines);
    assert!(
        !done && said.contains("1 key record(s)") && said.contains("put master-keys.sealed back"),
        "{said}"
    );
    assert!(!place.home().join("master-keys.sealed").exists());
}

/// A keeper that comes back sealed beside cards that still have their keys, as after any end of its process: whoever
/// loads new keys then would take the working ones from the cards.
#[test]
fn a_sealed_keeper_takes_no_new_keys_and_takes_none_away() {
    let place = Place::new();
    place.succeeds(&["init", "--from-stdin", "--accelerators", "0", "--seal-memory", "64"], &ceremony());
    place.succeeds(&["serve", "--background"], "");
    place.succeeds(&["unseal"], &format!("{PASSPHRASE}\n"));
    place.succeeds(&["key", "generate", "A.MAC.KEY", "--type", "tdes-mac"], "");
    let mac = || {
        let request = r#"{"key_identifier":"label:A.MAC.KEY","text":"text:hello","rule_array":["X9.19OPT"]}"#;
        place.succeeds(&["verb", "mac-generate", request], "")
    };
    let health = || place.run(place.command(&["health"]), "").1;
    let before = mac();

    let status: Value = serde_json::from_str(&place.succeeds(&["status", "--json"], "")).unwrap();
    let pid = rustix::process::Pid::from_raw(status["keeper_pid"].as_i64().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while !health().contains("keeper-sealed") {
        std::thread::yield_now();
    }
    let refused = |arguments: &[&str], input: &str| {
        let (done, said) = place.run(place.command(arguments), input);
        assert!(!done && said.contains("Open them first: `cryptand unseal`"), "{arguments:?}: {said}");
    };
    let none_is_taken = || {
        for salt in [1, 2] {
            let name = if salt == 1 { "first" } else { "last" };
            refused(&["master-key", "load", "aes", name, "--from-stdin"], &part(salt, 32));
        }
        refused(&["master-key", "set"], "");
        refused(&["master-key", "set", "--lose", "all"], "");
    };
    none_is_taken();
    assert_eq!(mac(), before);
    assert!(health().contains("keeper-sealed"));
    place.succeeds(&["unseal"], &format!("{PASSPHRASE}\n"));
    assert_eq!((mac(), health().as_str()), (before.clone(), "healthy\n"));

    place.succeeds(&["stop"], "");
    place.succeeds(&["serve", "--background"], "");
    let sealed = health();
    assert!(sealed.contains("no-keys") && !sealed.contains("master-key load"), "{sealed}");
    assert!(!place.run(place.command(&["status"]), "").1.contains("master-key load"));
    none_is_taken();
    place.succeeds(&["unseal"], &format!("{PASSPHRASE}\n"));
    assert_eq!((mac(), health().as_str()), (before, "healthy\n"));
}

#[test]
fn a_development_home_is_gone_on_with_too() {
    let place = Place::new();
    let init = ["init", "--insecure-dev", "--accelerators", "0"];
    place.succeeds(&init, "");
    let (done, said) = place.run(place.command(&init), "");
    assert!(!done && said.contains("a home already"), "{said}");
    place.succeeds(&["serve", "--background"], "");
    place.succeeds(&["key", "delete", "DEV.AES128.DATA", "--yes"], "");
    assert!(place.succeeds(&init, "").contains("without its sample keys"));
    place.succeeds(&["serve", "--background"], "");
    assert!(place.succeeds(&["key", "list"], "").contains("DEV.AES128.DATA"));
    let (done, said) = place.run(place.command(&["init", "--insecure-dev", "--seed", "9"]), "");
    assert!(!done && said.contains("of another seed"), "{said}");
}
