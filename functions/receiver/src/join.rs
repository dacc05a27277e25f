//! Several futures at a time, without an executor of our own.

use std::future::poll_fn;
use std::task::Poll;

/// Runs all of `futures` side by side; the outputs stand in their order.
pub(crate) async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut slots: Vec<_> = futures.into_iter().map(|future| (Some(Box::pin(future)), None)).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, output) in &mut slots {
            let Some(running) = future else { continue };
            match running.as_mut().poll(context) {
                Poll::Ready(value) => (*output, *future) = (Some(value), None),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    slots.into_iter().filter_map(|(_, output)| output).collect()
}
