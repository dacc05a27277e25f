//! The five Workers: their names, packages and folders, written down once.

use crate::workspace::Workspace;
use std::path::PathBuf;

/// One of the Workers below `functions/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// The API, and the directory and token objects.
    Control,
    /// Proof that a subscriber owns its endpoint.
    Challenge,
    /// The authority of each subscription, the events, and deliveries.
    Dispatch,
    /// Receipts from subscribers.
    Receipt,
    /// The receiving side.
    Receiver,
}

impl Function {
    /// All, in the order in which they are built and listed.
    pub const ALL: [Self; 5] =
        [Self::Control, Self::Challenge, Self::Dispatch, Self::Receipt, Self::Receiver];

    /// The folder below `functions/`, and the Worker's short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Challenge => "challenge",
            Self::Dispatch => "dispatch",
            Self::Receipt => "receipt",
            Self::Receiver => "receiver",
        }
    }

    /// The function with this short name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The cargo package.
    #[must_use]
    pub fn package(self) -> String {
        format!("hookproof-{}", self.name())
    }

    /// What its build needs to know.
    #[must_use]
    pub fn worker(self, workspace: &Workspace) -> Worker {
        let folder = workspace.root().join("functions").join(self.name());
        Worker { name: self.name().to_owned(), package: self.package(), folder }
    }

    /// All, as [`Function::worker`] gives them.
    #[must_use]
    pub fn workers(workspace: &Workspace) -> Vec<Worker> {
        Self::ALL.map(|function| function.worker(workspace)).to_vec()
    }

    /// The module that is deployed.
    #[must_use]
    pub fn module(self, workspace: &Workspace) -> PathBuf {
        self.worker(workspace).module()
    }

    /// Its configuration, relative to the root; the front Worker's stands in the root itself.
    #[must_use]
    pub fn config(self) -> String {
        match self {
            Self::Control => "wrangler.toml".to_owned(),
            Self::Challenge | Self::Dispatch | Self::Receipt | Self::Receiver => {
                format!("functions/{}/wrangler.toml", self.name())
            }
        }
    }
}

/// A crate that is built into a Worker: one of the functions, or one that only tests use.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its short name.
    pub name: String,
    /// The cargo package.
    pub package: String,
    /// Where its crate is.
    pub folder: PathBuf,
}

impl Worker {
    /// Where its build is: `index.js` and `index_bg.wasm`.
    #[must_use]
    pub fn build_folder(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// The module that is deployed.
    #[must_use]
    pub fn module(&self) -> PathBuf {
        self.build_folder().join("index_bg.wasm")
    }
}
