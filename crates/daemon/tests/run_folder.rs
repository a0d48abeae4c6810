//! `run/` of a home in the folder of a unit: found by the home alone, taken over, lost, and not anybody's.

use crate::common::{self, Client, Daemon, PATIENCE, Place, call, ready};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use wire::control::ClientRequest;

/// A folder as the service manager makes one for a unit.
fn of_unit(place: &Place) -> PathBuf {
    let folder = place.base.path().join("unit");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o711)).unwrap();
    folder
}

/// Starts a daemon as the main process of a unit with this folder, and waits until its cards are ready.
fn start_in(place: &Place, folder: &Path) -> Daemon {
    let mut command = place.command();
    command.env("NOTIFY_SOCKET", place.base.path().join("notify")).env("RUNTIME_DIRECTORY", folder);
    let mut child = command.args(["--ready-fd", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert_eq!(line, "ready\n", "the log says: {}", place.log());
    Daemon { child }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_dir()
}

fn pids(client: &Client) -> Vec<u32> {
    client.cards().iter().map(|row| row.pid).collect()
}

#[test]
fn what_runs_in_a_units_folder_is_found_by_the_home_and_taken_over() {
    let place = Place::with(|settings| settings.access.users = vec!["nobody".into()]);
    let (folder, run) = (of_unit(&place), place.home.run());
    let daemon = start_in(&place, &folder);
    assert_eq!(fs::read_link(&run).unwrap(), folder);
    assert!(folder.join("admin.sock").exists() && folder.join("key-table").exists());
    let client = place.client();
    let (_, queue) = client.attach(0);
    let (before, served) = (pids(&client), call(&queue).unwrap());
    if let Some([nobody, other]) = common::users(["nobody", "daemon"]) {
        let socket = place.home.guest_socket();
        common::as_user(nobody, || call(&common::try_greet(&socket).unwrap().attach(0).1).unwrap());
        assert!(common::as_user(other, || common::try_greet(&socket)).is_err());
    }
    // Killed, and started by a unit or by hand: the next one takes over where the link leads.
    daemon.kill();
    assert_eq!(call(&queue).unwrap(), served);
    let daemon = start_in(&place, &folder);
    assert_eq!(pids(&place.client()), before);
    daemon.kill();
    let daemon = place.start();
    assert_eq!((pids(&place.client()), call(&queue).unwrap()), (before, served));
    assert_eq!(fs::read_link(&run).unwrap(), folder);

    // A backup has nothing of it, and what is restored has a folder of its own.
    let backup = place.base.path().join("backup");
    fs::create_dir(&backup).unwrap();
    place.client().done(ClientRequest::Backup { folder: backup.to_str().unwrap().into() });
    assert!(fs::symlink_metadata(backup.join("run")).is_err());
    let restored = Place::of(home::Home::open(&backup).unwrap());
    let other = restored.start();
    assert!(ready(&restored.client().cards()) && is_folder(&restored.home.run()));
    assert_eq!(other.terminate(), 0);

    assert_eq!(daemon.terminate(), 0);
    let left = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains('.')));
}

#[test]
fn what_runs_stays_where_it_is_and_only_a_unit_says_where_else() {
    let place = Place::new();
    let (folder, run) = (of_unit(&place), place.home.run());
    let daemon = place.start();
    let before = pids(&place.client());
    daemon.kill();
    let daemon = start_in(&place, &folder);
    assert_eq!(pids(&place.client()), before);
    assert!(
        is_folder(&run) && place.log().contains("the next start after `cryptand stop`"),
        "{}",
        place.log()
    );
    assert_eq!(daemon.terminate(), 0);
    // Named to a program of another unit, which has no service manager to tell of its daemon.
    let mut command = place.command();
    let child = command.env("RUNTIME_DIRECTORY", &folder).spawn().unwrap();
    let daemon = Daemon { child };
    let begin = std::time::Instant::now();
    while !place.home.admin_socket().exists() {
        assert!(begin.elapsed() < PATIENCE, "{}", place.log());
        std::thread::yield_now();
    }
    assert!(is_folder(&run));
    assert_eq!(daemon.terminate(), 0);
    // Anything in it may be another home's.
    fs::write(folder.join("theirs"), "").unwrap();
    let daemon = start_in(&place, &folder);
    assert!(is_folder(&run) && place.log().contains("it is not empty"), "{}", place.log());
    assert_eq!(daemon.terminate(), 0);
    fs::remove_file(folder.join("theirs")).unwrap();
    let daemon = start_in(&place, &folder);
    assert_eq!(fs::read_link(&run).unwrap(), folder);
    assert!(!run.with_extension("former").exists());
    assert_eq!(daemon.terminate(), 0);
}

#[test]
fn nobody_elses_folder_is_used() {
    let place = Place::new();
    let (folder, run) = (of_unit(&place), place.home.run());
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o1777)).unwrap();
    let daemon = start_in(&place, &folder);
    assert!(is_folder(&run) && place.log().contains("lets other users"), "{}", place.log());
    assert_eq!(daemon.terminate(), 0);
    // Once there is a link, nothing starts until the folder is the owner's alone.
    fs::remove_dir_all(&run).unwrap();
    symlink(&folder, &run).unwrap();
    let (code, said) = place.refuse();
    assert!(code != 0 && said.contains(&*folder.to_string_lossy()), "{code}: {said}");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o711)).unwrap();
    if common::users([]).is_some() {
        chown(&folder, Some(65534), Some(65534)).unwrap();
        let (code, said) = place.refuse();
        assert!(code != 0 && said.contains("belongs to user nobody"), "{code}: {said}");
        chown(&folder, Some(0), Some(0)).unwrap();
    }
    assert_eq!(place.start().terminate(), 0);
}

#[test]
fn a_lost_folder_is_made_anew() {
    let place = Place::new();
    let (folder, run) = (of_unit(&place), place.home.run());
    let daemon = start_in(&place, &folder);
    let generation = place.client().cards()[0].generation;
    assert_eq!(daemon.terminate(), 0);
    // By hand, while nothing runs: the same place where it can be had, else the home.
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(place.start().terminate(), 0);
    assert_eq!(fs::read_link(&run).unwrap(), folder);
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in its place").unwrap();
    assert_eq!(place.start().terminate(), 0);
    assert!(is_folder(&run));
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(start_in(&place, &folder).terminate(), 0);
    assert_eq!(fs::read_link(&run).unwrap(), folder);
    fs::remove_file(&run).unwrap();
    assert_eq!(place.start().terminate(), 0);
    assert!(is_folder(&run));

    // While everything runs: whoever is attached works on, newcomers find nobody, and a daemon that is told to stop
    // ends what it knows. Numbers of processes go on, by which clients tell them apart.
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let daemon = start_in(&place, &folder);
    let client = place.client();
    let (_, queue) = client.attach(0);
    let processes = place.processes();
    fs::remove_dir_all(&folder).unwrap();
    call(&queue).unwrap();
    assert!(link::Channel::connect(&place.home.admin_socket()).is_err());
    assert_eq!(client.cards().len(), 2);
    assert_eq!(daemon.terminate(), 0);
    assert!(!processes.is_empty() && processes.iter().all(|(_, row)| row.identity.open().is_none()));
    fs::create_dir(&folder).unwrap();
    let daemon = start_in(&place, &folder);
    let rows = place.client().cards();
    assert!(ready(&rows) && rows[0].generation > generation + 5, "{rows:?}");
    assert_eq!(daemon.terminate(), 0);
}
