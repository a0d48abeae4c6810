//! A program in C calls each payment verb with its fields as docs/reference/payment-fields.md says, and the page says
//! each field.

use super::{command, compile, credential, tenant};
use home::{PointItem, RoleSettings};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use system_tests::{Installation, settings};
use tempfile::TempDir;
use wire::role::OWNER;
use wire::verb::{Entry, Kind, Length, Null, Parameter};

/// The page with the table of fields.
const PAGE: &str = "../../docs/reference/payment-fields.md";
/// The line above the table's rows.
const HEAD: &str = "| verb | field | here | in CCA's pages | source |\n|---|---|---|---|---|\n";
/// What a field may be said to be; other words may follow.
const FORMS: [&str; 4] = ["characters", "bytes", "number", "numbers"];

/// The payment verbs, by the functions of the library.
const VERBS: [&str; 29] = [
    "CSNBCKC", "CSNBCPA", "CSNBCPE", "CSNBCSG", "CSNBCSV", "CSNBDCM", "CSNBDKG", "CSNBDKG2", "CSNBEAC",
    "CSNBEPG", "CSNBFFXD", "CSNBFFXE", "CSNBFFXT", "CSNBPCU", "CSNBPFO", "CSNBPGN", "CSNBPTR", "CSNBPTR2",
    "CSNBPVR", "CSNBPVR2", "CSNBSKY", "CSNBSPN", "CSNBT31I", "CSNBT31O", "CSNBT31P", "CSNBT31R", "CSNBT31X",
    "CSNBTRV", "CSNBUKD",
];

/// Verb and field.
type Field = (String, String);

/// The position of the integer that counts a parameter, if one does.
fn counted_by(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Bytes(length) | Kind::Key { length, .. } => match length {
            Length::By(at) | Length::Words(at) | Length::Bits(at) | Length::Padded { by: at, .. } => Some(at),
            Length::Fixed(_) | Length::Keyed(_) | Length::Own => None,
        },
        Kind::Keywords(at) => Some(at),
        Kind::Integer => None,
    }
}

/// The fields of a verb that hold something else than keys, keywords, lengths or nothing.
fn fields(entry: &Entry) -> Vec<Field> {
    let all = entry.parameters;
    let counts: BTreeSet<usize> = all.iter().filter_map(|parameter| counted_by(parameter.kind)).collect();
    let is_empty = |parameter: &Parameter| {
        let count = counted_by(parameter.kind).map(|at| all[at]);
        parameter.null == Null::Ignored || count.is_some_and(|count| count.null == Null::Empty)
    };
    let holds_data = |(at, parameter): &(usize, &Parameter)| match parameter.kind {
        Kind::Bytes(_) => !is_empty(parameter),
        Kind::Integer => !counts.contains(at) && parameter.null != Null::Ignored,
        Kind::Key { .. } | Kind::Keywords(_) => false,
    };
    let named =
        |(_, parameter): (usize, &Parameter)| (entry.entry_point.to_owned(), parameter.name.to_owned());
    all.iter().enumerate().filter(holds_data).map(named).collect()
}

#[test]
fn the_page_says_the_form_of_each_field_of_each_payment_verb() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    let (_, rows) = page.split_once(HEAD).expect("the page has the table");
    let mut said = BTreeSet::new();
    for row in rows.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [verbs, fields, here, there, source] = cells[..] else { panic!("{row}") };
        assert!(FORMS.iter().any(|form| here.starts_with(form)), "{row}: {here}");
        assert!(!there.is_empty() && !source.is_empty(), "{row}");
        for verb in verbs.split(' ') {
            for field in fields.split(' ') {
                let new =
                    said.insert((verb.trim_matches('`').to_owned(), field.trim_matches('`').to_owned()));
                assert!(new, "{verb} {field} stands twice");
            }
        }
    }
    let entries = VERBS.map(|name| Entry::of_entry_point(name).unwrap());
    let expected: BTreeSet<Field> = entries.into_iter().flat_map(fields).collect();
    let missing: Vec<_> = expected.difference(&said).collect();
    let unknown: Vec<_> = said.difference(&expected).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
}

#[test]
fn payment_verbs_take_fields_in_the_forms_of_cca() {
    let folder = TempDir::new().unwrap();
    let (shown, file) = credential(&folder, 1);
    let mut settings = settings(1, 0);
    settings.tenant_number_next = 10;
    let points =
        ["legacy-pin", "secure-messaging-for-keys", "clear-pin-encrypt", "diversified-key-generate2-dall"];
    settings.roles.push(RoleSettings {
        name: "payments".into(),
        base: Some(OWNER.into()),
        allow: points.map(|point| PointItem::new(point).unwrap()).to_vec(),
        deny: vec![PointItem::new("secure-messaging-any-place").unwrap()],
        labels: Vec::new(),
    });
    settings.tenants = vec![tenant("payments", 1, &shown, "payments")];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    // Each access outside of a field is a fault.
    for flags in [&[][..], &super::SANITIZED] {
        let program = compile(folder.path(), "tests/hosts/fields.c", true, flags);
        let mut command = command(&program, installation.home.folder());
        command.env("CRYPTAND_CREDENTIAL_FILE", &file).env("ASAN_OPTIONS", "detect_leaks=0");
        let output = command.output().unwrap();
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said == "done\n", "{said}{errors}");
    }
}
