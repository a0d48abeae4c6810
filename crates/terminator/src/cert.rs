//! `cryptand cert`: requests, self-signed certificates and chains, as `cryptand` passes on what was typed: one argument of JSON.

use certificates::{
    CertificateError, Chain, Checked, Finding, LabelSigner, Name, Severity, Wanted, request, self_signed,
};
use facility::{Facility, Options};
use serde::Deserialize;
use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wire::Label;

/// Longest file of certificates that is read, in bytes. Debian's file of all roots has 220 KB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What was typed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Typed {
    /// `cert request`.
    Request(Make),
    /// `cert self-signed`.
    SelfSigned(Make),
    /// `cert show`.
    Show {
        /// PEM file.
        file: PathBuf,
        /// Whether programs read it.
        json: bool,
    },
    /// `cert check`.
    Check(Check),
}

/// What a certificate is to say, and of which key it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Make {
    home: PathBuf,
    domain: u16,
    label: String,
    names: Vec<String>,
    organization: Option<String>,
    country: Option<String>,
    for_clients: bool,
    days: Option<u32>,
    output: Option<PathBuf>,
}

/// What a chain is held against.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    file: PathBuf,
    home: Option<PathBuf>,
    domain: u16,
    label: Option<String>,
    names: Vec<String>,
    roots: Option<PathBuf>,
    soon: u32,
    json: bool,
}

/// Why a command ended.
#[derive(Debug)]
pub enum CertFailure {
    /// What was typed makes no sense.
    Usage(String),
    /// A file or a home cannot be used.
    System(String),
    /// A card refused.
    Refused(String),
    /// A chain that clients refuse: it has been said why.
    Unfit,
}

impl CertFailure {
    /// As of other commands: 2 for what was typed, 3 for a refusal, 4 for a chain with an error, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Unfit => 4,
            Self::System(_) => 1,
        }
    }
}

impl fmt::Display for CertFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::System(text) | Self::Refused(text) => out.write_str(text),
            Self::Unfit => out.write_str("clients refuse this chain"),
        }
    }
}

impl From<CertificateError> for CertFailure {
    fn from(error: CertificateError) -> Self {
        let text = error.to_string();
        match error {
            CertificateError::Verb { .. } | CertificateError::Key { .. } => Self::Refused(text),
            CertificateError::Facility(_) => Self::System(text),
            _ => Self::Usage(text),
        }
    }
}

/// Does what was typed.
///
/// # Errors
/// [`CertFailure`].
pub fn run(json: &str) -> Result<(), CertFailure> {
    let typed: Typed = serde_json::from_str(json)
        .map_err(|error| CertFailure::Usage(format!("not what `cryptand cert` passes on: {error}")))?;
    match typed {
        Typed::Request(make) => {
            let pem = request(&signer(&make)?, &wanted(&make)?)?;
            written(make.output.as_deref(), &pem)
        }
        Typed::SelfSigned(make) => {
            let days = make.days.unwrap_or(90);
            let pem = self_signed(&signer(&make)?, &wanted(&make)?, SystemTime::now(), days)?;
            written(make.output.as_deref(), &pem)
        }
        Typed::Show { file, json } => show(&file, json),
        Typed::Check(check) => checked(&check),
    }
}

fn facility(home: &Path) -> Result<Facility, CertFailure> {
    let credential =
        facility::credential::from_environment().map_err(|error| CertFailure::System(error.to_string()))?;
    Facility::open(home, Options { credential, ..Options::default() })
        .map_err(|error| CertFailure::System(error.to_string()))
}

fn label(text: &str) -> Result<Label, CertFailure> {
    Label::new(text).map_err(|error| CertFailure::Usage(format!("{text}: {error}")))
}

fn names(given: &[String]) -> Result<Vec<Name>, CertFailure> {
    Ok(given.iter().map(|name| Name::parse(name)).collect::<Result<_, _>>()?)
}

fn signer(make: &Make) -> Result<LabelSigner, CertFailure> {
    Ok(LabelSigner::new(facility(&make.home)?, make.domain, label(&make.label)?)?)
}

fn wanted(make: &Make) -> Result<Wanted, CertFailure> {
    Ok(Wanted {
        names: names(&make.names)?,
        organization: make.organization.clone(),
        country: make.country.clone(),
        for_clients: make.for_clients,
    })
}

/// To standard output, or into a file that was not there.
fn written(output: Option<&Path>, pem: &str) -> Result<(), CertFailure> {
    let Some(path) = output else { return printed(pem) };
    let file = std::fs::File::create_new(path).and_then(|mut file| file.write_all(pem.as_bytes()));
    file.map_err(|error| CertFailure::System(format!("cannot write {}: {error}", path.display())))
}

fn printed(text: &str) -> Result<(), CertFailure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // Who reads has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => {
            done.map_err(|error| CertFailure::System(format!("cannot write to standard output: {error}")))
        }
    }
}

fn read<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, CertificateError>) -> Result<T, CertFailure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| CertFailure::System(format!("cannot read {}: {error}", path.display())))?;
    let unfit = |cause: String| CertFailure::Usage(format!("{}: {cause}", path.display()));
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unfit(format!("longer than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| unfit("not PEM: it is no text".to_owned()))?;
    parse(&text).map_err(|error| unfit(error.to_string()))
}

fn show(file: &Path, json: bool) -> Result<(), CertFailure> {
    let described = read(file, Chain::from_pem)?.described();
    if json {
        return json_printed(&described);
    }
    let mut text = String::new();
    for (at, one) in described.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let names = if one.names.is_empty() { "none".to_owned() } else { one.names.join(", ") };
        let authority = if one.is_authority { "an authority" } else { "a server or client" };
        for (field, value) in [
            ("certificate", (at + 1).to_string()),
            ("subject", one.subject.clone()),
            ("names", names),
            ("issuer", one.issuer.clone()),
            ("valid from", one.not_before.clone()),
            ("valid until", one.not_after.clone()),
            ("key", one.key.clone()),
            ("signed by", one.signature.clone()),
            ("for", authority.to_owned()),
            ("serial number", one.serial.clone()),
            ("SHA-256", one.sha256.clone()),
        ] {
            text += &format!("{field:14} {value}\n");
        }
    }
    printed(&text)
}

fn checked(check: &Check) -> Result<(), CertFailure> {
    let chain = read(&check.file, Chain::from_pem)?;
    let roots = match &check.roots {
        Some(path) => read(path, certificates::roots)?,
        None => Vec::new(),
    };
    let names = names(&check.names)?;
    let soon = Duration::from_secs(u64::from(check.soon) * 86_400);
    let against = Checked { now: SystemTime::now(), soon, names: &names, roots: &roots };
    let mut findings: Vec<Finding> = chain.check(&against);
    if let (Some(text), Some(home)) = (&check.label, &check.home) {
        findings.extend(chain.check_key(&facility(home)?, check.domain, &label(text)?)?);
    }
    let is_unfit = findings.iter().any(|finding| finding.severity == Severity::Error);
    if check.json {
        json_printed(&findings)?;
    } else if findings.is_empty() {
        printed("nothing is wrong\n")?;
    } else {
        let lines = findings.iter().map(|finding| {
            let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
            format!("{severity}: certificate {}: {}\n", finding.certificate, finding.what)
        });
        printed(&lines.collect::<String>())?;
    }
    if is_unfit { Err(CertFailure::Unfit) } else { Ok(()) }
}

fn json_printed(value: &impl serde::Serialize) -> Result<(), CertFailure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CertFailure::System(error.to_string()))?;
    printed(&(text + "\n"))
}
