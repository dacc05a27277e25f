//! `challenge answer`: what the endpoint would answer, and only to a challenge that verifies.

use hookproof_verify::{Message, Request};

use crate::Stop;
use crate::arguments::ChallengeAnswer;
use crate::material;
use crate::output::Output;

/// Prints the answer.
pub(crate) fn answer(arguments: &ChallengeAnswer) -> Result<bool, Stop> {
    let subscriber = material::subscriber(&arguments.entry)?;
    let received = &arguments.received;
    let message = material::Message::read(received)?;
    let target = received.target.as_deref().unwrap_or_else(|| subscriber.public_url());
    let headers = message.headers.iter().map(|(name, value)| (name, value));
    let request = Request::new(&received.method, target, headers, &message.body);
    let answer = match subscriber.receive(&request, message.now) {
        Ok(Message::Challenge { answer }) => answer,
        Ok(Message::Delivery(_)) => {
            let what =
                "message.delivery: the message verifies, but it is a delivery; there is nothing to answer";
            return Err(Stop::Refused(what.to_owned()));
        }
        Err(failure) => return Err(Stop::Refused(failure.to_string())),
    };
    let mut output = Output::new(false);
    output.text(&String::from_utf8_lossy(&answer))?;
    output.text("\n")?;
    output.finish()?;
    Ok(true)
}
