//! `worker-build` compiled against this cannot download: every request is refused before anything is sent.
//!
//! It has a client only to fetch wasm-bindgen, esbuild and wasm-opt, and is given all three. The real client
//! would bring two TLS libraries, one of them OpenSSL with its headers. What is here is what `worker-build`
//! calls, under ureq's names; another version that calls more does not compile, and is noticed.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::{Display, Formatter, Result as Written};
use std::io::Empty;

/// The only error there is.
#[derive(Debug)]
pub struct Refused;

impl Display for Refused {
    fn fmt(&self, text: &mut Formatter<'_>) -> Written {
        text.write_str(
            "this worker-build was installed without the means to download; \
             it is given its tools by cargo xtask (WASM_BINDGEN_BIN, ESBUILD_BIN, WASM_OPT_BIN)",
        )
    }
}

impl Error for Refused {}

/// A client in name.
#[derive(Debug)]
pub struct Agent(());

impl Agent {
    /// Begins the settings, which change nothing.
    #[must_use]
    pub fn config_builder() -> ConfigBuilder {
        ConfigBuilder(())
    }

    /// Begins a request that will be refused.
    #[must_use]
    pub fn get(&self, _url: &str) -> Request {
        Request(())
    }
}

/// Settings in the making.
#[derive(Debug)]
pub struct ConfigBuilder(());

impl ConfigBuilder {
    /// Changes nothing.
    #[must_use]
    pub fn tls_config(self, _settings: tls::TlsConfig) -> Self {
        self
    }

    /// Ends the settings.
    #[must_use]
    pub fn build(self) -> Config {
        Config(())
    }
}

/// Settings.
#[derive(Debug)]
pub struct Config(());

impl Config {
    /// The client.
    #[must_use]
    pub fn new_agent(self) -> Agent {
        Agent(())
    }
}

/// A request that will be refused.
#[derive(Debug)]
pub struct Request(());

impl Request {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn call(self) -> Result<Response, Refused> {
        Err(Refused)
    }
}

/// The answer that never comes.
#[derive(Debug)]
pub struct Response(Body);

impl Response {
    /// Cannot be reached.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.0
    }
}

/// The body of no answer: there is no value of this type.
#[derive(Debug)]
pub struct Body(Infallible);

impl Body {
    /// Cannot be reached.
    pub fn as_reader(&mut self) -> Empty {
        match self.0 {}
    }
}

/// Settings of a TLS that is not here.
pub mod tls {
    /// Settings.
    #[derive(Debug)]
    pub struct TlsConfig(());

    impl TlsConfig {
        /// Begins them.
        #[must_use]
        pub fn builder() -> TlsConfigBuilder {
            TlsConfigBuilder(())
        }
    }

    /// Settings in the making.
    #[derive(Debug)]
    pub struct TlsConfigBuilder(());

    impl TlsConfigBuilder {
        /// Changes nothing.
        #[must_use]
        pub fn provider(self, _provider: TlsProvider) -> Self {
            self
        }

        /// Changes nothing.
        #[must_use]
        pub fn root_certs(self, _certificates: RootCerts) -> Self {
            self
        }

        /// Ends them.
        #[must_use]
        pub fn build(self) -> TlsConfig {
            TlsConfig(())
        }
    }

    /// The one that `worker-build` names.
    #[derive(Debug)]
    pub enum TlsProvider {
        /// The system's.
        NativeTls,
    }

    /// The one that `worker-build` names.
    #[derive(Debug)]
    pub enum RootCerts {
        /// The system's.
        PlatformVerifier,
    }
}
