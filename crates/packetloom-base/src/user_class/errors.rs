//! What a method of a class that users write can do wrong, and what the run says of it.

use super::Exception;
use crate::units::Rate;

/// What a window was set to that can't be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowError {
    /// Not a number.
    NoNumber,
    /// Zero packets or fewer.
    Zero,
    /// More than it may ever be.
    TooLarge {
        /// So many.
        packets: u64,
        /// And the limit.
        largest: u64,
    },
    /// The slow-start threshold is negative or not a number.
    Threshold,
    /// The pacing rate beside it is negative or not a number.
    Pacing,
}

impl std::fmt::Display for WindowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WindowError::NoNumber => write!(f, "set the window to what is not a number"),
            WindowError::Zero => write!(f, "set the window to zero packets or fewer; write more than 0"),
            WindowError::TooLarge { packets, largest } => {
                write!(f, "set the window to {packets} packets, and it may be {largest} at most")
            }
            WindowError::Threshold => {
                write!(f, "set ssthresh to what is negative or not a number; write 0 or more")
            }
            WindowError::Pacing => {
                write!(
                    f,
                    "set pacing_rate_bps to what is negative or not a number; write 0 for no pacing, or more"
                )
            }
        }
    }
}

/// What a rate can't be, or the window beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateError {
    /// It is not a number.
    NoNumber,
    /// It is less than a bit per second.
    Zero,
    /// It is above the link's.
    TooLarge {
        /// What that is.
        line_rate: Rate,
    },
    /// No byte may be in flight.
    Window,
}

impl std::fmt::Display for RateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RateError::NoNumber => write!(f, "set the rate to what is not a number"),
            RateError::Zero => write!(f, "set the rate below 1 bit per second; write more"),
            RateError::TooLarge { line_rate } => {
                write!(f, "set the rate above the link's {line_rate}; write pace.line_rate_bps at most")
            }
            RateError::Window => write!(f, "set the window to zero bytes or fewer; write at least 1"),
        }
    }
}

/// What of a packet's labels can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelError {
    /// Its traffic class.
    Class {
        /// What it was set to.
        class: i64,
        /// How many classes there are.
        classes: u16,
    },
    /// Its priority.
    Priority(i64),
}

impl std::fmt::Display for LabelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LabelError::Class { class, classes: 0 } => {
                write!(f, "set the traffic class to {class}, and the class has none; write classes = 2")
            }
            LabelError::Class { class, classes } => {
                let last = classes - 1;
                write!(
                    f,
                    "set the traffic class to {class}; write 0 to {last}, or declare more than classes = {classes}"
                )
            }
            LabelError::Priority(priority) => {
                write!(f, "set the priority to {priority}; write 0 to {}", u32::MAX)
            }
        }
    }
}

/// What a scheme that is not packetloom's own may do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// A congestion window.
    Window(WindowError),
    /// A rate.
    Rate(RateError),
    /// What its packets carry.
    Label(LabelError),
    /// A method raised an exception.
    Exception,
    /// A method chose what there is not.
    Outside {
        /// What it was to choose.
        what: &'static str,
        /// What it chose.
        number: i64,
        /// How many there are, counted from 0.
        count: i64,
    },
    /// A method dropped from a lane that there is not.
    NoLane {
        /// Which it named.
        number: i64,
        /// How many there are, counted from 0.
        count: i64,
    },
}

impl From<Exception> for SchemeError {
    fn from(_: Exception) -> SchemeError {
        SchemeError::Exception
    }
}

impl From<WindowError> for SchemeError {
    fn from(error: WindowError) -> SchemeError {
        SchemeError::Window(error)
    }
}

impl From<RateError> for SchemeError {
    fn from(error: RateError) -> SchemeError {
        SchemeError::Rate(error)
    }
}

impl std::fmt::Display for SchemeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SchemeError::Window(error) => error.fmt(f),
            SchemeError::Rate(error) => error.fmt(f),
            SchemeError::Label(error) => error.fmt(f),
            SchemeError::Exception => {
                write!(f, "raised an exception; look for an index that is out of range")
            }
            SchemeError::Outside { what, number, count } => {
                write!(f, "returned {number}, which is no {what}; return one from 0 to {}", count - 1)
            }
            SchemeError::NoLane { number, count } => {
                write!(f, "dropped from {number}, which is no lane; name one from 0 to {}", count - 1)
            }
        }
    }
}

/// What a class that is not packetloom's own did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlError {
    /// The class.
    pub class: &'static str,
    /// Which of its methods.
    pub method: &'static str,
    /// What it left behind.
    pub error: SchemeError,
}

impl ControlError {
    /// The part of a scheme that the class is, by which of its methods this was.
    pub fn key(&self) -> &'static str {
        match self.method {
            "arrives" | "next" | "leaves" => "scheme.queue",
            "choose" | "judged" => "scheme.routing",
            _ => "scheme.transport",
        }
    }
}

impl std::fmt::Display for ControlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} {}", self.class, self.method, self.error)
    }
}
