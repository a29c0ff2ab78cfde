//! The parameters of a buffer that is charged to the links which packets came by, and of the pauses that these are sent:
//! those of "shared-buffer", and of the parts of a port that do the same.

use crate::spec::{ALWAYS, Fallback, Kind, Needs, Param, Value, Values};

/// How the buffer is shared out.
pub(in crate::queue) const MMU: Param = Param {
    name: "mmu",
    kind: Kind::Choice(&["hpcc-ns3", "conweave-ns3"]),
    default: Fallback::Value("hpcc-ns3"),
    doc: "How the buffer is divided: by a threshold for each link and class, with headroom beyond it (HPCC), or by pools as in Broadcom's switches, with headroom once the whole pool is full (ConWeave, TLT).",
    source: "HPCC's and ConWeave's ns-3 simulators, switch-mmu.cc",
    acts: ALWAYS,
};

/// How large it is.
pub(in crate::queue) const BUFFER: Param = Param {
    name: "buffer",
    kind: Kind::Bytes,
    default: Fallback::Value("32MiB"),
    doc: "The buffer of a switch.",
    source: "HPCC's run.py: 32 MiB for NICs of 100 Gb/s",
    acts: ALWAYS,
};

/// The classes that are paused.
pub(in crate::queue) const LOSSLESS: Param = Param {
    name: "lossless",
    kind: Kind::List(&Kind::Count(1)),
    default: Fallback::Value("[3]"),
    doc: "The classes that are paused instead of dropped; packets of the others that do not fit are dropped. []: no PFC.",
    source: "HPCC's ns-3 simulator: data in class 3",
    acts: CARRIES,
};

/// What links may have of it, and when they are paused.
pub(in crate::queue) const SHARES: &[Param] = &[
    Param {
        name: "reserve",
        kind: Kind::Bytes,
        default: Fallback::Absent,
        doc: "What each link may use in addition to the shared part; left out: 4096 B for \"hpcc-ns3\", a packet of 1048 B for each class for \"conweave-ns3\".",
        source: "HPCC's and ConWeave's ns-3 simulators",
        acts: ALWAYS,
    },
    Param {
        name: "headroom",
        kind: Kind::Bytes,
        default: Fallback::Absent,
        doc: "The buffer reserved for what arrives of each link's lossless class after it was paused; left out: as much as the link needs, and at least 3 times its rate times its delay for \"hpcc-ns3\".",
        source: "HPCC's ns-3 simulator, third.cc; the need: IEEE 802.1Q Annex N",
        acts: ALWAYS,
    },
    Param {
        name: "unsafe_headroom",
        kind: Kind::Flag,
        default: Fallback::Value("false"),
        doc: "Allow less headroom than a link needs; what is lost is counted.",
        source: "packetloom",
        acts: ALWAYS,
    },
    Param {
        name: "alpha",
        kind: Kind::Number(0.000_1, 64.0),
        default: Fallback::Absent,
        doc: "A class of a link is paused when it has this times what is free of the shared part; left out: 1/8 for \"hpcc-ns3\", 1/16 for \"conweave-ns3\".",
        source: "HPCC's ns-3 simulator: a shift of 3; ConWeave's: 1/16",
        acts: ALWAYS,
    },
    Param {
        name: "alpha_by_rate",
        kind: Kind::Flag,
        default: Fallback::Absent,
        doc: "Double alpha, up to 1, for each time that a link's rate is doubled from the hosts'; left out: with \"hpcc-ns3\" only.",
        source: "HPCC's ns-3 simulator, third.cc",
        acts: ALWAYS,
    },
    Param {
        name: "pause_above",
        kind: Kind::Bytes,
        default: Fallback::Absent,
        doc: "Instead of alpha, a fixed threshold: a lossless class of a link is paused when it uses this much beyond its reserve, however much is free; sooner only if the shared part is full. Left out: by alpha.",
        source: "IEEE 802.1Qbb: thresholds are the switch's; htsim's lossless queues: 15 packets",
        acts: ALWAYS,
    },
    Param {
        name: "egress_alpha",
        kind: Kind::Number(0.000_1, 1024.0),
        default: Fallback::Absent,
        doc: "A packet of a class that is not lossless is also dropped if its class at a port would have more than this times what is free. Left out: 1 for \"conweave-ns3\", no such limit for \"hpcc-ns3\".",
        source: "ConWeave's ns-3 simulator: 1",
        acts: ALWAYS,
    },
    Param {
        name: "egress_limits",
        kind: Kind::Choice(&["lossy", "all"]),
        default: Fallback::Value("lossy"),
        doc: "What egress_alpha limits: the classes that are not lossless; or, to replay ConWeave's ns-3 simulator, all, so that lossless ones lose packets, too, and of the whole buffer but what each link may always use.",
        source: "ConWeave's ns-3 simulator, switch-mmu.cc: all",
        acts: ALWAYS,
    },
    Param {
        name: "resume_offset",
        kind: Kind::Bytes,
        default: Fallback::Absent,
        doc: "A paused class resumes once it has this much less than what pauses it; left out: 3072 B for \"hpcc-ns3\", alpha times 16 B for \"conweave-ns3\".",
        source: "HPCC's and ConWeave's ns-3 simulators",
        acts: ALWAYS,
    },
];

/// How they are paused.
pub(in crate::queue) const FRAMES: &[Param] = &[
    Param {
        name: "pause_frame",
        kind: Kind::Bytes,
        default: Fallback::Value("64B"),
        doc: "A PAUSE or RESUME on the wire.",
        source: "IEEE 802.3 Annex 31B: 64 B; HPCC's ns-3 simulator: 43 B",
        acts: ALWAYS,
    },
    Param {
        name: "pause_time",
        kind: Kind::Time,
        default: Fallback::Absent,
        doc: "How long a PAUSE holds, in whole quanta of 512 bit times, of which a PAUSE can say 65535; it is repeated in time while the switch is short of buffer. Left out: until a RESUME.",
        source: "IEEE 802.1Qbb; HPCC's ns-3 simulator: until a RESUME",
        acts: ALWAYS,
    },
    Param {
        name: "pause_repeats",
        kind: Kind::Choice(&["in-time", "arrivals"]),
        default: Fallback::Value("in-time"),
        doc: "When a PAUSE that ends after pause_time is repeated. Before it ends, as long as the switch is short of buffer; or, to replay ConWeave's ns-3 simulator, only with each packet that arrives meanwhile. A pause then expires where none arrives, and lossless classes may lose packets.",
        source: "packetloom; ConWeave's ns-3 simulator, switch-node.cc: arrivals",
        acts: &[Needs::Set("pause_time")],
    },
    Param {
        name: "watchdog",
        kind: Kind::Time,
        default: Fallback::Absent,
        doc: "A class that a port has been kept from sending for this long is emptied: what waits, and what comes until it may be sent again, is dropped. Left out: never.",
        source: "SONiC: PFC watchdog, action drop",
        acts: ALWAYS,
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
