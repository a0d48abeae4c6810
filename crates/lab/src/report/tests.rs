//! Reports of a made-up bench, which measures nothing: these tests run all code of the report.

use super::*;
use crate::load::made_up::MadeUp;

fn plan() -> Plan {
    let thoroughness = Thoroughness { passes: 3, seconds: 0.1, seconds_max: None };
    Plan::with_peer(&published::measurements(), thoroughness, true)
}

#[test]
fn a_report_is_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&plan(), &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
    let files = report.write(folder.path()).unwrap();
    assert!(Report::read(&files.json).unwrap() == report);
    assert!(Report::read(folder.path()).unwrap() == report);
    let text = fs::read_to_string(&files.json).unwrap();
    fs::write(&files.json, text.replacen("\"version\": 1", "\"version\": 2", 1)).unwrap();
    assert!(Report::read(&files.json).is_err());
    assert!(files.html.metadata().unwrap().len() > 10_000);
}

#[test]
fn a_failing_case_is_left_out_and_a_failing_house_ends_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = MadeUp { fail: |case| case.starts_with("sha1/native/64B"), ..MadeUp::new() };
    let report = run(&plan(), &mut bench, &folder.path().join("one"), &mut |_| ()).unwrap();
    let faults: Vec<_> = report.left_out.iter().filter(|left| left.fault).collect();
    assert_eq!(faults.len(), 3, "one case by all three providers");
    assert!(report.left_out.iter().any(|left| !left.fault && left.case.contains("symmetric-key-import")));
    assert!(faults[0].why.contains("no figure is given"));
    let mut bench = MadeUp { fail: |_| true, ..MadeUp::new() };
    let result = run(&plan(), &mut bench, &folder.path().join("all"), &mut |_| ());
    assert!(matches!(result, Err(LabError::WrongAnswer { .. })));
}

#[test]
fn a_report_of_queues_alone_is_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = run(&Plan::of(Vec::new()), &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
    report.take_queues(crate::queues::tests::made(), Vec::new(), 1.0);
    let files = report.write(folder.path()).unwrap();
    assert!(Report::read(&files.json).unwrap() == report);
    let compared = compare(&report, &report);
    assert!(compared.contains("queues/shared/pcica/6/window") && compared.contains("1.000"), "{compared}");
    let page = fs::read_to_string(&files.html).unwrap();
    assert!(
        page.contains("id=\"queues\"")
            && !page.contains("id=\"fits\"")
            && !page.contains(">not yet measured</td>")
    );
}
