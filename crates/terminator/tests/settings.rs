//! Bad settings, and bad files that they name: each error says file, line and key.

use crate::support::{Folder, certificate, ecdsa, output, program, public, rsa};
use std::path::Path;
use std::process::Command;
use terminator::settings::{MANUAL, Settings, Wrong};

const GOOD: &str = "\
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"

[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\"
";

/// What is wrong with this text: line and key, and the cause.
fn wrong(text: &str) -> (Option<usize>, String, String) {
    let file = Path::new("/etc/tls.toml");
    let Wrong { file: named, line, key, cause } = Settings::from_text(file, text).unwrap_err();
    assert_eq!(named, file);
    (line, key, cause)
}

#[test]
fn the_manual_is_a_settings_file_and_shows_defaults() {
    let file = Path::new("/etc/cryptand/tls.toml");
    let settings = Settings::from_text(file, MANUAL).unwrap();
    assert_eq!(
        settings.certificates[0].chain.as_ref().unwrap().value,
        Path::new("/etc/cryptand/example.org.pem")
    );
    // With every default taken in, it says the same.
    let defaults = [
        "loops",
        "stop_seconds",
        "access",
        "format",
        "connections",
        "connections_per_address",
        "failed_connections",
    ];
    let more = [
        "handshake_seconds",
        "idle_seconds",
        "connect_seconds",
        "buffer_kib",
        "policy",
        "rotate_hours",
        "cache",
        "seconds",
    ];
    let mut text = String::new();
    let mut seen = 0;
    for line in MANUAL.lines() {
        let bare = line.strip_prefix("# ").unwrap_or_default();
        let key = bare.split(" = ").next().unwrap_or_default();
        // A certificate's own policy is an example.
        let is_default = defaults.iter().chain(&more).any(|name| *name == key)
            && key != "loops"
            && bare != "policy = \"compatible\"";
        let is_table = bare == "[log]" || bare == "[limits]" || bare == "[tickets]" || bare == "[sessions]";
        seen += usize::from(is_default);
        text += if is_default || is_table { bare } else { line };
        text.push('\n');
    }
    assert_eq!(seen, defaults.len() + more.len() - 1);
    let mut same = Settings::from_text(file, &text).unwrap();
    same.log.line = settings.log.line;
    for (same, settings) in same.listeners.iter_mut().zip(&settings.listeners) {
        same.policy.line = settings.policy.line;
    }
    assert_eq!(same, settings);
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_line_and_key() {
    let file = Path::new("tls.toml");
    Settings::from_text(file, GOOD).unwrap();
    let replaced = |from: &str, to: &str| {
        assert!(GOOD.contains(from));
        GOOD.replace(from, to)
    };
    let with = |text: &str| format!("{text}\n{GOOD}");
    let cases = [
        (with("unknown = 1"), 1, "unknown", "unknown field"),
        (with("loops = 0"), 1, "loops", "0 is not from 1 to 256"),
        (with("loops = \"two\""), 1, "loops", "invalid type"),
        (with("\nstop_seconds = 86401"), 2, "stop_seconds", "86401 is not from 0"),
        (with("stop_seconds = -1"), 1, "stop_seconds", "invalid value"),
        (with("[home]\nfolder = \"/x\"\ndomain = 16"), 3, "domain", "16 is not from 0 to 15"),
        (with("[home]\ndomain = 1"), 1, "[home]", "missing field `folder`"),
        (with("[log]\nformat = \"xml\""), 2, "format", "neither \"text\" nor \"json\""),
        (with("[log]\naccess = \"\""), 2, "access", "names no file"),
        (with("[limits]\nconnections = 0"), 2, "connections", "0 is not from 1"),
        (with("[limits]\nbuffer_kib = 15"), 2, "buffer_kib", "15 is not from 16"),
        (with("[tickets]\nrotate_hours = 169"), 2, "rotate_hours", "169 is not from 0 to 168"),
        (with("[sessions]\ncache = 16777217"), 2, "cache", "16777217 is not from 0"),
        (with("[sessions]\nseconds = 0"), 2, "seconds", "0 is not from 1"),
        (with("[limits]\nidle = 1"), 2, "idle", "unknown field `idle`"),
        (replaced("key = \"one.key\"", "label = \"A.B\""), 3, "label", "there is no [home]"),
        (
            with("[home]\nfolder = \"/x\"").replace("key = \"one.key\"", "label = \"a b\""),
            5,
            "label",
            "label",
        ),
        (replaced("key = \"one.key\"", "key = \"one.key\"\nlabel = \"A.B\""), 4, "label", "name one of both"),
        (replaced("key = \"one.key\"\n", ""), 1, "[[certificate]]", "neither a `key`"),
        (replaced("chain = \"one.pem\"\n", ""), 1, "[[certificate]]", "needs its `chain` in a file"),
        (
            replaced("key = \"one.key\"", "key = \"one.key\"\npolicy = \"strict\""),
            4,
            "policy",
            "\"strict\" is none of \"modern\"",
        ),
        (replaced("127.0.0.1:0", "localhost:443"), 6, "address", "\"localhost:443\" is no address"),
        (replaced("answer", "socket = \"https\"\nanswer"), 7, "socket", "`address` already"),
        (replaced("address = \"127.0.0.1:0\"\n", ""), 5, "[[listener]]", "neither an `address`"),
        (replaced("answer = \"served\"", ""), 5, "[[listener]]", "neither `backends`"),
        (replaced("answer = \"served\"", "backends = []"), 7, "backends", "1 to 64, and not 0"),
        (
            replaced("answer = \"served\"", "backends = [\n\"127.0.0.1:1\",\n\"host:80\"]"),
            9,
            "backends",
            "\"host:80\" is neither",
        ),
        (
            replaced("answer = \"served\"", "backends = [\"unix:relative\"]"),
            7,
            "backends",
            "must begin with /",
        ),
        (replaced("answer", "backends = [\"127.0.0.1:1\"]\nanswer"), 8, "answer", "`backends` already"),
        (
            replaced("answer", "exchange = { receive = 1, send = 2 }\nanswer"),
            7,
            "exchange",
            "given an `answer` already",
        ),
        (
            replaced(
                "answer = \"served\"",
                "backends = [\"127.0.0.1:1\"]\nexchange = { receive = 1, send = 2 }",
            ),
            8,
            "exchange",
            "forwarded to `backends` already",
        ),
        (
            replaced("answer = \"served\"", "exchange = { receive = 1 }"),
            7,
            "exchange",
            "missing field `send`",
        ),
        (
            replaced("answer = \"served\"", "exchange = { receive = 1, send = 1099511627777 }"),
            7,
            "send",
            "is not from 0 to 1099511627776",
        ),
        (
            replaced("answer = \"served\"", "exchange = { receive = -1, send = 1 }"),
            7,
            "exchange",
            "invalid value: integer `-1`",
        ),
        (replaced("answer", "alpn = []\nanswer"), 7, "alpn", "1 to 32 protocols, and not 0"),
        (replaced("answer", "alpn = [\"h2\", \"\"]\nanswer"), 7, "alpn", "\"\" is no protocol"),
        (replaced("answer", "alpn = [\"h2\", \"h2\"]\nanswer"), 7, "alpn", "\"h2\" stands there twice"),
        (
            replaced("answer", "alpn = [\"h2\"]\nalpn_backends = { h2 = [\"127.0.0.1:1\"] }\nanswer"),
            8,
            "alpn_backends",
            "it needs `backends`",
        ),
        (
            replaced(
                "answer = \"served\"",
                "backends = [\"127.0.0.1:1\"]\nalpn = [\"h2\"]\nalpn_backends = { h3 = [\"127.0.0.1:1\"] }",
            ),
            9,
            "alpn_backends",
            "\"h3\" is not in `alpn`",
        ),
        (
            replaced(
                "answer = \"served\"",
                "backends = [\"127.0.0.1:1\"]\nalpn = [\"h2\"]\nalpn_backends = { h2 = [\"host:1\"] }",
            ),
            9,
            "alpn_backends",
            "\"host:1\" is neither",
        ),
        (replaced("answer", "accept_proxy = []\nanswer"), 7, "accept_proxy", "1 to 256 networks, and not 0"),
        (replaced("answer", "accept_proxy = [\"host\"]\nanswer"), 7, "accept_proxy", "\"host\" is neither"),
        (
            replaced("answer", "accept_proxy = [\"unix\",\n\"192.0.2.1/24\"]\nanswer"),
            8,
            "accept_proxy",
            "192.0.2.0/24 is meant",
        ),
        (replaced("answer", "send_proxy = \"v2\"\nanswer"), 7, "send_proxy", "no `backends` to tell"),
        (
            replaced("answer = \"served\"", "backends = [\"127.0.0.1:1\"]\nsend_proxy = \"v1\""),
            8,
            "send_proxy",
            "\"v1\" is not \"v2\"",
        ),
        (replaced("answer", "policy = \"strong\"\nanswer"), 7, "policy", "\"strong\" is none of \"modern\""),
        (
            format!("{GOOD}[[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"\""),
            9,
            "address",
            "listened at twice",
        ),
        (replaced("answer = ", "answer "), 7, "answer \"served\"", "expected"),
    ];
    for (text, line, key, cause) in cases {
        let (at, named, said) = wrong(&text);
        assert_eq!((at, named.as_str()), (Some(line), key), "{text}\n{said}");
        assert!(said.contains(cause), "{text}\n{said}");
    }
    assert!(wrong("").2.contains("1 to 64 tables"));
    let (_, key, _) = wrong("[[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"\"\n");
    assert_eq!(key, "[[certificate]]");
}

#[test]
fn what_is_wrong_with_files_is_named_with_line_and_key() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder.certify("other", &ecdsa(), &["one.test"]);
    folder.certify("rsa", &rsa(), &["one.test"]);
    let key = ecdsa();
    let of = |names: &[&str], days| certificate(&public(&key), &key, names, days).to_pem().unwrap();
    folder.write("expired.pem", of(&["one.test"], [-30, -2]));
    folder.write("nameless.pem", certificate(&public(&key), &key, &[], [-1, 1]).to_pem().unwrap());
    folder.write("unordered.pem", [of(&["one.test"], [-1, 9]), of(&["two.test"], [-1, 9])].concat());
    folder.write("own.key", key.private_key_to_pem_pkcs8().unwrap());
    folder.write("empty.pem", "");
    folder.write("text.pem", "certificate");
    let check = |text: &str| {
        let file = folder.write("tls.toml", text);
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    };
    let (is_good, said) = check(GOOD);
    assert!(
        is_good && said.contains("one.test: P-256, file ") && said.contains("nothing is wrong"),
        "{said}"
    );
    let pair = |chain: &str, key: &str| GOOD.replace("one.pem", chain).replace("one.key", key);
    let second =
        |name: &str| format!("{GOOD}\n[[certificate]]\nchain = \"{name}.pem\"\nkey = \"{name}.key\"\n");
    folder.certify("two", &ecdsa(), &["two.test"]);
    let of_two =
        "default = true\n\n[[certificate]]\nchain = \"two.pem\"\nkey = \"two.key\"\ndefault = true\n\n";
    let defaults = GOOD.replace("\n\n[[listener]]", &format!("\n{of_two}[[listener]]"));
    let user = format!("user = \"nobody-of-this-name\"\n{GOOD}");
    let home = format!("[home]\nfolder = \"missing\"\n{GOOD}");
    let credential = format!("[home]\nfolder = \"missing\"\ncredential = \"none\"\n{GOOD}");
    for (text, line, key, cause) in [
        (pair("missing.pem", "one.key"), 2, "chain", "missing.pem: cannot be opened"),
        (pair("one.pem", "missing.key"), 3, "key", "missing.key: cannot be opened"),
        (pair("empty.pem", "one.key"), 2, "chain", "empty.pem: no certificate chain in PEM"),
        (pair("text.pem", "one.key"), 2, "chain", "text.pem: no certificate chain in PEM"),
        (pair("one.pem", "one.pem"), 3, "key", "one.pem: no private key in PEM"),
        (pair("one.pem", "other.key"), 3, "key", "other.key: the private key is not that of"),
        (pair("one.pem", "rsa.key"), 3, "key", "rsa.key: the private key is not that of"),
        (pair("expired.pem", "own.key"), 2, "chain", "expired.pem: it expired 2 days ago"),
        (
            pair("unordered.pem", "own.key"),
            2,
            "chain",
            "unordered.pem: certificate 2 of the chain is not the issuer",
        ),
        (second("other"), 10, "chain", "other.pem: two certificates for one.test"),
        (defaults, 7, "chain", "two.pem: two default certificates have keys of the same kind"),
        (user, 1, "user", "there is no user nobody-of-this-name"),
        (home, 2, "folder", "missing: no such folder"),
        (credential, 3, "credential", "none"),
    ] {
        let (is_good, said) = check(&text);
        let expected = format!("tls.toml, line {line}, {key}: ");
        assert!(
            !is_good && said.contains(&expected) && said.contains(cause),
            "{text}\n{expected}{cause}\n{said}"
        );
    }
    let (is_good, said) = check(&pair("nameless.pem", "own.key"));
    assert!(is_good && said.contains("nobody: P-256"), "the common name is its name: {said}");
    assert!(check(&second("rsa")).0, "one name may have keys of two kinds");
}

#[test]
fn a_port_that_is_taken_and_a_log_that_cannot_be_are_named() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (text, expected) in [
        (
            GOOD.replace("127.0.0.1:0", &address),
            format!("tls.toml, line 6, address: cannot listen at {address}: "),
        ),
        (
            GOOD.replace("address = \"127.0.0.1:0\"", "socket = \"https\""),
            "tls.toml, line 6, socket: the service manager handed in no socket".to_owned(),
        ),
        (
            format!("[log]\naccess = \".\"\n{GOOD}"),
            "tls.toml, line 2, access: the log cannot be opened: ".to_owned(),
        ),
    ] {
        let file = folder.write("tls.toml", text);
        let (is_good, said) = output(Command::new(program()).arg("serve").arg(file), b"");
        assert!(!is_good && said.contains(&expected), "{expected}\n{said}");
    }
}
