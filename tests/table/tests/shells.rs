//! Shells in C and Python, made from three rows of the verb table, call real verbs: a compiled program and a script
//! send requests through a pipe to this process, whose facility has cards serve them. Each request is byte for byte
//! that of a Rust caller with the same arguments, and each answer as well.
//!
//! The three rows are those of CSNBENC (a fixed key field, a text that is padded, a length that comes back), CSNBMGN (a
//! length by keywords) and CSNDPKE (keys and outputs by length). The C program's fields end where its memory does.

use facility::Facility;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use system_tests::{Installation, mac_key, rsa_generate, rsa_skeleton};
use table_tests::{c, python};
use tempfile::TempDir;
use wire::Label;
use wire::frame::{Argument, Arguments};
use wire::verb::{
    DesMethod, Direction, Entry, Filled, Kind, Length, MacFormat, MacMethod, Parameter, RecordWriting,
    RsaFormat, Segment, TABLE, TypedAsk, Verb, encipher as enc, key_records_write as krw,
    mac_generate as mgn, pka_encrypt as pke, pka_public_key_extract as pkx,
};

/// Of the example shells.
const VERBS: [Verb; 3] = [Verb::Encipher, Verb::MacGenerate, Verb::PkaEncrypt];
/// Bits of the RSA key, which a short test makes.
const RSA_BITS: u16 = 1024;
/// Warnings are errors; names of `unistd.h` and `mman.h` are GNU's.
const CC_FLAGS: [&str; 7] = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Runs a program to its end.
fn run(program: &str, arguments: &[&OsStr]) {
    let child = start(program, arguments, Stdio::null(), Stdio::null());
    let output = child.wait_with_output().expect("a child can be waited for");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn start(program: &str, arguments: &[&OsStr], input: Stdio, output: Stdio) -> Child {
    let started =
        Command::new(program).args(arguments).stdin(input).stdout(output).stderr(Stdio::piped()).spawn();
    started.unwrap_or_else(|error| match error.kind() {
        ErrorKind::NotFound => panic!("{program} is missing: `scripts/need test` installs it"),
        _ => panic!("{program}: {error}"),
    })
}

/// The files of a shell of these rows.
fn write_shell(folder: &Path, rows: &[&Entry]) {
    let files = [
        ("shell.h", c::SHELL_H.to_owned()),
        ("shell.c", c::SHELL_C.to_owned()),
        ("bounds.h", c::bounds()),
        ("cca.h", c::header(rows)),
        ("cca.c", c::source(rows)),
        ("cca.py", python::module(rows)),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn cc(folder: &Path, output: &str, flags: &[&str], sources: &[&str]) {
    let output = folder.join(output);
    let mut arguments: Vec<&OsStr> = CC_FLAGS.iter().chain(flags).map(OsStr::new).collect();
    arguments.extend([OsStr::new("-I"), folder.as_os_str(), OsStr::new("-o"), output.as_os_str()]);
    let sources: Vec<_> = sources.iter().map(|name| folder.join(name)).collect();
    arguments.extend(sources.iter().map(|path| path.as_os_str()));
    run("cc", &arguments);
}

/// What a Rust caller sends and is answered.
struct Expected<'f> {
    facility: &'f Facility,
    requests: VecDeque<(Verb, Vec<u8>)>,
    answers: String,
}

impl Expected<'_> {
    /// Calls a verb; gives its chaining vector, where it has one.
    fn send(&mut self, arguments: &Arguments<'_>) -> facility::Reply {
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        self.requests.push_back((arguments.verb(), payload));
        self.facility.call(0, arguments).unwrap()
    }

    /// Calls a verb, and writes down what a program shows of it.
    fn call(&mut self, name: &str, ask: &impl TypedAsk, shown: &[usize]) {
        self.call_changed(name, ask, shown, |_| ());
    }

    /// The same with a request that is changed before it is sent.
    fn call_changed(
        &mut self,
        name: &str,
        ask: &impl TypedAsk,
        shown: &[usize],
        change: impl FnOnce(&mut Arguments<'_>),
    ) {
        let mut filled = Filled::default();
        let arguments = &mut ask.arguments(&mut filled);
        change(arguments);
        let reply = self.send(arguments);
        let codes = reply.codes();
        self.answers += &format!("{name} {}/{}", codes.return_code, codes.reason_code);
        for position in shown {
            let value = match reply.arguments().at(*position) {
                Argument::Integer(value) => value.to_string(),
                Argument::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                other => panic!("{name}: {other:?}"),
            };
            self.answers += &format!(" {}={value}", arguments.verb().entry().parameters[*position].name);
        }
        self.answers.push('\n');
    }
}

fn encipher<'a>(key: &'a [u8], text: &'a [u8], method: Option<DesMethod>) -> enc::Ask<'a> {
    enc::Ask {
        key_identifier: key.into(),
        plaintext: text,
        initialization_vector: Some(b"12345678"),
        method,
        chaining_vector: Some(&[0; 18]),
        ..enc::Ask::new()
    }
}

fn mac<'a>(key: &'a [u8], text: &'a [u8]) -> mgn::Ask<'a> {
    mgn::Ask { key_identifier: key.into(), text, chaining_vector: Some(&[0; 18]), ..mgn::Ask::new() }
}

fn pka_encrypt(public: &[u8], room: usize) -> pke::Ask<'_> {
    pke::Ask {
        key_value: b"a clear value 16",
        rsa_public_key: public.into(),
        rsa_encipher: room,
        ..pke::Ask::new(RsaFormat::ZeroPad)
    }
}

/// The calls of `calls.c` and `calls.py`.
fn expected<'f>(facility: &'f Facility, key: &[u8], label: &[u8], public: &[u8]) -> Expected<'f> {
    let mut calls = Expected { facility, requests: VecDeque::new(), answers: String::new() };
    let enciphered = [enc::TEXT_LENGTH, enc::CIPHERTEXT];
    calls.call("cbc", &encipher(key, b"twenty-four bytes of it.", None), &enciphered);
    calls.call("x9.23", &encipher(key, b"twenty-one bytes of i", Some(DesMethod::X923)), &enciphered);
    calls.call("mac", &mac(label, b"a text"), &[mgn::MAC]);
    let (method, format) = (Some(MacMethod::X99), Some(MacFormat::Hex9));
    calls.call("mac-hex9", &mgn::Ask { method, format, ..mac(label, b"a text") }, &[mgn::MAC]);
    let first = |text| mgn::Ask { segment: Some(Segment::First), ..mac(label, text) };
    calls.call("mac-first-of-odd-length", &first(b"two bl"), &[]);
    let first = calls.send(&first(b"two blocks here.").arguments(&mut Filled::default()));
    let first = first.arguments();
    let (segment, format) = (Some(Segment::Last), Some(MacFormat::Bytes8));
    let chaining_vector = Some(first.bytes(mgn::CHAINING_VECTOR).try_into().unwrap());
    let last = mgn::Ask { segment, format, chaining_vector, ..mac(label, b"and more") };
    calls.call("mac-parts", &last, &[mgn::MAC]);
    calls.call("pke", &pka_encrypt(public, 128), &[pke::RSA_ENCIPHER_LENGTH, pke::RSA_ENCIPHER]);
    calls.call("pke-small", &pka_encrypt(public, 127), &[pke::RSA_ENCIPHER_LENGTH]);
    // A null pointer for three bytes is refused by the shell, and sent by nobody.
    calls.answers += "null-text 8/21\n";
    calls.call_changed("negative-length", &mac(label, b""), &[], |arguments| {
        arguments.set_integer(mgn::TEXT_LENGTH, -1);
    });
    calls.call_changed("many-keywords", &mac(label, b"a"), &[], |arguments| {
        arguments.set_integer(mgn::RULE_ARRAY_COUNT, 33);
    });
    calls
}

/// A DES key, the field of a label that it is kept under, and an RSA public key.
fn keys(facility: &Facility) -> [Vec<u8>; 3] {
    let (key, label) = (mac_key(facility), Label::new("TEST.MAC").unwrap().to_field());
    let create = krw::Ask {
        key_label_1: &label,
        key_token_1: &key,
        key_label_2: &[b' '; 64],
        ..krw::Ask::new(RecordWriting::Create)
    };
    let created = facility.ask(0, &create).unwrap();
    assert!(created.codes().has_output(), "{}", created.codes());

    let generated = facility.ask(0, &rsa_generate(&rsa_skeleton(facility, RSA_BITS))).unwrap();
    let private = generated.got().generated_key_identifier;
    let extract =
        pkx::Ask { source_key_identifier: private.into(), target_key_token: 3500, ..pkx::Ask::new() };
    let extracted = facility.ask(0, &extract).unwrap();
    [key, label.to_vec(), extracted.got().target_key_token.to_vec()]
}

/// Answers the requests that a program sends until it ends; gives them.
fn serve(facility: &Facility, child: &mut Child) -> VecDeque<(Verb, Vec<u8>)> {
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut requests = VecDeque::new();
    let mut head = [0; 6];
    while output.read_exact(&mut head).is_ok() {
        let verb = Verb::from_number(u16::from_ne_bytes([head[0], head[1]])).expect("a verb of the table");
        let length = u32::from_ne_bytes([head[2], head[3], head[4], head[5]]);
        let mut payload = vec![0; length as usize];
        output.read_exact(&mut payload).unwrap();
        let arguments = Arguments::read_request(verb, &payload).expect("a payload of the verb's form");
        let reply = facility.call(0, &arguments).unwrap();
        let (codes, answer) = (reply.codes(), reply.arguments());
        let mut back = Vec::new();
        let parameters = verb.entry().parameters.iter().enumerate();
        let is_answered = |(position, parameter): (usize, &Parameter)| {
            parameter.kind == Kind::Integer && matches!(answer.at(position), Argument::Integer(_))
        };
        // Of a verb that was refused before it ran there are codes only.
        if codes.has_output() || parameters.into_iter().any(is_answered) {
            answer.write_reply(&mut back).unwrap();
        }
        for number in [codes.return_code, codes.reason_code, back.len() as i32] {
            input.write_all(&number.to_ne_bytes()).unwrap();
        }
        input.write_all(&back).unwrap();
        requests.push_back((verb, payload));
    }
    requests
}

/// Runs a program that makes the calls, and compares.
fn compare(facility: &Facility, folder: &Path, program: &str, arguments: &[&OsStr], expected: &Expected<'_>) {
    let answers = folder.join("answers");
    let _ = fs::remove_file(&answers);
    let mut child = start(program, arguments, Stdio::piped(), Stdio::piped());
    let requests = serve(facility, &mut child);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{program}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(fs::read_to_string(answers).unwrap(), expected.answers, "{program}");
    assert_eq!(requests, expected.requests, "{program}");
}

#[test]
fn shells_of_three_verbs_call_what_a_rust_caller_calls() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    write_shell(folder, &VERBS.map(Verb::entry));
    for name in ["pipe.c", "calls.c", "calls.py"] {
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shells").join(name), folder.join(name))
            .unwrap();
    }
    cc(folder, "calls", &[], &["calls.c", "pipe.c", "cca.c", "shell.c"]);
    cc(folder, "libcca.so", &["-shared", "-fPIC"], &["pipe.c", "cca.c", "shell.c"]);

    let installation = Installation::new(1, 0);
    installation.until_ready();
    let facility = installation.facility();
    let [key, label, public] = keys(&facility);
    for (name, bytes) in [("key", &key), ("label", &label), ("public", &public)] {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let expected = expected(&facility, &key, &label, &public);
    let calls = folder.join("calls");
    compare(&facility, folder, calls.to_str().unwrap(), &[folder.as_os_str()], &expected);
    let script = folder.join("calls.py");
    compare(&facility, folder, "python3", &[script.as_os_str(), folder.as_os_str()], &expected);
}

#[test]
fn a_shell_of_the_whole_table_compiles() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let rows: Vec<&Entry> = TABLE.iter().collect();
    write_shell(folder, &rows);
    cc(folder, "libcca.so", &["-shared", "-fPIC"], &["cca.c", "shell.c"]);
    run("python3", &[OsStr::new("-m"), OsStr::new("py_compile"), folder.join("cca.py").as_os_str()]);
}

/// A row of the lengths that no verb's row has yet.
#[test]
fn bits_and_tokens_say_their_lengths() {
    const PARAMETERS: &[Parameter] = &[
        parameter("bit_length", Kind::Integer),
        parameter("bits", Kind::Bytes(Length::Bits(0))),
        parameter("token", Kind::Bytes(Length::Own)),
    ];
    let entry = Entry { entry_point: "EXAMPLE", parameters: PARAMETERS, ..*Verb::Null.entry() };
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    write_shell(folder, &[&entry]);
    fs::write(folder.join("lengths.c"), include_str!("shells/lengths.c")).unwrap();
    cc(folder, "lengths", &[], &["lengths.c", "cca.c", "shell.c"]);
    run(folder.join("lengths").to_str().unwrap(), &[]);
}

const fn parameter(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        direction: Direction::In,
        kind,
        secret: false,
        null: wire::verb::Null::Refused,
        uses: wire::uses::Uses::NONE,
    }
}
