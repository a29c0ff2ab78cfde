//! The parameters of a buffer that is charged to the links which packets came by, and of the pauses that these are sent:
//! those of "shared-buffer", and of the parts of a port that do the same.

use crate::spec::{Kind, Needs, Param, Value, Values, param};

/// How the buffer is shared out.
pub(in crate::queue) const MMU: Param = param! {
    "mmu" = "hpcc-ns3": Kind::Choice(&["hpcc-ns3", "conweave-ns3"]),
    "How the buffer is divided: by a threshold for each link and class, with headroom beyond it (HPCC), or by pools as in Broadcom's switches, with headroom once the whole pool is full (ConWeave, TLT).",
    "HPCC's and ConWeave's ns-3 simulators, switch-mmu.cc"
};

/// How large it is.
pub(in crate::queue) const BUFFER: Param = param! {
    "buffer" = "32MiB": Kind::Bytes,
    "The buffer of a switch.", "HPCC's run.py: 32 MiB for NICs of 100 Gb/s"
};

/// The classes that are paused.
pub(in crate::queue) const LOSSLESS: Param = param! {
    "lossless" = "[3]": Kind::List(&Kind::Count(1)),
    "The classes that are paused instead of dropped; packets of the others that do not fit are dropped. []: no PFC.",
    "HPCC's ns-3 simulator: data in class 3"; acts CARRIES
};

/// What is kept for what arrives after a pause.
pub(in crate::queue) const HEADROOM: Param = param! {
    "headroom": Kind::Bytes,
    "The buffer reserved for what arrives of each link's lossless class after it was paused; left out: as much as the link needs, and at least 3 times its rate times its delay for \"hpcc-ns3\".",
    "HPCC's ns-3 simulator, third.cc; the need: IEEE 802.1Q Annex N"
};

/// Whether that may be too little.
pub(in crate::queue) const UNSAFE_HEADROOM: Param = param! {
    "unsafe_headroom" = "false": Kind::Flag,
    "Allow less headroom than a link needs; what is lost is counted.", "packetloom"
};

/// What links may have of it, and when they are paused.
pub(in crate::queue) const SHARES: &[Param] = &[
    param! {
        "reserve": Kind::Bytes,
        "What each link may use in addition to the shared part; left out: 4096 B for \"hpcc-ns3\", a packet of 1048 B for each class for \"conweave-ns3\".",
        "HPCC's and ConWeave's ns-3 simulators"
    },
    HEADROOM,
    UNSAFE_HEADROOM,
    param! {
        "alpha": Kind::Number(0.000_1, 64.0),
        "A class of a link is paused when it has this times what is free of the shared part; left out: 1/8 for \"hpcc-ns3\", 1/16 for \"conweave-ns3\".",
        "HPCC's ns-3 simulator: a shift of 3; ConWeave's: 1/16"
    },
    param! {
        "alpha_by_rate": Kind::Flag,
        "Double alpha, up to 1, for each time that a link's rate is doubled from the hosts'; left out: with \"hpcc-ns3\" only.",
        "HPCC's ns-3 simulator, third.cc"
    },
    param! {
        "pause_above": Kind::Bytes,
        "Instead of alpha, a fixed threshold: a lossless class of a link is paused when it uses this much beyond its reserve, however much is free; sooner only if the shared part is full. Left out: by alpha.",
        "IEEE 802.1Qbb: thresholds are the switch's; htsim's lossless queues: 15 packets"
    },
    param! {
        "egress_alpha": Kind::Number(0.000_1, 1024.0),
        "A packet of a class that is not lossless is also dropped if its class at a port would have more than this times what is free. Left out: 1 for \"conweave-ns3\", no such limit for \"hpcc-ns3\".",
        "ConWeave's ns-3 simulator: 1"
    },
    param! {
        "egress_limits" = "lossy": Kind::Choice(&["lossy", "all"]),
        "What egress_alpha limits: the classes that are not lossless; or, to replay ConWeave's ns-3 simulator, all, so that lossless ones lose packets, too, and of the whole buffer but what each link may always use.",
        "ConWeave's ns-3 simulator, switch-mmu.cc: all"
    },
    param! {
        "resume_offset": Kind::Bytes,
        "A paused class resumes once it has this much less than what pauses it; left out: 3072 B for \"hpcc-ns3\", alpha times 16 B for \"conweave-ns3\".",
        "HPCC's and ConWeave's ns-3 simulators"
    },
];

/// How they are paused.
pub(in crate::queue) const FRAMES: &[Param] = &[
    param! {
        "pause_frame" = "64B": Kind::Bytes,
        "A PAUSE or RESUME on the wire.", "IEEE 802.3 Annex 31B: 64 B; HPCC's ns-3 simulator: 43 B"
    },
    param! {
        "pause_time": Kind::Time,
        "How long a PAUSE holds, in whole quanta of 512 bit times, of which a PAUSE can say 65535; it is repeated in time while the switch is short of buffer. Left out: until a RESUME.",
        "IEEE 802.1Qbb; HPCC's ns-3 simulator: until a RESUME"
    },
    param! {
        "pause_repeats" = "in-time": Kind::Choice(&["in-time", "arrivals"]),
        "When a PAUSE that ends after pause_time is repeated. Before it ends, as long as the switch is short of buffer; or, to replay ConWeave's ns-3 simulator, only with each packet that arrives meanwhile. A pause then expires where none arrives, and lossless classes may lose packets.",
        "packetloom; ConWeave's ns-3 simulator, switch-node.cc: arrivals"; acts &[Needs::Set("pause_time")]
    },
    param! {
        "watchdog": Kind::Time,
        "A class that a port has been kept from sending for this long is emptied: what waits, and what comes until it may be sent again, is dropped. Left out: never.",
        "SONiC: PFC watchdog, action drop"
    },
];

/// A class without data has nothing that could be dropped. Some transports give classes themselves.
pub(in crate::queue) const CARRIES: &[Needs] = &[Needs::That(
    |site| {
        let listed = |class: u64| site.own.list("lossless").iter().any(|one| one.as_count() == class);
        let of_workloads = || site.scene.workloads.iter().any(|source| listed(source.count("class")));
        let carries = |transport: &Values| {
            // Of a class in Python "class" is its name.
            let own = ["data_class", "class"].into_iter().find_map(|key| match transport.entries.get(key) {
                Some(&Value::Count(class)) => Some(class),
                _ => None,
            });
            let sorts = ["levels", "thresholds"].into_iter().any(|key| transport.has(key));
            sorts || own.map_or_else(of_workloads, listed)
        };
        let mut transports = site.scene.schemes.iter().filter_map(|scheme| scheme.part("transport"));
        site.own.list("lossless").is_empty() || transports.any(|transport| carries(&transport))
    },
    "no data is of these classes: their class is the transport's (class), or that of its source",
)];
