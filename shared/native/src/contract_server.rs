//! The endpoint that `contract::transport_keeps_its_promises` talks to: it misbehaves exactly as that
//! suite's table says, for any host's adapter, and counts what it was asked.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookproof_ports::contract::GZIP;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// How long a slow path keeps its client waiting; clients are to give up long before.
const SLOW: Duration = Duration::from_secs(10);

/// A listening endpoint on a port of its own.
#[derive(Debug)]
pub struct ContractServer {
    listener: TcpListener,
    hits: Hits,
}

/// How often each path was requested; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Hits(Arc<Mutex<BTreeMap<String, u32>>>);

impl Hits {
    /// How often `path` was requested.
    pub fn of(&self, path: &str) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied().unwrap_or(0)
    }

    fn count(&self, path: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default() += 1;
    }
}

impl ContractServer {
    /// Listens on a free port of 127.0.0.1.
    pub async fn bind() -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind("127.0.0.1:0").await?, hits: Hits::default() })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What it was asked.
    pub fn hits(&self) -> Hits {
        self.hits.clone()
    }

    /// Answers, each connection in a task of its own, until the listener fails.
    pub async fn serve(self) -> io::Result<()> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let hits = self.hits.clone();
            // A client that goes away early is what half of the paths are for.
            tokio::spawn(async move { serve_one(stream, &hits).await.is_ok() });
        }
    }
}

/// Reads one request from `stream` and answers it, then closes.
pub async fn serve_one(mut stream: impl AsyncRead + AsyncWrite + Unpin, hits: &Hits) -> io::Result<()> {
    let Some(request) = Request::read(&mut stream).await? else { return Ok(()) };
    hits.count(&request.path);
    match request.path.as_str() {
        "/ok" => write(&mut stream, &whole("200 OK", "content-type: text/plain\r\n", b"ok")).await?,
        "/echo" => write(&mut stream, &whole("200 OK", "", &request.octets)).await?,
        "/hits" => {
            let asked = String::from_utf8_lossy(request.body()).into_owned();
            write(&mut stream, &whole("200 OK", "", hits.of(&asked).to_string().as_bytes())).await?;
        }
        "/redirect" => write(&mut stream, &whole("307 Elsewhere", "location: /forbidden\r\n", b"")).await?,
        "/see-other" => write(&mut stream, &whole("303 Elsewhere", "location: /forbidden\r\n", b"")).await?,
        "/throttled" => write(&mut stream, &whole("429 Later", "retry-after: 7\r\n", b"later")).await?,
        "/empty" => write(&mut stream, b"HTTP/1.1 204 Nothing\r\nconnection: close\r\n\r\n").await?,
        "/cookie" => write(&mut stream, &whole("200 OK", "set-cookie: crumb=1; Path=/\r\n", b"")).await?,
        "/gzip" => write(&mut stream, &whole("200 OK", "content-encoding: gzip\r\n", GZIP)).await?,
        "/large" => write(&mut stream, &whole("200 OK", "", &[b'x'; 1 << 20])).await?,
        "/interim" => {
            write(&mut stream, b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n").await?;
            write(&mut stream, &whole("200 OK", "", b"final")).await?;
        }
        "/slow" => sleep(SLOW).await,
        "/stall" => {
            write(&mut stream, b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\nabc")
                .await?;
            sleep(SLOW).await;
        }
        "/broken" => {
            write(&mut stream, b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\nabc")
                .await?
        }
        "/garbage" => write(&mut stream, b"220 mail.example ESMTP\r\n\r\n").await?,
        "/drip" => chunks(&mut stream, b"1\r\nx\r\n", Duration::from_millis(200)).await?,
        "/endless" => chunks(&mut stream, b"10\r\nxxxxxxxxxxxxxxxx\r\n", Duration::ZERO).await?,
        "/reset" => {}
        _ => write(&mut stream, &whole("404 Unknown", "", b"")).await?,
    }
    stream.shutdown().await
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), octets: &[u8]) -> io::Result<()> {
    stream.write_all(octets).await?;
    stream.flush().await
}

/// It says that it closes, as it does: a client that kept the connection would lose its next request.
fn whole(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\n{fields}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Sends `chunk` until the client goes away or [`SLOW`] has passed.
async fn chunks(stream: &mut (impl AsyncWrite + Unpin), chunk: &[u8], pause: Duration) -> io::Result<()> {
    write(stream, b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let forever = async {
        loop {
            write(stream, chunk).await?;
            sleep(pause).await;
        }
    };
    tokio::time::timeout(SLOW, forever).await.unwrap_or(Ok(()))
}

/// A request as it came in.
struct Request {
    octets: Vec<u8>,
    body_start: usize,
    path: String,
}

impl Request {
    /// Reads the head and as many octets as it promises; none where the client sent nothing whole.
    async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut octets = Vec::new();
        loop {
            if let Some(request) = Self::parse(&octets) {
                return Ok(Some(request));
            }
            if stream.read_buf(&mut octets).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn parse(octets: &[u8]) -> Option<Self> {
        let body_start = octets.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(octets.get(..body_start)?).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.map_or(Some(0), |text| text.trim().parse::<usize>().ok())?;
        let path = head.split(' ').nth(1)?.split('?').next()?.to_owned();
        let octets = octets.get(..body_start + length)?.to_vec();
        Some(Self { octets, body_start, path })
    }

    fn body(&self) -> &[u8] {
        self.octets.get(self.body_start..).unwrap_or_default()
    }
}
