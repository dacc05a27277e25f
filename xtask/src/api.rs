//! An [`Api`] is one base URL and one bearer token; every answer is its status and its JSON, whatever the
//! status says.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::time::Duration;

/// A client of one of the deployment's HTTP surfaces.
#[derive(Clone, Debug)]
pub struct Api {
    base: String,
    token: String,
    agent: ureq::Agent,
}

impl Api {
    /// Requests to `base`, bearing `token`; an empty token is none.
    #[must_use]
    pub fn new(base: &str, token: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .max_redirects(0)
            .build();
        Self { base: base.to_owned(), token: token.to_owned(), agent: config.into() }
    }

    /// `GET path`.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn get(&self, path: &str) -> Result<(u16, Value)> {
        let request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        let answer = request.call().with_context(|| format!("GET {} was not answered.", self.url(path)))?;
        read(answer)
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        let answer =
            request.send_json(body).with_context(|| format!("POST {} was not answered.", self.url(path)))?;
        read(answer)
    }

    /// `PUT path` with a JSON body.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn put(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let request = self.agent.put(self.url(path)).header("authorization", self.bearer());
        let answer =
            request.send_json(body).with_context(|| format!("PUT {} was not answered.", self.url(path)))?;
        read(answer)
    }

    /// `POST path` with octets and fields as they are: for requests that are wrong on purpose.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn post_raw(&self, path: &str, fields: &[(String, String)], body: &[u8]) -> Result<(u16, Value)> {
        let mut request = self.agent.post(self.url(path));
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let answer =
            request.send(body).with_context(|| format!("POST {} was not answered.", self.url(path)))?;
        read(answer)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn bearer(&self) -> String {
        if self.token.is_empty() { String::new() } else { format!("Bearer {}", self.token) }
    }
}

/// The JSON of an answer that has to have one of the `accepted` statuses.
///
/// # Errors
/// When it has another one; the message is the problem's own.
pub fn expect(answer: (u16, Value), accepted: &[u16], what: &str) -> Result<Value> {
    let (status, body) = answer;
    if accepted.contains(&status) {
        return Ok(body);
    }
    bail!("{what} was answered {status}: {body}")
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<(u16, Value)> {
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().context("An answer could not be read.")?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((status, body))
}
