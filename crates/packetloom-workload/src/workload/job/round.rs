//! A collective operation whose stages are alike.

/// How far ranks are with a collective operation, of which one stage is like the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The job's source.
    pub source: u8,
    /// In which repetition.
    pub iteration: u32,
    /// Which exchange it is.
    pub exchange: u32,
    /// In how many stages any of its lanes has yet to send, at least.
    pub left: u32,
}

impl Round {
    /// Of these ranks and others together; nothing if they are in different operations.
    pub fn with(self, other: Round) -> Option<Round> {
        let Round { source, iteration, exchange, left } = other;
        let is_same = (source, iteration, exchange) == (self.source, self.iteration, self.exchange);
        is_same.then(|| Round { left: left.min(self.left), ..self })
    }
}
