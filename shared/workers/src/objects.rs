//! Calls to objects, each with a fresh stub and a time limit: an object that panics never answers.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Ask};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{Delay, Env, web_sys};

use crate::fault;

/// Longest wait for an object's reply.
const LIMIT: Duration = Duration::from_secs(15);

/// The objects a Worker is bound to. The binding of a kind is its name in capitals.
pub struct Objects<'a> {
    env: &'a Env,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer<R> {
    Ok(R),
    Refused(Refusal),
}

impl<'a> Objects<'a> {
    /// The objects bound in `env`.
    pub fn new(env: &'a Env) -> Self {
        Self { env }
    }

    async fn call(&self, binding: &str, key: &str, body: &str) -> Result<String, Refusal> {
        let failed = |error: worker::Error| fault::host(binding, &error);
        let stub =
            self.env.durable_object(binding).and_then(|space| space.get_by_name(key)).map_err(failed)?;
        let init = web_sys::RequestInit::new();
        init.set_method("POST");
        init.set_body(&JsValue::from_str(body));
        // The object's own name may be lost on the way (see `ObjectHost::serve`); keys are made of id octets.
        let request = web_sys::Request::new_with_str_and_init(&format!("https://object/{key}"), &init);
        let request = request.map_err(|error| failed(error.into()))?.into();
        let answer = pin!(async {
            let mut response = stub.fetch_with_request(request).await?;
            response.text().await
        });
        match select(answer, pin!(Delay::from(LIMIT))).await {
            Either::Left((answer, _)) => answer.map_err(failed),
            Either::Right(_) => {
                Err(Refusal::new(Reason::InternalHost, format!("{binding} did not answer in time")))
            }
        }
    }
}

impl<A: Aggregate> Ask<A> for Objects<'_> {
    async fn ask<R: DeserializeOwned>(&self, key: &str, command: A::Command) -> Result<R, Refusal> {
        let body = serde_json::to_string(&command).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        let text = self.call(&A::NAME.to_ascii_uppercase(), key, &body).await?;
        match serde_json::from_str(&text) {
            Ok(Answer::Ok(reply)) => Ok(reply),
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Err(error) => Err(fault::host(A::NAME, &error)),
        }
    }
}
