use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig};
use tokio::net::UdpSocket;

use super::*;

fn addresses(list: &[&str]) -> Resolution {
    Resolution::Addresses(list.iter().map(|text| text.parse().unwrap()).collect())
}

/// What a [`NameServer`] answers to the n-th question about a record type.
type Script = fn(u16, usize) -> Vec<IpAddr>;

/// A name server on loopback that answers whatever name it is asked.
struct NameServer {
    resolver: SystemResolver,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
}

impl NameServer {
    async fn start(script: Script) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut connection = ConnectionConfig::udp();
        connection.port = socket.local_addr().unwrap().port();
        let server = NameServerConfig::new(Ipv4Addr::LOCALHOST.into(), true, vec![connection]);
        let search = vec!["search.test.".parse().unwrap()];
        let resolver =
            SystemResolver::asking(ResolverConfig::from_parts(None, search, vec![server])).unwrap();
        let asked = Arc::<Mutex<Vec<(String, u16)>>>::default();
        let told = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut octets = [0; 1500];
            loop {
                let (length, from) = socket.recv_from(&mut octets).await.unwrap();
                let (name, kind, end) = question(&octets[..length]);
                let before = {
                    let mut told = told.lock().unwrap();
                    told.push((name, kind));
                    told.iter().filter(|(_, other)| *other == kind).count() - 1
                };
                let reply = reply(&octets[..end], kind, &script(kind, before));
                socket.send_to(&reply, from).await.unwrap();
            }
        });
        Self { resolver, asked }
    }
}

/// The name and type of the one question (RFC 1035 §4.1), and where it ends.
fn question(message: &[u8]) -> (String, u16, usize) {
    let (mut at, mut labels) = (12, Vec::new());
    while message[at] != 0 {
        let end = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8(message[at + 1..end].to_vec()).unwrap().to_lowercase());
        at = end;
    }
    (labels.join("."), u16::from_be_bytes([message[at + 1], message[at + 2]]), at + 5)
}

/// The question again with these answers of its type.
fn reply(question: &[u8], kind: u16, answers: &[IpAddr]) -> Vec<u8> {
    let mut reply = question.to_vec();
    let count = u8::try_from(answers.len()).unwrap();
    reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0]);
    for answer in answers {
        let octets = match answer {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        reply.extend_from_slice(&[0xc0, 12]);
        reply.extend_from_slice(&kind.to_be_bytes());
        reply.extend_from_slice(&[0, 1, 0, 0, 0, 60, 0, u8::try_from(octets.len()).unwrap()]);
        reply.extend_from_slice(&octets);
    }
    reply
}

#[tokio::test]
async fn a_literal_is_not_looked_up() {
    let server = NameServer::start(|_, _| vec![]).await;
    for (host, address) in [("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1")] {
        assert_eq!(server.resolver.resolve(host).await, addresses(&[address]));
        assert_eq!(FixedResolver::new().resolve(host).await, addresses(&[address]));
    }
    assert_eq!(server.resolver.resolve("localhost").await, addresses(&["127.0.0.1", "::1"]));
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn both_families_are_asked_and_the_whole_answer_is_given() {
    let server = NameServer::start(|kind, _| match kind {
        1 => vec![Ipv4Addr::new(1, 1, 1, 1).into(), Ipv4Addr::new(10, 0, 0, 1).into()],
        _ => vec![Ipv6Addr::LOCALHOST.into()],
    })
    .await;
    let found = server.resolver.resolve("hooks.example.com").await;
    assert_eq!(found, addresses(&["1.1.1.1", "10.0.0.1", "::1"]));
    let mut asked = server.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, [("hooks.example.com".to_owned(), 1), ("hooks.example.com".to_owned(), 28)]);
}

#[tokio::test]
async fn every_lookup_asks_anew() {
    let server = NameServer::start(|kind, before| match (kind, before) {
        (1, 0) => vec![Ipv4Addr::new(1, 1, 1, 1).into()],
        (1, _) => vec![Ipv4Addr::LOCALHOST.into()],
        _ => vec![],
    })
    .await;
    assert_eq!(server.resolver.resolve("a.example.com").await, addresses(&["1.1.1.1"]));
    assert_eq!(server.resolver.resolve("a.example.com").await, addresses(&["127.0.0.1"]), "no cache");
}

#[tokio::test]
async fn no_search_domain_says_what_a_name_means() {
    let server = NameServer::start(|_, _| vec![]).await;
    assert_eq!(server.resolver.resolve("hooks").await, Resolution::Failed);
    let asked = server.asked.lock().unwrap().clone();
    assert!(!asked.is_empty() && asked.iter().all(|(name, _)| name == "hooks"), "{asked:?}");
}

#[tokio::test]
async fn a_list_knows_its_names_only() {
    let list = ["192.0.2.1".parse().unwrap(), "10.0.0.1".parse().unwrap()];
    let resolver = FixedResolver::new().with("a.example", list);
    assert_eq!(resolver.resolve("a.example").await, addresses(&["192.0.2.1", "10.0.0.1"]));
    assert_eq!(resolver.resolve("b.example").await, Resolution::Failed);
    assert_eq!(FixedResolver::new().with("c.example", []).resolve("c.example").await, Resolution::Failed);
}

#[tokio::test]
async fn an_impossible_name_does_not_resolve() {
    let server = NameServer::start(|_, _| vec![Ipv4Addr::new(1, 1, 1, 1).into()]).await;
    assert_eq!(server.resolver.resolve(&"a".repeat(64)).await, Resolution::Failed);
}
