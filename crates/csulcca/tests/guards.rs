//! Every exported function is called with fields between pages that may not be touched, with each pointer null, and
//! with lengths that no field has: nothing is read or written outside of a field, and nothing at all is written but by
//! an answer that has outputs.
//!
//! The functions are called by a program part in C that is made from the list of names, with the header. The same calls
//! are then made by a program whose fields lie on the heap, once under AddressSanitizer and once under valgrind.

use capi::CUT_TEXT_BYTES_MAX;
use csulcca::PROTOTYPES;
use libloading::Library;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use system_tests::{Installation, mac_key};
use wire::Codes;
use wire::bounds::{KEYWORD_BYTES, KEYWORDS_MAX, TEXT_BYTES_MAX};
use wire::code;
use wire::verb::{Direction, Entry, Kind, Length, Need, Null, Parameter};

const PAGE: usize = 4096;
/// Bytes of an area that may be touched.
const OPEN: usize = 2 * PAGE;
/// The file of the calls that are made again.
const RECORDED: &str = "calls";
/// Accesses outside of fields are errors; what the library reads of its host's fields may be memory that was never
/// written.
const VALGRIND: [&str; 4] = ["valgrind", "--quiet", "--error-exitcode=1", "--undef-value-errors=no"];
/// What surrounds a field within its area.
const AROUND: u8 = 0xE7;
/// Pointers of a call before those of the verb.
const COMMON: usize = 4;
/// What a `long` is set to; the last one is too much of bytes and of bits.
const LENGTHS: [i64; 6] = [-1, 0, 1, 1 << 31, i64::MAX, 8 * CUT_TEXT_BYTES_MAX as i64 + 1];
/// What fields are filled with: what verbs work with, where there is such a value, or else a null token; a PKA token; a
/// label.
const FILLS: [u8; 3] = [0x00, 0x1F, b'A'];
/// What lengths are where nothing else is tried.
const USUAL: i64 = 64;

/// Memory between two pages that may not be touched.
struct Area(*mut u8);

impl Area {
    fn new() -> Self {
        // SAFETY: a new mapping at an address of the kernel's choice; it is never unmapped.
        unsafe {
            let base =
                mmap_anonymous(null_mut(), OPEN + 2 * PAGE, ProtFlags::empty(), MapFlags::PRIVATE).unwrap();
            let open = base.cast::<u8>().add(PAGE);
            mprotect(open.cast(), OPEN, MprotectFlags::READ | MprotectFlags::WRITE).unwrap();
            Self(open)
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the area's own; nothing writes to it while it is looked at.
        unsafe { std::slice::from_raw_parts(self.0, OPEN) }
    }

    /// Puts a field at the end or the beginning.
    fn put(&self, field: &[u8], is_at_end: bool) -> *mut c_void {
        let at = if is_at_end { OPEN - field.len() } else { 0 };
        // SAFETY: no field is longer than an area.
        unsafe {
            self.0.write_bytes(AROUND, OPEN);
            self.0.add(at).copy_from_nonoverlapping(field.as_ptr(), field.len());
            self.0.add(at).cast()
        }
    }

    /// A place where nothing may be touched.
    fn closed(&self) -> *mut c_void {
        // SAFETY: the page behind the area.
        unsafe { self.0.add(OPEN).cast() }
    }
}

/// The functions, by their place in the list.
struct Functions {
    library: Library,
    areas: Vec<Area>,
}

impl Functions {
    fn load(folder: &Path) -> Self {
        let mut source = "#include \"csulincl.h\"\nvoid call(int, void **);\nvoid call(int which, void **a)\n{\n    switch (which) {\n".to_owned();
        for (index, prototype) in PROTOTYPES.iter().enumerate() {
            let arguments: Vec<_> =
                (0..COMMON + prototype.parameters.len()).map(|at| format!("a[{at}]")).collect();
            let _ = writeln!(
                source,
                "    case {index}:\n        {}({});\n        break;",
                prototype.name,
                arguments.join(", ")
            );
        }
        source.push_str("    }\n}\n");
        std::fs::write(folder.join("calls.c"), source).unwrap();
        let part = compile(folder, "calls.so", &["-shared", "-fPIC"]);
        // SAFETY: what was just made has no code that runs when it is loaded; the library's has none that asks for
        // anything.
        let library = unsafe { Library::new(part) }.unwrap();
        let most = PROTOTYPES.iter().map(|prototype| prototype.parameters.len()).max().unwrap();
        Self { library, areas: (0..COMMON + most).map(|_| Area::new()).collect() }
    }

    /// Calls a function with these pointers; the codes lie in the first two areas.
    fn call(&self, index: usize, arguments: &[*mut c_void]) -> Codes {
        let unset = (-1i64).to_ne_bytes();
        let mut all = vec![self.areas[0].put(&unset, true), self.areas[1].put(&unset, false)];
        all.extend([self.areas[2].closed(), self.areas[3].closed()]);
        all.extend(arguments);
        // SAFETY: the function was made with this interface, and takes as many pointers as its declaration has.
        unsafe {
            let call = self.library.get::<unsafe extern "C" fn(c_int, *const *mut c_void)>(b"call").unwrap();
            call(index as c_int, all.as_ptr());
        }
        let [return_code, reason_code] = [(0, OPEN - 8), (1, 0)]
            .map(|(area, at)| i64::from_ne_bytes(self.areas[area].bytes()[at..at + 8].try_into().unwrap()));
        assert!([0, 4, 8, 12, 16].contains(&return_code), "{}: {return_code}", PROTOTYPES[index].name);
        Codes::new(return_code as i32, reason_code as i32)
    }
}

/// Compiles the functions that were written into a folder, with these options and sources.
fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let made = folder.join(name);
    let beside = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut cc = Command::new("cc");
    cc.args(["-g", "-Wall", "-Wextra", "-Werror", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/include")]);
    cc.arg("-o").arg(&made).arg(folder.join("calls.c")).args(options).arg("-L").arg(&beside).arg("-lcsulcca");
    // Before what the surroundings name, where an older one may be.
    cc.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", beside.display()));
    let output = cc.output().expect("cc can be executed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made
}

/// Makes the recorded calls in a program of this name that was compiled so, started by a command; what it says.
fn replay(folder: &Path, name: &str, flags: &[&str], starter: &[&str]) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/replay.c");
    let program = compile(folder, name, &[&[source], flags].concat());
    let mut all = starter.iter().map(PathBuf::from).chain([program]);
    let mut command = Command::new(all.next().unwrap());
    command.args(all).stdin(File::open(folder.join(RECORDED)).unwrap());
    // What the library holds until the process ends is no leak.
    let output = command.env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A value that verbs work with.
fn value<'a>(parameter: &Parameter, key: &'a [u8]) -> Option<&'a [u8]> {
    match parameter.name {
        "key_form" => Some(b"OP  "),
        "key_length" if parameter.kind != Kind::Integer => Some(b"SINGLE  "),
        "key_type" | "key_type_1" => Some(b"DATA    "),
        "key_type_2" => Some(b"        "),
        "form" => Some(b"RANDOM  "),
        "key_identifier" if matches!(parameter.kind, Kind::Key { length: Length::Fixed(_), .. }) => Some(key),
        _ => None,
    }
}

/// One way to call a verb.
struct Try<'a> {
    /// A token of a key.
    key: &'a [u8],
    integers: Vec<i64>,
    null: Option<usize>,
    fill: u8,
    is_at_end: bool,
}

/// Keywords of a request: one of each group that needs one.
fn keywords(entry: &Entry) -> Vec<u8> {
    let required = entry.keywords.groups.iter().filter(|group| group.need == Need::Required);
    required.flat_map(|group| format!("{:<8}", group.words[0].text).into_bytes()).collect()
}

/// The rule array of a call: as many keywords as it says, and room for those that are returned.
fn rule_array(entry: &Entry, tried: &Try<'_>) -> Vec<u8> {
    let mut given = keywords(entry);
    let arrays = entry.parameters.iter().filter_map(|parameter| match parameter.kind {
        Kind::Keywords(count) => Some((parameter.direction, tried.integers[count] as usize)),
        _ => None,
    });
    let Some((direction, count)) = arrays.max_by_key(|(_, count)| *count) else { return Vec::new() };
    given.resize(count * KEYWORD_BYTES, b' ');
    let words: Vec<u64> = wire::verb::words(&given).into_iter().flatten().collect();
    given.resize(entry.keywords.room(direction, count, &words) * KEYWORD_BYTES, b' ');
    given
}

/// The integer that counts a parameter, and the most that it may be.
fn counted(parameter: &Parameter) -> Option<(usize, i64)> {
    match parameter.kind {
        Kind::Keywords(count) => Some((count, KEYWORDS_MAX as i64)),
        Kind::Bytes(length) | Kind::Key { length, .. } => match length {
            Length::By(by) | Length::Padded { by, .. } => Some((by, TEXT_BYTES_MAX as i64)),
            Length::Bits(by) => Some((by, 8 * TEXT_BYTES_MAX as i64)),
            Length::Words(by) => Some((by, KEYWORDS_MAX as i64)),
            _ => None,
        },
        Kind::Integer => None,
    }
}

/// Whether an integer counts more than any field has, or less.
fn is_impossible(entry: &Entry, integers: &[i64]) -> bool {
    entry.parameters.iter().filter_map(counted).any(|(by, most)| !(0..=most).contains(&integers[by]))
}

/// The bytes of a field before the call; as many as a caller's field must have.
fn field(entry: &Entry, parameter: &Parameter, tried: &Try<'_>) -> Vec<u8> {
    let rules = rule_array(entry, tried);
    let words: Vec<u64> = wire::verb::words(&rules).into_iter().flatten().collect();
    match parameter.kind {
        Kind::Integer => tried.integers[0].to_ne_bytes().to_vec(),
        Kind::Keywords(_) => rules,
        Kind::Bytes(length) | Kind::Key { length, .. } => {
            let bytes = length.bytes(|at| tried.integers[at], &words, || [tried.fill; 9]);
            match value(parameter, tried.key) {
                Some(value) if tried.fill == FILLS[0] => value.to_vec(),
                _ => vec![tried.fill; bytes.unwrap()],
            }
        }
    }
}

/// The fields of a call; none for a null pointer, and an empty one where nothing may be touched.
fn fields(entry: &Entry, tried: &Try<'_>) -> Vec<Option<Vec<u8>>> {
    let is_impossible = is_impossible(entry, &tried.integers);
    let parameters = entry.parameters.iter().enumerate();
    let fields = parameters.map(|(position, parameter)| match parameter.kind {
        _ if tried.null == Some(position) => None,
        Kind::Integer => Some(tried.integers[position].to_ne_bytes().to_vec()),
        // Where no field can be so long, none is looked at.
        _ if is_impossible || parameter.null == Null::Ignored => Some(Vec::new()),
        _ => Some(field(entry, parameter, tried)),
    });
    fields.collect()
}

/// Appends a call to those that are made again.
fn record(recorded: &mut Vec<u8>, index: usize, fields: &[Option<Vec<u8>>]) {
    let mut number = |value: i64| recorded.extend(value.to_ne_bytes());
    number(index as i64);
    number(fields.len() as i64);
    for field in fields {
        let length = field.as_ref().map_or(-1, |field| field.len() as i64);
        recorded.extend(length.to_ne_bytes());
        recorded.extend(field.iter().flatten());
    }
}

/// Calls a verb, and checks what it did to the memory around.
fn call(functions: &Functions, index: usize, entry: &Entry, tried: &Try<'_>) -> Codes {
    let is_impossible = is_impossible(entry, &tried.integers);
    let areas = &functions.areas[COMMON..];
    let put = |(area, field): (&Area, &Option<Vec<u8>>)| match field {
        None => null_mut(),
        Some(field) if field.is_empty() => area.closed(),
        Some(field) => area.put(field, tried.is_at_end),
    };
    let arguments: Vec<_> = areas.iter().zip(&fields(entry, tried)).map(put).collect();
    let before: Vec<Vec<u8>> = areas[..arguments.len()].iter().map(|area| area.bytes().to_vec()).collect();
    let codes = functions.call(index, &arguments);
    for (position, parameter) in entry.parameters.iter().enumerate() {
        let may_change = codes.has_output() && parameter.direction != Direction::In;
        let (after, before) = (areas[position].bytes(), &before[position]);
        let at = arguments[position] as usize;
        let from = at.wrapping_sub(after.as_ptr() as usize).min(OPEN);
        let length = match parameter.kind {
            Kind::Integer => 8,
            _ if is_impossible || parameter.null == Null::Ignored => 0,
            _ => field(entry, parameter, tried).len(),
        };
        let is_own = |byte: usize| {
            may_change && !arguments[position].is_null() && (from..from + length).contains(&byte)
        };
        let wrong = (0..OPEN).find(|byte| after[*byte] != before[*byte] && !is_own(*byte));
        assert_eq!(wrong, None, "{}: {codes} wrote into {}", entry.name, parameter.name);
    }
    if is_impossible && tried.null.is_none() {
        let refusals = [code::BUFFER_TOO_SMALL, code::KEYWORD_COUNT];
        assert!(refusals.contains(&codes), "{} {:?}: {codes}", entry.name, tried.integers);
    }
    codes
}

/// Integers as a caller gives them: counts as the rule array has keywords, lengths as usual.
fn usual(entry: &Entry) -> Vec<i64> {
    let mut integers: Vec<i64> = vec![USUAL; entry.parameters.len()];
    for parameter in entry.parameters {
        if let Kind::Keywords(count) = parameter.kind {
            integers[count] = (keywords(entry).len() / KEYWORD_BYTES) as i64;
        }
    }
    integers
}

/// Every way in which one thing about a usual call is other than usual.
fn tries<'a>(entry: &Entry, key: &'a [u8]) -> Vec<Try<'a>> {
    let mut tries = Vec::new();
    for fill in FILLS {
        for is_at_end in [true, false] {
            let usual = usual(entry);
            let new = |integers, null| Try { key, integers, null, fill, is_at_end };
            tries.push(new(usual.clone(), None));
            for (position, parameter) in entry.parameters.iter().enumerate() {
                tries.push(new(usual.clone(), Some(position)));
                if parameter.kind == Kind::Integer {
                    for length in LENGTHS {
                        let mut integers = usual.clone();
                        integers[position] = length;
                        tries.push(new(integers, None));
                    }
                }
            }
        }
    }
    tries
}

/// What a list writes: a number, and a name.
const LISTED: [&str; 2] = ["data_set_name_length", "data_set_name"];

/// Calls a function that lists key records: with patterns that are and are not one, with each number of keywords, and
/// with each pointer null. Its calls are recorded too.
fn call_list(functions: &Functions, index: usize, recorded: &mut Vec<u8>) -> u64 {
    let prototype = &PROTOTYPES[index];
    let areas = &functions.areas[COMMON..];
    let counts: Vec<i64> = if prototype.parameters[0].1 { LENGTHS.to_vec() } else { vec![0] };
    let nulls = || (0..prototype.parameters.len()).map(Some).chain([None]);
    let mut calls = 0;
    for (pattern, null) in
        [b'*', b'A', 0, 0xFF].into_iter().flat_map(|fill| nulls().map(move |null| (fill, null)))
    {
        for (count, is_at_end) in counts.iter().flat_map(|count| [(*count, true), (*count, false)]) {
            let mut label = [b' '; 64];
            label[0] = pattern;
            let fields = prototype.parameters.iter().enumerate().map(|(at, (name, _))| match *name {
                _ if null == Some(at) => None,
                "rule_array_count" => Some(count.to_ne_bytes().to_vec()),
                "key_label" => Some(label.to_vec()),
                "data_set_name_length" => Some((-1i64).to_ne_bytes().to_vec()),
                "data_set_name" => Some(vec![AROUND; 64]),
                // Neither the rule array nor the name of a server is looked at.
                _ => Some(Vec::new()),
            });
            let fields: Vec<Option<Vec<u8>>> = fields.collect();
            let arguments: Vec<_> = areas
                .iter()
                .zip(&fields)
                .map(|(area, field)| match field {
                    None => null_mut(),
                    Some(field) if field.is_empty() => area.closed(),
                    Some(field) => area.put(field, is_at_end),
                })
                .collect();
            let before: Vec<Vec<u8>> =
                areas[..fields.len()].iter().map(|area| area.bytes().to_vec()).collect();
            let codes = functions.call(index, &arguments);
            for (at, (name, _)) in prototype.parameters.iter().enumerate() {
                let length = fields[at].as_ref().map_or(0, Vec::len);
                let from = if is_at_end { OPEN - length } else { 0 };
                let may_change = codes.is_ok() && LISTED.contains(name);
                let is_own = |byte: usize| may_change && (from..from + length).contains(&byte);
                let wrong =
                    (0..OPEN).find(|byte| areas[at].bytes()[*byte] != before[at][*byte] && !is_own(*byte));
                assert_eq!(wrong, None, "{}: {codes} wrote into {name}", prototype.name);
            }
            let is_needed =
                |at: usize| !["rule_array", "security_server_name"].contains(&prototype.parameters[at].0);
            let expected = match (null.filter(|at| is_needed(*at)), pattern) {
                (Some(_), _) => code::NULL_POINTER,
                (None, _) if count != 0 => code::KEYWORD_COUNT,
                (None, b'*' | b'A') => code::OK,
                (None, _) => code::LABEL_FORMAT,
            };
            assert_eq!(codes, expected, "{} without {null:?}", prototype.name);
            if is_at_end {
                record(recorded, index, &fields);
                calls += 1;
            }
        }
    }
    calls
}

/// Calls a function of the library's own, whose parameters are lengths, each with its field: with each pointer null,
/// and each length that no field has. What it answers is a refusal, and what it refuses for its length it does not look
/// at.
fn call_own(functions: &Functions, index: usize) {
    let prototype = &PROTOTYPES[index];
    let areas = &functions.areas[COMMON..];
    let lengths = LENGTHS.iter().copied().chain([2, 8, 9, 33]);
    let tries: Vec<(i64, i64)> =
        lengths.clone().flat_map(|one| lengths.clone().map(move |other| (one, other))).collect();
    for (first, second) in tries {
        let mut arguments: Vec<*mut c_void> = Vec::new();
        for (at, (name, is_length)) in prototype.parameters.iter().enumerate() {
            let length = if at < 2 { first } else { second };
            let unit = if *name == "rule_array" { KEYWORD_BYTES } else { 1 };
            arguments.push(match usize::try_from(length) {
                _ if *is_length => areas[at].put(&length.to_ne_bytes(), true),
                Ok(length) if length <= 33 => areas[at].put(&vec![b'A'; length * unit], true),
                // What fits is written, however much room there is.
                Ok(_) if arguments.len() == 1 && prototype.parameters.len() == 2 => {
                    areas[at].put(&[b'A'; 33], true)
                }
                _ => areas[at].closed(),
            });
        }
        let codes = functions.call(index, &arguments);
        assert!(!codes.has_output() || first >= 17, "{} {first} {second}: {codes}", prototype.name);
        for null in 0..arguments.len() {
            let mut changed = arguments.clone();
            changed[null] = null_mut();
            let codes = functions.call(index, &changed);
            assert!(
                !codes.has_output(),
                "{} without {}: {codes}",
                prototype.name,
                prototype.parameters[null].0
            );
        }
    }
}

#[test]
fn nothing_outside_of_a_field_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let lists = folder.path().join("lists");
    std::fs::create_dir(&lists).unwrap();
    // SAFETY: no other thread of this program runs yet: this is its only test.
    unsafe {
        std::env::set_var("CRYPTAND_HOME", installation.home.folder());
        for name in ["CSUDESLD", "CSUAESLD", "CSUPKALD"] {
            std::env::set_var(name, &lists);
        }
    }
    let (functions, key) = (Functions::load(folder.path()), mac_key(&installation.facility()));
    let (mut answered, mut calls) = (BTreeSet::new(), 0);
    let (mut recorded, mut recorded_calls) = (Vec::new(), 0);
    for (index, prototype) in PROTOTYPES.iter().enumerate() {
        let Some(entry) = Entry::of_entry_point(prototype.name) else {
            if prototype.parameters.iter().any(|(name, _)| *name == LISTED[1]) {
                recorded_calls += call_list(&functions, index, &mut recorded);
                continue;
            }
            if prototype.is_local {
                call_own(&functions, index);
                continue;
            }
            let closed = vec![functions.areas[0].closed(); prototype.parameters.len()];
            assert_eq!(functions.call(index, &closed), code::NOT_AVAILABLE, "{}", prototype.name);
            record(&mut recorded, index, &vec![Some(Vec::new()); prototype.parameters.len()]);
            recorded_calls += 1;
            continue;
        };
        for tried in tries(entry, &key) {
            let codes = call(&functions, index, entry, &tried);
            // On the heap a field has but one place.
            if tried.is_at_end {
                record(&mut recorded, index, &fields(entry, &tried));
                recorded_calls += 1;
            }
            if let Some(null) = tried.null {
                let refused = entry.parameters[null].null == Null::Refused;
                assert!(!refused || codes == code::NULL_POINTER, "{}: {codes}", entry.name);
            }
            if codes.has_output() {
                answered.insert(entry.name);
            }
            calls += 1;
        }
    }
    assert!(calls > 1_000 && answered.len() >= 10, "{calls} calls, {answered:?}");
    std::fs::write(folder.path().join(RECORDED), recorded).unwrap();
    let sanitized = replay(folder.path(), "sanitized", &["-fsanitize=address"], &[]);
    let watched = replay(folder.path(), "watched", &[], &VALGRIND);
    let made = |said: &str| said.split(' ').map(|count| count.parse::<u64>().unwrap()).collect::<Vec<_>>();
    for said in [made(&sanitized), made(&watched)] {
        assert!(said[0] == recorded_calls && said[1] >= 10, "{said:?} of {recorded_calls}");
    }
}
