//! Names of outputs: `IN.pgp` and back.

use crate::failure::Failure;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Endings of encrypted files, taken off when they are decrypted.
const ENDINGS: [&str; 4] = ["pgp", "gpg", "asc", "sig"];

/// The destination of one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// One input and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The input; none for standard input.
    pub input: Option<PathBuf>,
    /// The output.
    pub target: Target,
}

impl Pair {
    /// The input's name for people.
    pub fn name(&self) -> String {
        self.input.as_ref().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
    }

    /// The output's name for people; none for standard output.
    pub fn output(&self) -> Option<String> {
        match &self.target {
            Target::Stdout => None,
            Target::File(path) => Some(path.display().to_string()),
        }
    }
}

/// Pairs inputs with outputs. `asked` is `--output`: a file for one input, a folder for any number, `-` for one input.
/// `rename` derives an output's name from the input's, or says why it cannot.
pub fn pairs(
    inputs: &[PathBuf],
    asked: Option<&Path>,
    rename: impl Fn(&Path) -> Result<PathBuf, Failure>,
) -> Result<Vec<Pair>, Failure> {
    let is_stdin = |path: &Path| path == Path::new("-");
    let standard = [PathBuf::from("-")];
    let inputs = if inputs.is_empty() { &standard } else { inputs };
    if inputs.len() > 1 && inputs.iter().any(|path| is_stdin(path)) {
        return Err(Failure::Usage("standard input (-) cannot be one of several inputs".to_owned()));
    }
    let folder = asked.filter(|path| names_folder(path));
    if let Some(path) = asked.filter(|_| inputs.len() > 1 && folder.is_none()) {
        let said = match is_stdin(path) {
            true => "several inputs do not go to standard output: name a folder with -o".to_owned(),
            false => format!("{}: not a folder; several outputs need an existing folder", path.display()),
        };
        return Err(Failure::Usage(said));
    }
    let mut pairs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let target = match (asked, folder) {
            (Some(path), _) if is_stdin(path) => Target::Stdout,
            (_, Some(folder)) if is_stdin(input) => {
                let said = format!("{}: is a folder; name the file for standard input", folder.display());
                return Err(Failure::Usage(said));
            }
            (_, Some(folder)) => {
                let name = rename(input)?;
                Target::File(folder.join(name.file_name().unwrap_or(name.as_os_str())))
            }
            (Some(path), None) => Target::File(path.to_owned()),
            (None, None) if is_stdin(input) => Target::Stdout,
            (None, None) => Target::File(rename(input)?),
        };
        pairs.push(Pair { input: (!is_stdin(input)).then(|| input.clone()), target });
    }
    refuse_twins(&pairs)?;
    Ok(pairs)
}

fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

/// Refuses two inputs with the same output, and outputs that are inputs.
fn refuse_twins(pairs: &[Pair]) -> Result<(), Failure> {
    let mut outputs = HashSet::with_capacity(pairs.len());
    let inputs: HashSet<_> = pairs.iter().filter_map(|pair| pair.input.as_deref()).map(place).collect();
    for pair in pairs {
        let Target::File(path) = &pair.target else { continue };
        let place = place(path);
        if !outputs.insert(place.clone()) {
            let said = format!(
                "{}: two inputs would get this name; put them into folders of their own",
                path.display()
            );
            return Err(Failure::Usage(said));
        }
        if inputs.contains(&place) {
            return Err(Failure::Usage(format!("{}: would be input and output at once", path.display())));
        }
    }
    Ok(())
}

/// A comparable path: `a`, `./a` and `folder/../a` give the same one.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The input's name with a further ending.
pub fn with_ending(input: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(input);
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// The input's name without its ending.
pub fn without_ending(input: &Path) -> Result<PathBuf, Failure> {
    let ending = input.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
    match ending {
        Some(ending) if ENDINGS.contains(&ending.as_str()) => Ok(input.with_extension("")),
        _ => {
            let said = format!(
                "{}: no ending .pgp, .gpg or .asc to take off; name the output with -o",
                input.display()
            );
            Err(Failure::Usage(said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    fn file(name: &str) -> Target {
        Target::File(name.into())
    }

    fn encrypted(input: &Path) -> Result<PathBuf, Failure> {
        Ok(with_ending(input, "pgp"))
    }

    #[test]
    fn outputs_lie_beside_their_inputs() {
        let made = pairs(&paths(&["a.txt", "d/b"]), None, encrypted).unwrap();
        assert_eq!(made[0], Pair { input: Some("a.txt".into()), target: file("a.txt.pgp") });
        assert_eq!(made[1].target, file("d/b.pgp"));
        let made = pairs(&paths(&["d/b.PGP", "c.tar.gpg", "e.asc"]), None, without_ending).unwrap();
        let targets: Vec<_> = made.into_iter().map(|pair| pair.target).collect();
        assert_eq!(targets, [file("d/b"), file("c.tar"), file("e")]);
    }

    #[test]
    fn an_output_is_a_file_a_folder_or_standard_output() {
        let folder = tempfile::tempdir().unwrap();
        let one = |input: &str, asked: &str| {
            pairs(&paths(&[input]), Some(Path::new(asked)), encrypted).unwrap().remove(0).target
        };
        assert_eq!(one("a", "out"), file("out"));
        assert_eq!(one("d/a", "out/"), file("out/a.pgp"));
        assert_eq!(one("a", "-"), Target::Stdout);
        assert_eq!(one("-", "out"), file("out"));
        assert_eq!(one("d/a", folder.path().to_str().unwrap()), Target::File(folder.path().join("a.pgp")));
        assert_eq!(pairs(&[], None, encrypted).unwrap(), [Pair { input: None, target: Target::Stdout }]);
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        let refused = |inputs: &[&str], asked: Option<&str>| {
            matches!(pairs(&paths(inputs), asked.map(Path::new), encrypted), Err(Failure::Usage(_)))
        };
        assert!(refused(&["a", "b"], Some("no-such-folder")));
        assert!(refused(&["a", "-"], None));
        assert!(refused(&["a", "b"], Some("-")));
        assert!(refused(&["x/a", "y/a"], Some("out/")));
        assert!(refused(&["a", "a.pgp"], None));
        assert!(refused(&["a", "./a"], None));
        assert!(refused(&["a", "src/../a.pgp"], None));
        assert!(refused(&["-"], Some("out/")));
        assert!(matches!(without_ending(Path::new("plain.txt")), Err(Failure::Usage(_))));
    }
}
