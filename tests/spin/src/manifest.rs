//! `spin.toml` as far as components can tell: what is not read here is for Spin alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The manifest.
#[derive(Debug, Deserialize)]
pub struct Manifest {
    /// Application variables.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// Triggers by kind.
    pub trigger: Triggers,
    /// Components by id.
    pub component: BTreeMap<String, Component>,
}

/// An application variable.
#[derive(Debug, Deserialize)]
pub struct Variable {
    /// Its value where none is given.
    pub default: Option<String>,
    /// One has to be given.
    #[serde(default)]
    pub required: bool,
    /// It is a secret.
    #[serde(default)]
    pub secret: bool,
}

/// The triggers.
#[derive(Debug, Deserialize)]
pub struct Triggers {
    /// HTTP.
    pub http: Vec<Trigger>,
}

/// An HTTP trigger.
#[derive(Debug, Deserialize)]
pub struct Trigger {
    /// Where.
    pub route: Route,
    /// Who.
    pub component: String,
}

/// A route.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Route {
    /// An exact path, or everything below one that ends in `/...`.
    Path(String),
    /// None: reached by service chaining only.
    Private {
        /// Always true.
        private: bool,
    },
}

/// A component.
#[derive(Debug, Deserialize)]
pub struct Component {
    /// The built file, relative to the manifest.
    pub source: PathBuf,
    /// Hosts it may reach.
    #[serde(default)]
    pub allowed_outbound_hosts: Vec<String>,
    /// Databases it may open.
    #[serde(default)]
    pub sqlite_databases: Vec<String>,
    /// Key-value stores it may open.
    #[serde(default)]
    pub key_value_stores: Vec<String>,
    /// Its variables, as templates over the application's.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads the manifest at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} is missing", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is not a manifest", path.display()))
    }

    /// The component that a request from outside to `path` is for: an exact route before a longer wildcard
    /// before a shorter one.
    pub fn route(&self, path: &str) -> Option<&str> {
        let rank = |trigger: &Trigger| match &trigger.route {
            Route::Private { .. } => None,
            Route::Path(route) => match route.strip_suffix("/...") {
                Some(base) => {
                    let below = path.strip_prefix(base)?;
                    (below.is_empty() || below.starts_with('/')).then_some(base.len())
                }
                None => (route == path).then_some(usize::MAX),
            },
        };
        let ranked = self.trigger.http.iter().filter_map(|trigger| Some((rank(trigger)?, trigger)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, trigger)| trigger.component.as_str())
    }

    /// Fills the templates `{{ name }}` of `text` from `given` and the defaults.
    pub fn expand(&self, text: &str, given: &BTreeMap<String, String>) -> Result<String> {
        let Some((before, rest)) = text.split_once("{{") else { return Ok(text.to_owned()) };
        let (name, after) = rest.split_once("}}").context("a template is not closed")?;
        let name = name.trim();
        let variable = self.variables.get(name).with_context(|| format!("no variable {name}"))?;
        let value = match given.get(name).or(variable.default.as_ref()) {
            Some(value) => value,
            None => bail!("the variable {name} is required"),
        };
        Ok(format!("{before}{value}{}", self.expand(after, given)?))
    }
}
