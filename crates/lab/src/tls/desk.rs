//! The desk of the TLS measures: a folder with keys and certificates, and the paths of the programs.

use crate::load::{LabError, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Host name in the certificates.
pub const NAME: &str = "localhost";
/// Debian packages that the measures need.
pub const PACKAGES: &str = "nginx libnginx-mod-stream openssl (`scripts/need bench` unpacks nginx)";
/// Folder of nginx as `scripts/need bench` unpacks it, beside the folder of this program.
const UNPACKED: &str = "nginx";

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsKey {
    /// RSA with 1024 bits, as the originals had.
    Rsa1024,
    /// RSA with 2048 bits.
    Rsa2048,
    /// ECDSA over P-256.
    P256,
}

impl TlsKey {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Rsa1024, Self::Rsa2048, Self::P256];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rsa1024 => "RSA-1024",
            Self::Rsa2048 => "RSA-2048",
            Self::P256 => "ECDSA P-256",
        }
    }

    /// The beginning of the names of this kind's files.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Rsa1024 => "rsa1024",
            Self::Rsa2048 => "rsa2048",
            Self::P256 => "p256",
        }
    }

    /// Label of this kind's key in a home.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rsa1024 => "LAB.TLS.RSA1024",
            Self::Rsa2048 => "LAB.TLS.RSA2048",
            Self::P256 => "LAB.TLS.P256",
        }
    }

    fn made_by(self) -> &'static [&'static str] {
        match self {
            Self::Rsa1024 => &["-newkey", "rsa:1024"],
            Self::Rsa2048 => &["-newkey", "rsa:2048"],
            Self::P256 => &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        }
    }
}

/// nginx, and the folder of its modules.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// The program.
    pub program: PathBuf,
    /// Module of nginx for streams; none if it is not installed.
    pub stream: Option<PathBuf>,
    /// Name and version of nginx and of its library.
    pub name: String,
}

/// The folder with all files; removed when the desk is dropped.
pub struct Desk {
    folder: TempDir,
    ours: PathBuf,
    openssl: PathBuf,
    nginx: Option<Nginx>,
}

impl Desk {
    /// Makes the folder with keys and self-signed certificates; the client's certificates are signed by an authority.
    ///
    /// # Errors
    /// [`LabError::Program`] where OpenSSL's command is not there or refuses, [`LabError::Io`].
    pub fn new() -> Result<Self, LabError> {
        let folder =
            TempDir::with_prefix("cr").map_err(LabError::io("make a folder for the measures of TLS"))?;
        let openssl = find("openssl").ok_or_else(|| {
            LabError::Program(format!("the command openssl is not here; install {PACKAGES}"))
        })?;
        let desk = Self { folder, ours: target::command()?, openssl, nginx: nginx() };
        for kind in TlsKey::ALL {
            desk.certify(kind)?;
        }
        desk.certify_clients()?;
        Ok(desk)
    }

    /// The command `cryptand`.
    pub fn ours(&self) -> &Path {
        &self.ours
    }

    /// nginx; none if it is not installed.
    pub fn nginx(&self) -> Option<&Nginx> {
        self.nginx.as_ref()
    }

    /// Path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// File of the certificate chain of a kind of key.
    pub fn chain(&self, kind: TlsKey) -> PathBuf {
        self.path(&format!("{}.pem", kind.file()))
    }

    /// File of the private key of a kind, in PEM.
    pub fn key(&self, kind: TlsKey) -> PathBuf {
        self.path(&format!("{}.key", kind.file()))
    }

    /// File of the certificate of the clients' authority.
    pub fn authority(&self) -> PathBuf {
        self.path("authority.pem")
    }

    /// Files of certificate and key of a client.
    pub fn client(&self, kind: TlsKey) -> (PathBuf, PathBuf) {
        (self.path(&format!("client-{}.pem", kind.file())), self.path(&format!("client-{}.key", kind.file())))
    }

    /// Writes a file into the folder.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, LabError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(LabError::io("write a file of a TLS server"))?;
        Ok(path)
    }

    /// Runs a command; gives its standard output.
    ///
    /// # Errors
    /// [`LabError::Program`] with what it complains of.
    pub fn run(&self, command: &mut Command) -> Result<String, LabError> {
        let what = "run a program for the measures of TLS";
        let output = command.current_dir(self.folder.path()).stdin(Stdio::null()).output();
        let output = output.map_err(LabError::io(what))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let name = command.get_program().to_string_lossy().into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(LabError::Program(format!("{name} ended with {}: {complaint}", output.status)))
    }

    fn openssl<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<(), LabError> {
        self.run(Command::new(&self.openssl).args(arguments)).map(drop)
    }

    fn certify(&self, kind: TlsKey) -> Result<(), LabError> {
        let (file, names) = (kind.file(), format!("subjectAltName=DNS:{NAME},IP:127.0.0.1"));
        let (subject, chain, key) = (format!("/CN={NAME}"), format!("{file}.pem"), format!("{file}.key"));
        let head = ["req", "-x509", "-nodes", "-sha256", "-days", "30", "-subj", &subject, "-addext", &names];
        let tail = ["-keyout", &key, "-out", &chain];
        self.openssl(head.into_iter().chain(kind.made_by().iter().copied()).chain(tail))
    }

    fn certify_clients(&self) -> Result<(), LabError> {
        self.openssl([
            "req",
            "-x509",
            "-nodes",
            "-sha256",
            "-days",
            "30",
            "-subj",
            "/CN=authority",
            "-newkey",
            "rsa:2048",
            "-keyout",
            "authority.key",
            "-out",
            "authority.pem",
        ])?;
        self.write("client.ext", "extendedKeyUsage=clientAuth\nkeyUsage=digitalSignature\n")?;
        for kind in TlsKey::ALL {
            let file = format!("client-{}", kind.file());
            let (chain, key, asked) = (format!("{file}.pem"), format!("{file}.key"), format!("{file}.csr"));
            let head = ["req", "-nodes", "-sha256", "-subj", "/CN=client", "-keyout", &key, "-out", &asked];
            self.openssl(head.into_iter().chain(kind.made_by().iter().copied()))?;
            let sign =
                ["x509", "-req", "-sha256", "-days", "30", "-in", &asked, "-out", &chain, "-CAcreateserial"];
            let by = ["-CA", "authority.pem", "-CAkey", "authority.key", "-extfile", "client.ext"];
            self.openssl(sign.into_iter().chain(by))?;
        }
        Ok(())
    }
}

/// nginx as `scripts/need bench` unpacked it, else the system's; none without either.
fn nginx() -> Option<Nginx> {
    let own = std::env::current_exe().ok()?;
    let unpacked = own.ancestors().skip(1).take(4).map(|folder| folder.join(UNPACKED));
    let mut roots = unpacked.chain([PathBuf::from("/")]);
    let (root, program) = roots.find_map(|root| {
        let program = root.join("usr/sbin/nginx");
        program.is_file().then_some((root, program))
    })?;
    let stream = root.join("usr/lib/nginx/modules/ngx_stream_module.so");
    let said = Command::new(&program).arg("-V").stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let after = |mark: &str| said.split(mark).nth(1)?.split_whitespace().next().map(str::to_owned);
    let version = after("nginx/").unwrap_or_default();
    let library = after("running with OpenSSL ").or_else(|| after("built with OpenSSL ")).unwrap_or_default();
    Some(Nginx {
        program,
        stream: stream.is_file().then_some(stream),
        name: format!("nginx {version}, OpenSSL {library}"),
    })
}

/// The path of a program in `PATH`; none if it is not there.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}
