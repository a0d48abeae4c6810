//! `cryptand cert`: requests, self-signed certificates and chains, in files and beside labels. The options arrive from
//! `cryptand` as one argument of JSON.

use certificates::{
    CertificateError, Chain, Checked, Finding, LabelSigner, Name, Severity, Wanted, request, self_signed,
};
use facility::{Facility, Options};
use options::cert::{Cert, Check, Install, Make, Passed, SelfSigned, Show, Source};
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};
use wire::Label;

/// Longest file of certificates that is read, in bytes. Debian's file of all roots has 220 KB.
const FILE_BYTES_MAX: u64 = 4 << 20;
// The command line's bound of days must be the one of certificates.
const _: () = assert!(options::cert::DAYS_MAX == certificates::DAYS_MAX);

/// A key of a home.
struct Key<'a> {
    home: &'a Path,
    domain: u16,
    label: &'a str,
}

/// Why a command ended.
#[derive(Debug)]
pub enum CertFailure {
    /// The arguments make no sense.
    Usage(String),
    /// A file or a home cannot be used.
    System(String),
    /// A card refused the request.
    Refused(String),
    /// Clients would refuse the chain; the reason has been printed.
    Unfit,
    /// Clients would refuse the chain, so it was not installed beside this label.
    NotInstalled(Label),
}

impl CertFailure {
    /// The exit code, as of other commands: 2 for arguments, 3 for a card's refusal, 4 for a chain with an error, 1 for
    /// the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Unfit | Self::NotInstalled(_) => 4,
            Self::System(_) => 1,
        }
    }
}

impl fmt::Display for CertFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::System(text) | Self::Refused(text) => out.write_str(text),
            Self::Unfit => out.write_str("clients refuse this chain"),
            Self::NotInstalled(label) => {
                write!(
                    out,
                    "clients would refuse this chain with the key under {label}: nothing was installed"
                )
            }
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

/// Runs the command that the JSON names.
///
/// # Errors
/// [`CertFailure`].
pub fn run(json: &str) -> Result<(), CertFailure> {
    let Passed { home, command } = serde_json::from_str(json)
        .map_err(|error| CertFailure::Usage(format!("not what `cryptand cert` passes on: {error}")))?;
    let home = home.as_deref();
    match command {
        Cert::Request(make) => {
            let pem = request(&signer(home, &make)?, &wanted(&make)?)?;
            written(make.output.as_deref(), &pem)
        }
        Cert::SelfSigned(SelfSigned { make, days }) => {
            let pem = self_signed(&signer(home, &make)?, &wanted(&make)?, SystemTime::now(), days)?;
            written(make.output.as_deref(), &pem)
        }
        Cert::Show(asked) => show(home, &asked),
        Cert::Install(install) => installed(named(home)?, &install),
        Cert::Check(check) => checked(home, &check),
    }
}

fn named(home: Option<&Path>) -> Result<&Path, CertFailure> {
    home.ok_or_else(|| CertFailure::Usage("no home named".to_owned()))
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

fn signer(home: Option<&Path>, make: &Make) -> Result<LabelSigner, CertFailure> {
    Ok(LabelSigner::new(facility(named(home)?)?, make.domain, label(&make.label)?)?)
}

fn wanted(make: &Make) -> Result<Wanted, CertFailure> {
    Ok(Wanted {
        names: names(&make.names)?,
        organization: make.organization.clone(),
        country: make.country.clone(),
        for_clients: make.for_clients,
    })
}

/// Writes PEM to standard output, or to a new file: an existing one is an error.
fn written(output: Option<&Path>, pem: &str) -> Result<(), CertFailure> {
    let Some(path) = output else { return printed(pem) };
    let file = std::fs::File::create_new(path).and_then(|mut file| file.write_all(pem.as_bytes()));
    file.map_err(|error| CertFailure::System(format!("cannot write {}: {error}", path.display())))
}

fn printed(text: &str) -> Result<(), CertFailure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // A reader that closed the pipe has seen enough.
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

fn chain(home: Option<&Path>, of: &Source) -> Result<Chain, CertFailure> {
    let label = match of {
        Source::File(path) => return read(path, Chain::from_pem),
        Source::Label(text) => label(text)?,
    };
    match facility(named(home)?)?.chain_read(&label) {
        Err(error) => Err(CertFailure::Refused(format!("{label}: {error}"))),
        Ok(der) if der.is_empty() => Err(CertFailure::Usage(not_installed(&label))),
        Ok(der) => Ok(Chain::from_der(&der)
            .map_err(|error| CertFailure::System(format!("the chain beside {label}: {error}")))?),
    }
}

/// The message for a label that has no certificate, with the command that installs one.
pub(crate) fn not_installed(label: &Label) -> String {
    format!("no certificate is installed beside {label}: cryptand cert install {label} CHAIN.pem")
}

fn installed(home: &Path, install: &Install) -> Result<(), CertFailure> {
    let label = label(&install.label)?;
    let chain = read(&install.file, Chain::from_pem)?;
    let der =
        chain.to_der().map_err(|error| CertFailure::Usage(format!("{}: {error}", install.file.display())))?;
    let key = Key { home, domain: install.domain, label: &install.label };
    let findings = findings(&chain, &install.names, install.roots.as_deref(), 0, Some(key))?;
    let said: String = findings.iter().map(line).collect();
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        eprint!("{said}");
        return Err(CertFailure::NotInstalled(label));
    }
    let done = facility(home)?.chain_write(&label, &der);
    done.map_err(|error| CertFailure::Refused(format!("{label}: {error}")))?;
    eprint!("{said}");
    if let Some(first) = chain.described().first() {
        let (count, names) = (chain.count(), first.names.join(", "));
        let noun = if count == 1 { "certificate" } else { "certificates" };
        eprintln!("{label}: {count} {noun} installed, for {names}, until {}", first.not_after);
    }
    Ok(())
}

fn show(home: Option<&Path>, asked: &Show) -> Result<(), CertFailure> {
    let chain = chain(home, &asked.of)?;
    if asked.pem {
        return printed(&chain.to_pem());
    }
    let described = chain.described();
    if asked.json {
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

/// The faults of a chain; with a label, also those of the chain with its key.
fn findings(
    chain: &Chain,
    for_names: &[String],
    roots: Option<&Path>,
    soon_days: u32,
    key: Option<Key<'_>>,
) -> Result<Vec<Finding>, CertFailure> {
    let roots = match roots {
        Some(path) => read(path, certificates::roots)?,
        None => Vec::new(),
    };
    let names = names(for_names)?;
    let soon = Duration::from_secs(u64::from(soon_days) * 86_400);
    let against = Checked { now: SystemTime::now(), soon, names: &names, roots: &roots };
    let mut findings = chain.check(&against);
    if let Some(Key { home, domain, label: text }) = key {
        findings.extend(chain.check_key(&facility(home)?, domain, &label(text)?)?);
    }
    Ok(findings)
}

fn line(finding: &Finding) -> String {
    let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
    format!("{severity}: certificate {}: {}\n", finding.certificate, finding.what)
}

fn checked(home: Option<&Path>, check: &Check) -> Result<(), CertFailure> {
    let chain = chain(home, &check.of)?;
    let label = check.label.as_deref().or(check.of.label());
    let key = label.map(|label| named(home).map(|home| Key { home, domain: check.domain, label }));
    let findings = findings(&chain, &check.names, check.roots.as_deref(), check.soon, key.transpose()?)?;
    let is_unfit = findings.iter().any(|finding| finding.severity == Severity::Error);
    if check.json {
        json_printed(&findings)?;
    } else if findings.is_empty() {
        printed("nothing is wrong\n")?;
    } else {
        printed(&findings.iter().map(line).collect::<String>())?;
    }
    if is_unfit { Err(CertFailure::Unfit) } else { Ok(()) }
}

fn json_printed(value: &impl serde::Serialize) -> Result<(), CertFailure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CertFailure::System(error.to_string()))?;
    printed(&(text + "\n"))
}
