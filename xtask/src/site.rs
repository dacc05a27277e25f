//! A [`Site`] is a small HTTP server on loopback that answers as it is told and remembers every request:
//! the sample application behind the receiver, and the endpoints of the tests.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Its fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Received {
    /// The first field with this lower-case name; empty if there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What to answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Fields beside content-length and connection.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Wait before answering.
    pub delay: Duration,
}

impl Answer {
    /// A status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, fields: Vec::new(), body: Vec::new(), delay: Duration::ZERO }
    }

    /// A JSON body.
    #[must_use]
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::status(status).with("content-type", "application/json").body(body.to_string())
    }

    /// With one more field.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// After a wait.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// How a site answers.
pub type Script = dyn Fn(&Received) -> Answer + Send + Sync;

/// A running server; it ends with this value.
pub struct Site {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    ended: Arc<AtomicBool>,
}

impl Site {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start(script: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts a server on `port`; 0 takes a free one.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub fn start_on(port: u16, script: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).context("No port for a local site.")?;
        let address = listener.local_addr()?;
        let site = Self { address, received: Arc::default(), ended: Arc::default() };
        let (received, ended) = (Arc::clone(&site.received), Arc::clone(&site.ended));
        let script: Arc<Script> = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), received, script) = (stream, Arc::clone(&received), Arc::clone(&script))
                else {
                    continue;
                };
                thread::spawn(move || serve(stream, &received, script.as_ref()));
            }
        });
        Ok(site)
    }

    /// `http://127.0.0.1:<port>` and the path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // The listener wakes up once more and sees that it has ended.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn serve(stream: TcpStream, received: &Mutex<Vec<Received>>, script: &Script) {
    let Ok(reading) = stream.try_clone() else { return };
    let _ = reading.set_read_timeout(Some(Duration::from_secs(30)));
    let mut reader = BufReader::new(reading);
    let mut writer = stream;
    while let Some(request) = read(&mut reader) {
        received.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let answer = script(&request);
        thread::sleep(answer.delay);
        if write(&mut writer, &answer).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut start = line.split_whitespace();
    let (method, target) = (start.next()?.to_owned(), start.next()?.to_owned());
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => fields.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let request = Received { method, target, fields, body: Vec::new() };
    let body = if request.field("transfer-encoding").eq_ignore_ascii_case("chunked") {
        chunks(reader)?
    } else {
        let mut body = vec![0; request.field("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        body
    };
    Some(Received { body, ..request })
}

fn chunks(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk.get(..size)?);
    }
}

fn write(writer: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Answer\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes())?;
    writer.write_all(&answer.body)?;
    writer.flush()
}
