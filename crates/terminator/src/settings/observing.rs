//! Settings of metrics and status, and of watched files.

use super::raw::{RawMetrics, RawReload, RawStatus};
use super::{At, SettingsText, Wrong};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use streams::UNIX_PATH_BYTES_MAX;

/// Where metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAt {
    /// At a TCP address.
    Address(SocketAddr),
    /// At a Unix socket.
    Socket(PathBuf),
}

/// Where `cryptand tls status` reaches the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusAt {
    /// The status is not served.
    None,
    /// At this Unix socket, as the default: if the socket cannot be bound, the program serves all the same.
    Default(PathBuf),
    /// At this Unix socket, which the settings name.
    Socket(At<PathBuf>),
}

impl StatusAt {
    /// The default socket: in the folder that the service manager made for this program. Without such a folder, beside
    /// the settings file, with `.sock` in place of its ending.
    pub fn default_for(file: &Path, runtime_folder: Option<&Path>) -> PathBuf {
        match runtime_folder {
            Some(folder) => folder.join("status.sock"),
            None => file.with_extension("sock"),
        }
    }
}

/// Settings of metrics and status, and of watched files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observing {
    /// Where metrics are served; `None` for nowhere.
    pub metrics: Option<At<MetricsAt>>,
    /// Where the status is served.
    pub status: StatusAt,
    /// Files are watched, and read again once they have not changed for this time; `None` if only SIGHUP reloads.
    pub watch: Option<Duration>,
}

impl Observing {
    /// Whether both settings bind the same sockets at the start.
    pub(crate) fn is_bound_as(&self, other: &Self) -> bool {
        let of = |observing: &Self| {
            let status = match &observing.status {
                StatusAt::Socket(at) => Some(at.value.clone()),
                _ => None,
            };
            (
                observing.metrics.as_ref().map(|at| at.value.clone()),
                status,
                observing.status == StatusAt::None,
            )
        };
        of(self) == of(other)
    }

    /// The line of the first socket that is bound at the start; 1 if there is none.
    pub(crate) fn line(&self) -> usize {
        match (&self.metrics, &self.status) {
            (Some(at), _) => at.line,
            (None, StatusAt::Socket(at)) => at.line,
            _ => 1,
        }
    }
}

impl SettingsText<'_> {
    pub(super) fn observing(
        &self,
        metrics: Option<RawMetrics>,
        status: Option<RawStatus>,
        reload: Option<RawReload>,
    ) -> Result<Observing, Wrong> {
        let reload = reload.unwrap_or_default();
        let quiet = self.number("quiet_milliseconds", reload.quiet_milliseconds, 500, 1, 60_000)?;
        Ok(Observing {
            metrics: metrics.map(|raw| self.metrics(raw)).transpose()?,
            status: self.status(status.unwrap_or_default())?,
            watch: reload.watch.then(|| Duration::from_millis(quiet)),
        })
    }

    fn metrics(&self, raw: RawMetrics) -> Result<At<MetricsAt>, Wrong> {
        match (raw.address, raw.socket) {
            (Some(address), None) => {
                let At { value, line } = self.at(address);
                let address = value.parse().map_err(|_| {
                    let cause = format!("\"{value}\" is no address with a port, such as 127.0.0.1:9464");
                    self.wrong(line, "address", cause)
                })?;
                Ok(At { value: MetricsAt::Address(address), line })
            }
            (None, Some(socket)) => {
                let At { value, line } = self.unix(self.at(socket))?;
                Ok(At { value: MetricsAt::Socket(value), line })
            }
            (Some(_), Some(socket)) => {
                let cause = "metrics have an `address` already: name one of both";
                Err(self.wrong(self.at(socket).line, "socket", cause))
            }
            (None, None) => {
                let line =
                    self.text.lines().position(|line| line.trim() == "[metrics]").map_or(1, |at| at + 1);
                Err(self.wrong(line, "[metrics]", "it has neither an `address` nor a `socket`"))
            }
        }
    }

    fn status(&self, raw: RawStatus) -> Result<StatusAt, Wrong> {
        let Some(socket) = raw.socket.map(|socket| self.at(socket)) else {
            // The first of several folders (`RuntimeDirectory=`) counts.
            let folders =
                std::env::var_os("RUNTIME_DIRECTORY").and_then(|folders| folders.into_string().ok());
            let folder = folders.as_deref().and_then(|folders| folders.split(':').next());
            return Ok(StatusAt::Default(StatusAt::default_for(self.file, folder.map(Path::new))));
        };
        if socket.value.as_os_str() == "none" {
            return Ok(StatusAt::None);
        }
        self.unix(socket).map(StatusAt::Socket)
    }

    fn unix(&self, socket: At<PathBuf>) -> Result<At<PathBuf>, Wrong> {
        let path = self.path(socket);
        let length = path.value.as_os_str().len();
        if path.value.file_name().is_none() || length > UNIX_PATH_BYTES_MAX {
            let cause =
                format!("{}: it must be a path of {UNIX_PATH_BYTES_MAX} bytes at most", path.value.display());
            return Err(self.wrong(path.line, "socket", cause));
        }
        Ok(path)
    }
}
