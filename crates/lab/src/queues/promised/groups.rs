//! A thread of this process and the process of a card in scheduling groups of unequal weight.
//!
//! Of the means that the machine permits this user, the first in this order is taken: control groups of the first or
//! the second version, whose weights are exact; the kernel's groups by session (autogroup); and plain nice values. The
//! last two use a step of 5, which is 1 : 3.06.

use crate::load::LabError;
use rustix::process::{Pid, setpriority_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Path where control groups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";
/// `cpu.shares` and `cpu.weight` of weight 1.
const SHARES: u32 = 1024;
const WEIGHT: u32 = 100;
/// Difference of nice values that stands for three times the weight.
const NICE_STEP: i32 = 5;
/// Tries to write a value that the kernel does not accept yet, and the time between them.
const SET_TRIES: usize = 10;
const SET_EVERY: Duration = Duration::from_millis(100);

/// Two groups, which exist until this is dropped.
pub(crate) struct Groups {
    folders: Vec<PathBuf>,
    /// Files to write when the groups end, each with its text: this process, or the old value.
    back: Vec<(PathBuf, String)>,
    /// The means of the weights, and the reasons why better means were refused.
    pub means: String,
}

impl Groups {
    /// Puts the calling thread into a group of the first weight, and the process of a card into one of the second; one
    /// weight is 1, the other 3. A thread keeps plain nice values, so it must be one that ends.
    ///
    /// # Errors
    /// [`LabError::Io`] where none of the means works.
    pub fn of(weights: (u32, u32), card: u32) -> Result<Self, LabError> {
        let tries: [(&str, Try); 4] = [
            ("cgroup cpu.shares", first_version),
            ("cgroup cpu.weight", second_version),
            ("autogroup", autogroup),
            ("nice", nice),
        ];
        let mut lacked = String::new();
        let mut last = io::Error::from(io::ErrorKind::Unsupported);
        for (name, try_it) in tries {
            let mut groups = Self { folders: Vec::new(), back: Vec::new(), means: String::new() };
            match try_it(&mut groups, weights, card) {
                Ok(()) => {
                    groups.means = format!("{name}{lacked}");
                    return Ok(groups);
                }
                Err(cause) => {
                    lacked += &format!("; no {name}: {cause}");
                    last = cause;
                }
            }
        }
        Err(LabError::Io { what: "make scheduling groups", cause: last })
    }

    /// Makes a group below `parent`, and puts a thread or process into it.
    fn group(&mut self, parent: &Path, name: &str, files: [(&str, u32); 2]) -> io::Result<()> {
        let folder = parent.join(format!("cryptand-bench-{}-{name}", std::process::id()));
        fs::create_dir(&folder)?;
        self.folders.push(folder.clone());
        files.into_iter().try_for_each(|(file, value)| fs::write(folder.join(file), value.to_string()))
    }

    fn write(&mut self, path: PathBuf, value: &str, back: &str) -> io::Result<()> {
        set(&path, value)?;
        self.back.push((path, back.to_owned()));
        Ok(())
    }
}

/// Writes a value, again if need be: the kernel accepts a user's change of an autogroup only once in a tenth of a
/// second.
fn set(path: &Path, value: &str) -> io::Result<()> {
    for _ in 0..SET_TRIES {
        match fs::write(path, value) {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(SET_EVERY),
            result => return result,
        }
    }
    fs::write(path, value)
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (path, value) in self.back.drain(..).rev() {
            let _ = set(&path, &value);
        }
        // A group that still holds a thread stays until the thread ends, at no cost.
        for folder in self.folders.drain(..).rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

type Try = fn(&mut Groups, (u32, u32), u32) -> io::Result<()>;

fn first_version(groups: &mut Groups, (ours, theirs): (u32, u32), card: u32) -> io::Result<()> {
    let parent = hierarchy(|controllers| controllers.split(',').any(|controller| controller == "cpu"))?;
    let (thread, process) = (rustix::thread::gettid().as_raw_nonzero().get() as u32, "tasks");
    groups.group(&parent, "loop", [("cpu.shares", ours * SHARES), (process, thread)])?;
    groups.back.push((parent.join(process), thread.to_string()));
    groups.group(&parent, "card", [("cpu.shares", theirs * SHARES), ("cgroup.procs", card)])?;
    groups.back.push((parent.join("cgroup.procs"), card.to_string()));
    Ok(())
}

fn second_version(groups: &mut Groups, (ours, theirs): (u32, u32), card: u32) -> io::Result<()> {
    let parent = hierarchy(str::is_empty)?;
    fs::write(parent.join("cgroup.subtree_control"), "+cpu")?;
    let own = std::process::id();
    groups.group(&parent, "loop", [("cpu.weight", ours * WEIGHT), ("cgroup.procs", own)])?;
    groups.back.push((parent.join("cgroup.procs"), own.to_string()));
    groups.group(&parent, "card", [("cpu.weight", theirs * WEIGHT), ("cgroup.procs", card)])?;
    groups.back.push((parent.join("cgroup.procs"), card.to_string()));
    Ok(())
}

/// The folder of this process's group in the hierarchy with these controllers.
fn hierarchy(is_meant: impl Fn(&str) -> bool) -> io::Result<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup")?;
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        if let (Some(controllers), Some(path)) = (fields.next(), fields.next())
            && is_meant(controllers)
        {
            return Ok(Path::new(CGROUPS).join(controllers).join(path.trim_start_matches('/')));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Whether our side gives way: its nice value is then a step higher.
fn gives_way((ours, theirs): (u32, u32)) -> bool {
    ours < theirs
}

fn autogroup(groups: &mut Groups, weights: (u32, u32), card: u32) -> io::Result<()> {
    let switch = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled")?;
    if switch.trim() != "1" {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let process = if gives_way(weights) { "self".to_owned() } else { card.to_string() };
    groups.write(Path::new("/proc").join(process).join("autogroup"), &NICE_STEP.to_string(), "0")
}

fn nice(_: &mut Groups, weights: (u32, u32), card: u32) -> io::Result<()> {
    if gives_way(weights) {
        return Ok(setpriority_process(None, NICE_STEP)?);
    }
    for thread in fs::read_dir(format!("/proc/{card}/task"))? {
        let thread = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        setpriority_process(thread, NICE_STEP)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn groups_are_made_by_one_of_the_means_and_are_gone_after() {
        let mut card = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let own = || fs::read_to_string("/proc/thread-self/cgroup").unwrap();
        let before = own();
        for weights in [(1, 3), (3, 1)] {
            // Plain nice values end with the thread.
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let groups = Groups::of(weights, card.id()).unwrap();
                    let folders = groups.folders.clone();
                    assert!(folders.iter().all(|folder| folder.is_dir()) && !groups.means.is_empty());
                    drop(groups);
                    assert!(!folders.iter().any(|folder| folder.exists()), "{folders:?}");
                });
            });
        }
        assert_eq!(own(), before);
        card.kill().unwrap();
        card.wait().unwrap();
    }
}
