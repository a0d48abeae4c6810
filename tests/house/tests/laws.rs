//! The rules of ARCHITECTURE.md that a compiler does not enforce.

use house_tests::{root, sources};
use std::collections::BTreeSet;
use std::fs;

/// Each room and the rooms it may know, from the ground up.
const ROOMS: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("home", &["wire"]),
    ("engine", &[]),
    ("token", &["wire"]),
    ("payments", &[]),
    ("cca", &["engine", "payments", "token", "wire"]),
    ("link", &["wire"]),
    ("keyfiles", &["engine", "token"]),
    ("confine", &["link", "wire"]),
    ("card", &["cca", "confine", "engine", "link", "saying", "token", "wire"]),
    ("timed", &["card", "confine", "link", "wire"]),
    ("facility", &["engine", "home", "link", "token", "wire"]),
    ("capi", &["facility", "home", "wire"]),
    ("csulcca", &["capi"]),
    ("python", &["facility", "home", "keyfiles", "token"]),
    ("offload", &["capi", "engine", "facility", "home", "keyfiles", "token", "wire"]),
    ("daemon", &["home", "link", "saying", "token", "wire"]),
    ("peers", &[]),
    ("deflate", &[]),
    ("openpgp", &["engine"]),
    ("cardkeys", &["engine", "facility", "openpgp", "token", "wire"]),
    ("agent", &["confine", "link", "openpgp", "saying"]),
    ("keyring", &["openpgp"]),
    ("pipeline", &["deflate", "engine", "openpgp"]),
    ("sop", &["openpgp", "pipeline", "saying"]),
    ("ipsec", &["engine"]),
    ("xfrm", &["engine", "ipsec"]),
    ("plane", &["engine", "ipsec"]),
    ("preload", &[]),
    ("tls", &[]),
    ("certificates", &["engine", "facility", "keyfiles", "token", "wire"]),
    ("streams", &[]),
    ("pacing", &[]),
    ("saying", &[]),
    ("options", &["wire"]),
    ("driver", &["engine", "keyfiles", "options", "pacing", "streams", "tls"]),
    ("traffic", &["options", "pacing", "streams"]),
    (
        "terminator",
        &[
            "certificates",
            "driver",
            "engine",
            "facility",
            "home",
            "options",
            "saying",
            "streams",
            "tls",
            "wire",
        ],
    ),
    ("level", &["engine", "wire"]),
    (
        "esp",
        &[
            "confine", "engine", "home", "ipsec", "level", "link", "options", "plane", "saying", "traffic",
            "wire", "xfrm",
        ],
    ),
    ("measuring", &["wire"]),
    (
        "lab",
        &[
            "deflate",
            "engine",
            "facility",
            "home",
            "ipsec",
            "level",
            "measuring",
            "pacing",
            "peers",
            "saying",
            "token",
            "traffic",
            "wire",
        ],
    ),
    (
        "cli",
        &[
            "agent",
            "cardkeys",
            "engine",
            "facility",
            "home",
            "keyfiles",
            "keyring",
            "level",
            "measuring",
            "openpgp",
            "options",
            "payments",
            "pipeline",
            "saying",
            "token",
            "wire",
        ],
    ),
];

/// A workspace of its own, which no program comes from: it may know every room.
const SIMULATION: &str = "sim";

#[test]
fn dependencies_run_down_never_up() {
    let rooms: BTreeSet<_> = ROOMS.iter().map(|(room, _)| *room).collect();
    let found: BTreeSet<_> = fs::read_dir(root().join("crates"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|room| room != SIMULATION)
        .collect();
    assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), rooms);
    for (room, may_know) in ROOMS {
        let manifest = fs::read_to_string(root().join(format!("crates/{room}/Cargo.toml"))).unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        // The library `sop` bears the name of the room that is its program.
        for name in dependencies.keys().filter(|name| rooms.contains(name.as_str()) && name != room) {
            assert!(may_know.contains(&name.as_str()), "{room} must not know {name}");
        }
    }
}

#[test]
fn no_product_knows_the_laboratory() {
    let laboratory = ["lab", "peers", "timed"];
    for (room, may_know) in ROOMS.iter().filter(|(room, _)| !laboratory.contains(room)) {
        let manifest = fs::read_to_string(root().join(format!("crates/{room}/Cargo.toml"))).unwrap();
        for other in laboratory {
            assert!(!may_know.contains(&other), "{room} may know {other}");
            assert!(!manifest.contains(&format!("\n{other}.workspace")), "{room} knows {other}");
        }
    }
}

/// What plays a card in tests is no part of a program: a room has it for its tests and examples alone.
#[test]
fn what_stands_in_for_a_card_is_for_tests() {
    let mut named = 0;
    for source in sources("crates", "toml").into_iter().filter(|source| source.path.ends_with("/Cargo.toml"))
    {
        let (product, tests) =
            source.text.split_once("[dev-dependencies]").unwrap_or((source.text.as_str(), ""));
        assert!(
            !product.contains("\nstand-in"),
            "{}: a product knows what stands in for a card",
            source.path
        );
        named += usize::from(tests.contains("\nstand-in.workspace"));
    }
    assert_eq!(named, 3, "rooms whose tests play a card");
}

#[test]
fn pure_rooms_do_no_input_or_output_and_read_no_clock() {
    let forbidden = [
        "std::fs",
        // Addresses are values, what has them are sockets.
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "ToSocketAddrs",
        "std::process",
        "std::env",
        "std::thread",
        "std::io::std",
        "std::os::",
        "Instant::now",
        "SystemTime",
        "println!",
        "eprintln!",
    ];
    for room in ["wire", "engine", "token", "cca", "deflate", "ipsec", "openpgp", "tls", "xfrm"] {
        // Files of tests alone are not part of the room.
        let files = sources(&format!("crates/{room}/src"), "rs").into_iter();
        for source in files.filter(|source| !source.path.ends_with("tests.rs")) {
            for (line, text) in source.code() {
                for word in forbidden {
                    assert!(!text.contains(word), "{}:{line} uses {word}", source.path);
                }
            }
        }
    }
}

#[test]
fn the_world_is_the_ground_floor_of_the_link() {
    for source in sources("crates/link/src/world", "rs") {
        for (line, text) in source.code() {
            let own = text.starts_with("use super::");
            assert!(
                own || !text.contains("crate::") && !text.contains("super::"),
                "{}:{line}: {text}",
                source.path
            );
        }
    }
}

#[test]
fn the_simulation_gets_into_no_program() {
    let text = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let manifest: toml::Table = toml::from_str(&text("Cargo.toml")).unwrap();
    let excluded = manifest["workspace"]["exclude"].as_array().unwrap();
    assert!(excluded.iter().any(|path| path.as_str() == Some("crates/sim")));
    // The feature is turned on in the simulation's manifest, and named in no other but its own.
    for source in sources("crates", "toml").into_iter().chain(sources("tests", "toml")) {
        if source.path.starts_with("crates/sim/") || source.path == "crates/link/Cargo.toml" {
            continue;
        }
        assert!(!source.text.contains("\"world\""), "{} turns on the world of the simulation", source.path);
    }
    assert!(text("crates/link/Cargo.toml").contains("\nworld = []\n"), "the feature turns on nothing else");
    assert!(text("crates/link/src/world/simulated.rs").contains("option_env!(\"CRYPTAND_SIMULATION\")"));
    assert!(!text("Cargo.toml").contains("CRYPTAND_SIMULATION"));
    assert!(
        !root().join(".cargo/config.toml").exists()
            || !text(".cargo/config.toml").contains("CRYPTAND_SIMULATION")
    );
}

#[test]
fn rooms_of_a_request_ask_one_place_for_time_and_processes() {
    // What goes past it is not repeated by a seed of the simulation.
    let forbidden = [
        "Instant::now",
        "SystemTime",
        ".elapsed()",
        "thread::sleep",
        "thread::spawn",
        "thread::Builder",
        "event::poll(",
        "futex::wait(",
        "futex::wake(",
        "process::id()",
        "RandomState",
        "available_parallelism",
        "sched_getaffinity",
        // A thread that waits for a lock keeps the turn that the lock's owner needs.
        ".lock().unwrap",
        ".read().unwrap_or_else(",
        ".write().unwrap_or_else(",
    ];
    // Programs around the rooms, and what a simulation leaves out.
    let apart = ["crates/link/src/world/", "crates/facility/src/control/start.rs", "crates/link/src/fork.rs"];
    for room in ["link", "facility", "card", "daemon"] {
        for source in sources(&format!("crates/{room}/src"), "rs") {
            if source.path.ends_with("/tests.rs") || apart.iter().any(|path| source.path.starts_with(path)) {
                continue;
            }
            for (line, text) in source.code() {
                for word in forbidden {
                    assert!(!text.contains(word), "{}:{line} uses {word} past link::world", source.path);
                }
            }
        }
    }
}

/// What may name the timed cards: their own room, the lab, which starts them, tests, and what builds them
/// for both.
const TIMED_NAMED_BY: &[&str] = &["crates/timed/", "crates/lab/", "tests/", "Makefile", "Cargo.toml"];

#[test]
fn timed_cards_are_the_labs_alone() {
    let files = ["rs", "toml"].into_iter().flat_map(|extension| {
        ["crates", "tests"].into_iter().flat_map(move |folder| sources(folder, extension))
    });
    let mut texts: Vec<(String, String)> = files.map(|source| (source.path, source.text)).collect();
    let mut folders = ["scripts", "packaging"].map(|folder| root().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                texts.push((path.strip_prefix(root()).unwrap().display().to_string(), text));
            }
        }
    }
    assert!(texts.iter().any(|(path, _)| path == "scripts/install"));
    for (path, text) in texts {
        let names = ["cryptand-card-timed", "timed.workspace", "crates/timed", "timed::"];
        let named = names.iter().find(|name| text.contains(*name));
        let allowed = TIMED_NAMED_BY.iter().any(|place| path.starts_with(place));
        assert!(allowed || named.is_none(), "{path} names {named:?}, which only the lab may");
    }
    // Who depends on the room could hand a timed card to a user.
    for (room, may_know) in ROOMS {
        assert!(!may_know.contains(&"timed"), "{room} may know timed");
    }
}

/// Where unsafe code may stand: kernels and the bound libraries, shared memory, the sandbox and the memory of secrets,
/// the memory of callers in C; one module for each library that the bench measures beside the engine; and what tells
/// valgrind which bytes are secret.
const UNSAFE_ROOMS: &[&str] = &[
    "crates/engine/src/low",
    "crates/link/",
    "crates/confine/src/sandbox",
    "crates/confine/src/arena",
    "crates/confine/src/scheduling.rs",
    "crates/capi/",
    "crates/deflate/src/isal_ffi.rs",
    "crates/driver/src/gnutls_ffi.rs",
    "crates/home/src/started.rs",
    "crates/offload/src/ffi.rs",
    "crates/preload/src/ffi",
    "crates/tls/src/ffi",
    "crates/peers/src/aws_lc_ffi.rs",
    "crates/peers/src/core_ffi.rs",
    "crates/peers/src/ipsec_mb_ffi.rs",
    "crates/peers/src/openssl_ffi.rs",
    "crates/peers/src/table_ffi.rs",
    "tests/timing/src/valgrind.rs",
];

#[test]
fn unsafe_code_stays_at_its_addresses() {
    for folder in ["crates", "tests"] {
        for source in sources(folder, "rs") {
            let allowed = UNSAFE_ROOMS.iter().any(|room| source.path.starts_with(room))
                || source.path.contains("/tests/");
            for (line, text) in source.code() {
                let is_unsafe =
                    text.contains("unsafe {") || text.contains("unsafe fn") || text.contains("unsafe impl");
                assert!(allowed || !is_unsafe, "{}:{line} holds unsafe code: {text}", source.path);
            }
        }
    }
}

#[test]
fn master_keys_are_named_in_cards_only() {
    for room in ["facility", "daemon", "lab", "cli", "link", "openpgp", "keyring", "pipeline"] {
        for source in sources(&format!("crates/{room}/src"), "rs") {
            for (line, text) in source.code() {
                for word in ["MasterKeyPair", "Handout", "Delivery"] {
                    assert!(!text.contains(word), "{}:{line} names {word}", source.path);
                }
            }
        }
    }
}

/// The standard library's macros of these names panic where their stream cannot be written.
#[test]
fn what_programs_say_ends_none_of_them() {
    let is_test = |path: &str| path.contains("/tests") || path.contains("/sim/") || path.contains("/saying/");
    let is_said = |text: &str, name: &str| {
        text.split(name).count() > 1
            && !text
                .split(name)
                .any(|before| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
    };
    let mut rooms = BTreeSet::new();
    for source in sources("crates", "rs") {
        if !source.path.contains("/src/") || is_test(&source.path) {
            continue;
        }
        for (line, text) in source.code() {
            for name in ["println!(", "print!("] {
                // A test module in a file of its own has no other mark.
                let is_alone = source.path.ends_with("route/replay.rs");
                assert!(
                    is_alone || !is_said(text, name),
                    "{}:{line} panics where standard output cannot be written: use saying::answer, or write and judge",
                    source.path
                );
            }
            if is_said(text, "eprintln!(") || is_said(text, "eprint!(") {
                rooms.insert(source.path.split('/').nth(1).unwrap().to_owned());
            }
        }
    }
    assert!(rooms.len() > 5, "{rooms:?}");
    for room in rooms {
        let roots = sources(&format!("crates/{room}/src"), "rs");
        let has = roots.iter().any(|source| source.text.contains("#[macro_use]\nextern crate saying;"));
        assert!(
            has,
            "{room} says something by macros that panic: begin it with `#[macro_use] extern crate saying;`"
        );
    }
}

#[test]
fn nothing_unfinished_is_left() {
    let words = ["todo!", "unimplemented!", "FIXME", "XXX", "#[ignore]"];
    for source in sources("crates", "rs") {
        for (line, text) in source.text.lines().enumerate() {
            for word in words {
                assert!(!text.contains(word), "{}:{} holds {word}", source.path, line + 1);
            }
        }
    }
}
