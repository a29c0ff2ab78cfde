//! Results as columns.

use crate::arrays::{Entry, array};
use packetloom::measure::{FlowRow, fingerprint};
use packetloom::narrow::exact;
use packetloom::queue::{Pause, PauseRecord};
use packetloom::simulation::{
    Bound as LinkBound, ClassSample, FlowSample, Outcome as Core, PathRow, PortRow, Timeline,
};
use packetloom::units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// What came of a run.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Outcome {
    core: Core,
    cpu_s: f64,
    wall_s: f64,
}

impl Outcome {
    pub fn new(core: Core, cpu_s: f64, wall_s: f64) -> Outcome {
        Outcome { core, cpu_s, wall_s }
    }
}

#[pymethods]
impl Outcome {
    #[getter]
    fn cancelled(&self) -> bool {
        self.core.cancelled
    }

    /// The invariant that was violated, if one was.
    #[getter]
    fn violation(&self) -> Option<String> {
        self.core.violation.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:016x}", fingerprint(&self.core.flows))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.core.warnings.clone()
    }

    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let core = &self.core;
        let flows = |of: fn(&FlowRow) -> u32| core.flows.iter().map(|row| u64::from(of(row))).sum::<u64>();
        let ports = |of: fn(&PortRow) -> u64| core.ports.iter().map(of).sum::<u64>();
        let counts = [
            ("packet_hops", core.tally.packet_hops),
            ("events", core.tally.events),
            ("drops", ports(|row| row.counters.drops)),
            ("marks", ports(|row| row.counters.marks)),
            ("trims", ports(|row| row.counters.trims)),
            ("returns", ports(|row| row.counters.returns)),
            ("corrupted", ports(|row| row.counters.corrupted)),
            ("lost", ports(|row| row.counters.lost)),
            ("replays", ports(|row| row.counters.replays)),
            (
                "pauses",
                ports(|row| {
                    row.pauses.iter().flat_map(|classes| classes.iter()).map(|class| class.pauses).sum()
                }),
            ),
            ("packets_sent", flows(|row| row.report.packets_sent)),
            ("retransmissions", flows(|row| row.report.retransmissions)),
            ("timeouts", flows(|row| row.report.timeouts)),
            ("flows_started", core.flows.len() as u64),
            ("flows_finished", flows(|row| u32::from(row.fct().is_some()))),
            ("flows_never_started", core.never_started),
            ("stalled", u64::from(core.stalled.is_some())),
        ];
        let counters = PyDict::new(py);
        for (name, count) in counts {
            counters.set_item(name, count)?;
        }
        // A case of packets has no such column.
        if core.is_estimated {
            counters.set_item("estimated", 1)?;
        }
        for (name, count) in &core.balancing {
            counters.set_item(name, count)?;
        }
        if let Some(control) = &core.control {
            let (traffic, seconds) = (control.traffic, core.simulated.as_secs_f64());
            counters.set_item("control_reports", traffic.reports)?;
            counters.set_item("control_grants", traffic.grants)?;
            counters.set_item("control_report_bytes_per_s", traffic.report_bytes as f64 / seconds)?;
            counters.set_item("control_grant_bytes_per_s", traffic.grant_bytes as f64 / seconds)?;
            if let Some(normalisations) = control.normalisations {
                counters.set_item("control_decisions", normalisations.decisions)?;
                counters.set_item("control_rounds", normalisations.rounds)?;
                counters.set_item("control_unsettled", normalisations.unsettled)?;
            }
            add_latencies(&counters, "server", &control.server_latencies_ps)?;
            add_latencies(&counters, "network", &control.network_latencies_ps)?;
        }
        counters.set_item("simulated_ns", core.simulated.as_ns_f64())?;
        counters.set_item("warm_up_ns", core.warm_up.as_ns_f64())?;
        counters.set_item("cpu_s", self.cpu_s)?;
        counters.set_item("wall_s", self.wall_s)?;
        Ok(counters)
    }

    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.flows, table: PyDict::new(py) };
        columns.add("flow_id", |row| row.flow.id)?;
        columns.add("src", |row| row.flow.src)?;
        columns.add("dst", |row| row.flow.dst)?;
        columns.add("size_bytes", |row| row.flow.size_bytes)?;
        columns.add("start_ns", |row| row.flow.start.as_ns_f64())?;
        columns.add("fct_ns", |row| row.fct().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("best_fct_ns", |row| row.best_fct.as_ns_f64())?;
        columns.add("slowdown", |row| row.slowdown().unwrap_or(f64::NAN))?;
        columns.add("sender_fct_ns", |row| row.sender_fct().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("goodput_gbps", |row| row.goodput_gbps().unwrap_or(f64::NAN))?;
        columns.add("deadline_ns", |row| row.deadline().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("met_deadline", FlowRow::met_deadline)?;
        columns.add("class", |row| row.flow.class)?;
        columns.add("source", |row| row.flow.source)?;
        columns.add("measured", |row| row.measured)?;
        columns.add("packets_sent", |row| row.report.packets_sent)?;
        columns.add("retransmissions", |row| row.report.retransmissions)?;
        columns.add("timeouts", |row| row.report.timeouts)?;
        columns.add("trimmed", |row| row.report.trims)?;
        columns.add("returned", |row| row.report.returns)?;
        columns.add("given_up", |row| row.report.given_up)?;
        if let Some(found) = &self.core.reordering {
            let of = |row: &FlowRow| found.get(&row.flow.id).copied().unwrap_or_default();
            columns.add("reordered", |row| of(row).packets)?;
            columns.add("reordering_extent", |row| of(row).most_packets)?;
            columns.add("reordering_bytes", |row| of(row).most_bytes)?;
            columns.add("path_changes", |row| of(row).path_changes)?;
        }
        Ok(columns.table)
    }

    #[getter]
    fn ports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let core = &self.core;
        let links = &core.topology.links;
        let columns = Columns { rows: &core.ports, table: PyDict::new(py) };
        columns.add("port", |row| exact::<u32>(row.link))?;
        columns.add_texts("node", |row| core.topology.node_name(links[row.link].src))?;
        columns.add_texts("peer", |row| core.topology.node_name(links[row.link].dst))?;
        columns.add_texts("tier", |row| {
            let tier = |node: u32| core.topology.tier_name(node);
            format!("{} to {}", tier(links[row.link].src), tier(links[row.link].dst))
        })?;
        columns.add("link_gbps", |row| links[row.link].rate.as_bps() as f64 / 1e9)?;
        columns.add("framing_bytes", |_| core.topology.framing_bytes)?;
        columns.add("tx_packets", |row| row.counters.packets)?;
        columns.add("tx_bytes", |row| row.counters.bytes)?;
        columns.add("utilisation", |row| core.utilisation(row))?;
        columns.add("drops", |row| row.counters.drops)?;
        columns.add("marks", |row| row.counters.marks)?;
        columns.add("trims", |row| row.counters.trims)?;
        columns.add("returns", |row| row.counters.returns)?;
        columns.add("corrupted", |row| row.counters.corrupted)?;
        columns.add("lost", |row| row.counters.lost)?;
        columns.add("replays", |row| row.counters.replays)?;
        let paused = |row: &PortRow, of: fn(&PauseRecord) -> u64| -> u64 {
            row.pauses.iter().flat_map(|classes| classes.iter()).map(of).sum()
        };
        columns.add("pauses", |row| paused(row, |class| class.pauses))?;
        columns.add("paused_ns", |row| paused(row, |class| class.paused.as_ps()) as f64 / 1e3)?;
        let watched = |row: &PortRow, of: fn(&packetloom::record::QueueRecorder) -> f64| {
            row.queue.as_ref().map_or(f64::NAN, of)
        };
        columns.add("queue_mean_bytes", |row| watched(row, |queue| queue.mean_bytes()))?;
        columns.add("queue_p99_bytes", |row| watched(row, |queue| queue.percentile_bytes(0.99) as f64))?;
        columns.add("queue_max_bytes", |row| watched(row, |queue| queue.largest_bytes() as f64))?;
        Ok(columns.table)
    }

    /// Samples of every port's queue, if an interval was set.
    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let samples: Vec<(u32, f64, u64, u64)> = self.core.samples().collect();
        let columns = Columns { rows: &samples, table: PyDict::new(py) };
        if !samples.is_empty() {
            columns.add("port", |row| row.0)?;
            columns.add("time_ns", |row| row.1)?;
            columns.add("queue_bytes", |row| row.2)?;
            columns.add("tx_bytes", |row| row.3)?;
        }
        Ok(columns.table)
    }

    /// Samples of every traffic class at every port, if an interval was set.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let samples: Vec<ClassSample> = self.core.class_samples().collect();
        let columns = Columns { rows: &samples, table: PyDict::new(py) };
        if !samples.is_empty() {
            let known = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64);
            columns.add("port", |row| row.port)?;
            columns.add("time_ns", |row| row.time_ns)?;
            columns.add("class", |row| row.class)?;
            columns.add("data_bytes", |row| row.data_bytes)?;
            columns.add("queue_bytes", |row| known(row.queue_bytes))?;
            columns.add("credit_bytes", |row| known(row.credit_bytes))?;
        }
        Ok(columns.table)
    }

    /// Samples of flows at their senders, if some were chosen.
    #[getter]
    fn flow_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let samples: Vec<FlowSample> = self.core.flow_series().collect();
        let columns = Columns { rows: &samples, table: PyDict::new(py) };
        if samples.is_empty() {
            return Ok(columns.table);
        }
        columns.add("flow_id", |row| row.flow)?;
        columns.add("time_ns", |row| row.at.as_ns_f64())?;
        columns.add("window_bytes", |row| row.window_bytes.unwrap_or(f64::NAN))?;
        columns.add("rate_gbps", |row| row.rate.map_or(f64::NAN, |rate| rate.as_bps() as f64 / 1e9))?;
        columns.add("rtt_ns", |row| row.rtt.map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("in_flight_bytes", |row| row.in_flight_bytes)?;
        columns.add("arrived_bytes", |row| row.arrived_bytes)?;
        columns.add("packets_sent", |row| row.report.packets_sent)?;
        columns.add("retransmissions", |row| row.report.retransmissions)?;
        columns.add("timeouts", |row| row.report.timeouts)?;
        columns.add("trimmed", |row| row.report.trims)?;
        Ok(columns.table)
    }

    /// Operations among hosts, a row for each time.
    #[getter]
    fn jobs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.jobs, table: PyDict::new(py) };
        if self.core.jobs.is_empty() {
            return Ok(columns.table);
        }
        columns.add("source", |row| row.source)?;
        columns.add("repetition", |row| row.repetition)?;
        columns.add_texts("name", |row| row.name.clone())?;
        columns.add_texts("operation", |row| row.operation.kind.name().to_owned())?;
        columns.add_texts("algorithm", |row| row.operation.algorithm_name().to_owned())?;
        columns.add_texts("library", |row| row.operation.library_name().to_owned())?;
        columns.add_texts("protocol", |row| row.operation.protocol_name().to_owned())?;
        columns.add("channels", |row| row.operation.channels())?;
        columns.add("model_ns", |row| row.operation.modelled().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add_texts("network", |row| row.network().to_owned())?;
        columns.add("ranks", |row| row.operation.ranks)?;
        columns.add("size_bytes", |row| row.operation.bytes)?;
        columns.add("start_ns", |row| ns(row.start))?;
        columns.add("jct_ns", |row| row.completion_time().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("algorithm_gbps", |row| row.algorithm_gbps().unwrap_or(f64::NAN))?;
        columns.add("bus_gbps", |row| row.bus_gbps().unwrap_or(f64::NAN))?;
        columns.add("last_start_ns", |row| ns(row.last_start))?;
        columns.add("last_rank", |row| row.last_rank)?;
        let link = |bound: &LinkBound| self.core.topology.link_name(bound.link);
        columns.add_texts("bound_link", |row| row.bound.as_ref().map_or_else(String::new, link))?;
        columns.add("bound_links", |row| row.bound.map_or(0, |bound| bound.alike))?;
        columns.add("bound_ns", |row| row.bound.map_or(f64::NAN, |bound| bound.takes.as_ns_f64()))?;
        Ok(columns.table)
    }

    /// Repetitions of jobs.
    #[getter]
    fn iterations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.iterations, table: PyDict::new(py) };
        if self.core.iterations.is_empty() {
            return Ok(columns.table);
        }
        columns.add("source", |row| row.source)?;
        columns.add("iteration", |row| row.iteration)?;
        columns.add("ranks", |row| row.ranks)?;
        columns.add("start_ns", |row| ns(row.start))?;
        columns.add("jct_ns", |row| row.took().map_or(f64::NAN, Time::as_ns_f64))?;
        columns.add("compute_ns", |row| row.compute.as_ns_f64())?;
        columns.add("communication_ns", |row| row.communication.as_ns_f64())?;
        columns.add("jct_ratio", |row| row.ratio().unwrap_or(f64::NAN))?;
        columns.add("overlap", |row| row.overlap().unwrap_or(f64::NAN))?;
        columns.add("alone_start_ns", |row| row.alone.map_or(f64::NAN, |(start, _)| start.as_ns_f64()))?;
        columns.add("alone_jct_ns", |row| row.alone.map_or(f64::NAN, |(_, took)| took.as_ns_f64()))?;
        columns.add("interference", |row| row.interference().unwrap_or(f64::NAN))?;
        columns.add("last_rank", |row| row.last_rank)?;
        Ok(columns.table)
    }

    /// Requests to a model that is served.
    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.requests, table: PyDict::new(py) };
        if self.core.requests.is_empty() {
            return Ok(columns.table);
        }
        let known = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
        let instance = |one: Option<u32>| one.map_or(-1, i64::from);
        columns.add("source", |row| row.source)?;
        columns.add("request", |row| row.request)?;
        columns.add("arrival_ns", |row| ns(row.course.arrival))?;
        columns.add("prompt_tokens", |row| row.tokens.0)?;
        columns.add("answer_tokens", |row| row.tokens.1)?;
        columns.add("cache_bytes", |row| row.cache_bytes)?;
        columns.add("prefill_instance", |row| instance(row.course.prefill))?;
        columns.add("decode_instance", |row| instance(row.course.decode))?;
        columns.add("prefill_start_ns", |row| ns(row.course.prefilled.0))?;
        columns.add("prefill_end_ns", |row| ns(row.course.prefilled.1))?;
        columns.add("cache_start_ns", |row| ns(row.course.moved.0))?;
        columns.add("cache_end_ns", |row| ns(row.course.moved.1))?;
        columns.add("ttft_ns", |row| known(row.course.ttft()))?;
        columns.add("tbt_mean_ns", |row| row.mean_gap_ns(&row.course).unwrap_or(f64::NAN))?;
        columns.add("tbt_max_ns", |row| known(row.longest_gap(&row.course)))?;
        columns.add("latency_ns", |row| known(row.course.took()))?;
        columns.add("queued_ns", |row| known(row.course.queued()))?;
        columns.add("computing_ns", |row| row.course.compute.as_ns_f64())?;
        columns.add("network_ns", |row| row.course.network.as_ns_f64())?;
        columns.add("free_ttft_ns", |row| known(row.free.ttft()))?;
        columns.add("free_tbt_mean_ns", |row| row.mean_gap_ns(&row.free).unwrap_or(f64::NAN))?;
        columns.add("free_tbt_max_ns", |row| known(row.longest_gap(&row.free)))?;
        columns.add("free_latency_ns", |row| known(row.free.took()))?;
        columns.add("measured", |row| row.measured)?;
        Ok(columns.table)
    }

    /// Ranks, repetition by repetition.
    #[getter]
    fn ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.ranks, table: PyDict::new(py) };
        if self.core.ranks.is_empty() {
            return Ok(columns.table);
        }
        columns.add("source", |row| row.source)?;
        columns.add("iteration", |row| row.iteration)?;
        columns.add("rank", |row| row.rank)?;
        columns.add("start_ns", |row| ns(row.start))?;
        columns.add("end_ns", |row| ns(row.end))?;
        columns.add("computed_ns", |row| row.computed.as_ns_f64())?;
        columns.add("last_in", |row| row.last_in)?;
        columns.add("delayed_ns", |row| row.delayed.as_ns_f64())?;
        Ok(columns.table)
    }

    /// What each repetition waited for from its beginning to its end, if that was measured.
    #[getter]
    fn critical_path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.critical_path, table: PyDict::new(py) };
        if self.core.critical_path.is_empty() {
            return Ok(columns.table);
        }
        let busiest = |row: &PathRow| row.message.and_then(|message| message.busiest);
        let link = |row: &PathRow| busiest(row).map(|(link, _)| self.core.topology.link_name(link));
        columns.add("source", |row| row.source)?;
        columns.add("iteration", |row| row.iteration)?;
        columns.add("step", |row| row.step)?;
        columns.add_texts("spent_on", |row| row.spent.name().to_owned())?;
        columns.add("rank", |row| row.rank)?;
        columns.add("place", |row| row.place)?;
        columns.add_texts("name", |row| row.name.clone())?;
        columns.add("start_ns", |row| ns(row.start))?;
        columns.add("end_ns", |row| ns(row.end))?;
        columns.add("message_from", |row| row.message.map_or(-1, |message| i64::from(message.from)))?;
        columns.add("flow_id", |row| row.message.and_then(|message| message.flow).map_or(-1, i64::from))?;
        columns.add("size_bytes", |row| row.message.map_or(0, |message| message.bytes))?;
        columns.add("alone_ns", |row| row.message.map_or(f64::NAN, |message| message.alone.as_ns_f64()))?;
        columns.add_texts("link", |row| link(row).unwrap_or_default())?;
        columns.add("link_used", |row| busiest(row).map_or(f64::NAN, |(_, share)| share))?;
        Ok(columns.table)
    }

    /// What every rank did, if that was measured.
    #[getter]
    fn operations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns { rows: &self.core.operations, table: PyDict::new(py) };
        if self.core.operations.is_empty() {
            return Ok(columns.table);
        }
        columns.add("source", |row| row.source)?;
        columns.add("rank", |row| row.rank)?;
        columns.add("iteration", |row| row.span.iteration)?;
        columns.add("place", |row| row.span.place)?;
        columns.add_texts("name", |row| row.name.clone())?;
        columns.add_texts("kind", |row| row.kind.to_owned())?;
        columns.add("stream", |row| row.stream.map_or(-1, i32::from))?;
        columns.add("ready_ns", |row| ns(row.span.ready))?;
        columns.add("begin_ns", |row| ns(row.span.begin))?;
        columns.add("end_ns", |row| ns(row.span.end))?;
        columns.add("after", |row| row.span.after.map_or(-1, i64::from))?;
        columns.add("message_from", |row| row.message_from.map_or(-1, i64::from))?;
        Ok(columns.table)
    }

    /// What every rank did, repetition by repetition, for Perfetto and Chrome.
    #[getter]
    fn timelines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.core.timelines;
        let columns = Columns { rows, table: PyDict::new(py) };
        if !rows.is_empty() {
            columns.add("source", |row| row.source)?;
            columns.add("iteration", |row| row.iteration)?;
            let files: Vec<_> = rows.iter().map(|row| PyBytes::new(py, &row.chrome)).collect();
            columns.table.set_item("chrome_trace", files)?;
        }
        Ok(columns.table)
    }

    /// The same as Chakra traces, a row for each rank.
    #[getter]
    fn traces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut rows: Vec<(u8, u32, u32, &[u8], &str)> = Vec::new();
        for Timeline { source, iteration, chakra, groups, .. } in &self.core.timelines {
            let of_rank = |rank: u32| if rank == 0 { groups.as_str() } else { "" };
            let files = (0..).zip(chakra);
            rows.extend(files.map(|(rank, file)| (*source, *iteration, rank, &file[..], of_rank(rank))));
        }
        let columns = Columns { rows: &rows, table: PyDict::new(py) };
        if !rows.is_empty() {
            columns.add("source", |row| row.0)?;
            columns.add("iteration", |row| row.1)?;
            columns.add("rank", |row| row.2)?;
            let files: Vec<_> = rows.iter().map(|row| PyBytes::new(py, row.3)).collect();
            columns.table.set_item("chakra", files)?;
            let groups: Vec<&str> = rows.iter().map(|row| row.4).collect();
            columns.table.set_item("groups", groups)?;
        }
        Ok(columns.table)
    }

    /// The packets of the ports that were to be captured: one pcapng file, if there were any.
    #[getter]
    fn captures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        if !self.core.captures.is_empty() {
            table.set_item("pcapng", vec![PyBytes::new(py, &self.core.pcapng())])?;
        }
        Ok(table)
    }

    /// Every pause of a class at a port, if they were to be kept.
    #[getter]
    fn pauses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pauses: Vec<(u32, u8, Pause)> = self.core.pauses().collect();
        let columns = Columns { rows: &pauses, table: PyDict::new(py) };
        if !pauses.is_empty() {
            columns.add("port", |row| row.0)?;
            columns.add("class", |row| row.1)?;
            columns.add("from_ns", |row| row.2.from.as_ns_f64())?;
            columns.add("until_ns", |row| row.2.until.as_ns_f64())?;
            columns.add("origin_port", |row| row.2.origin.link)?;
            columns.add("passed_on", |row| row.2.origin.passed_on)?;
        }
        Ok(columns.table)
    }

    /// Samples of every host's pull queue, if an interval was set and the transport has such queues.
    #[getter]
    fn pulls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let samples: Vec<(u32, f64, u64)> = self.core.pull_samples().collect();
        let columns = Columns { rows: &samples, table: PyDict::new(py) };
        if !samples.is_empty() {
            columns.add("host", |row| row.0)?;
            columns.add("time_ns", |row| row.1)?;
            columns.add("pulls", |row| row.2)?;
        }
        Ok(columns.table)
    }
}

/// Mean and percentiles of latencies in increasing order.
fn add_latencies(counters: &Bound<'_, PyDict>, where_spent: &str, sorted_ps: &[u64]) -> PyResult<()> {
    if sorted_ps.is_empty() {
        return Ok(());
    }
    let sum_ps: u128 = sorted_ps.iter().map(|&ps| u128::from(ps)).sum();
    counters
        .set_item(format!("{where_spent}_latency_mean_ns"), sum_ps as f64 / sorted_ps.len() as f64 / 1e3)?;
    for percentile in [1, 10, 25, 50, 75, 90, 99] {
        let place = (sorted_ps.len() - 1) * percentile / 100;
        let name = format!("{where_spent}_latency_p{percentile}_ns");
        counters.set_item(name, sorted_ps[place] as f64 / 1e3)?;
    }
    Ok(())
}

/// Rows on their way to columns.
struct Columns<'py, 'a, R> {
    rows: &'a [R],
    table: Bound<'py, PyDict>,
}

impl<R> Columns<'_, '_, R> {
    fn add<E: Entry>(&self, name: &str, of: impl Fn(&R) -> E) -> PyResult<()> {
        let column = array(self.table.py(), self.rows.iter().map(of))?;
        self.table.set_item(name, column)
    }

    fn add_texts(&self, name: &str, of: impl Fn(&R) -> String) -> PyResult<()> {
        self.table.set_item(name, self.rows.iter().map(of).collect::<Vec<_>>())
    }
}

/// A time in ns; not a number for one that never comes.
fn ns(time: Time) -> f64 {
    if time == Time::NEVER { f64::NAN } else { time.as_ns_f64() }
}
