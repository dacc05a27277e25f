//! Which hosts count as one owner's where something is rationed: too coarse a group only shares a ration, so
//! that a short list of suffixes does where a full one would cost half a module.

/// Suffixes of two labels under which anybody may register or host, beside `co.uk` and its like.
const SHARED: [&str; 14] = [
    "appspot.com",
    "azurewebsites.net",
    "cloudfront.net",
    "deno.dev",
    "fly.dev",
    "github.io",
    "herokuapp.com",
    "netlify.app",
    "ngrok.app",
    "ngrok.io",
    "onrender.com",
    "pages.dev",
    "vercel.app",
    "workers.dev",
];

/// Second labels that stand for a kind of registrant under a country's domain.
const KINDS: [&str; 9] = ["ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"];

/// The part of a host's name that its owner registered; of an address, all of it.
pub fn registrable_domain(host: &str) -> &str {
    let host = host.trim_end_matches('.');
    if host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return host;
    }
    let cut = |labels: usize| {
        let mut dots = host.rmatch_indices('.').map(|(at, _)| at + 1);
        dots.nth(labels - 1).map_or(host, |from| &host[from..])
    };
    let pair = cut(2);
    let is_kind =
        pair.split_once('.').is_some_and(|(kind, country)| country.len() == 2 && KINDS.contains(&kind));
    if is_kind || SHARED.contains(&pair) { cut(3) } else { pair }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_to_what_its_owner_registered() {
        for (host, domain) in [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("hooks.example.co.uk", "example.co.uk"),
            ("example.co.uk", "example.co.uk"),
            ("x.acme.workers.dev", "acme.workers.dev"),
            ("acme.workers.dev", "acme.workers.dev"),
            ("hooks.example.de.", "example.de"),
            ("localhost", "localhost"),
            ("192.0.2.7", "192.0.2.7"),
            ("[2001:db8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }
}
