use super::*;
use crate::formats::At;
use crate::job::{Collective, Dependency, Operation, Rank, Sizes, Span, Work};
use crate::units::Time;

/// The smallest trace: all-reduce of 1 MiB among four, as Chakra's generator writes it, byte by byte.
const ALL_REDUCE: &[u8] = b"\x07\x0a\x050.0.4\
    \x48\x12\x14all_reduce_4npus_1MB\x18\x07\
    \x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00\
    \x52\x0d\x0a\x09comm_type\x48\x00\
    \x52\x0f\x0a\x09comm_size\x48\x80\x80\x40";

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn integer(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// An attribute whose value is written by `value`.
fn attribute(name: &str, value: Vec<u8>) -> Vec<u8> {
    field(10, &[field(1, name.as_bytes()), value].concat())
}

/// An attribute of the kind int64.
fn int64(name: &str, value: u64) -> Vec<u8> {
    attribute(name, integer(9, value))
}

/// A node with an id, a type and more fields.
fn node(id: u64, kind: u64, more: &[Vec<u8>]) -> Vec<u8> {
    [integer(1, id), integer(3, kind), more.concat()].concat()
}

fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
    let messages = nodes.iter().map(|node| [varint(node.len() as u64), node.clone()].concat());
    [vec![0], messages.collect::<Vec<_>>().concat()].concat()
}

fn read_all(files: Vec<Vec<u8>>, options: &Options) -> Result<(Program, Report), String> {
    read_named(files, "et", options)
}

fn read_named(files: Vec<Vec<u8>>, extension: &str, options: &Options) -> Result<(Program, Report), String> {
    let ranks = files.len() as u32;
    let name = |rank| format!("t.{rank}.{extension}");
    let sources = files.into_iter().zip(0..).map(|(content, rank)| Ok(Source { name: name(rank), content }));
    read("t", ranks, sources, &Groups::new(), options).map_err(|error| error.to_string())
}

/// Two ranks, the second with nothing to do.
fn one(nodes: &[Vec<u8>]) -> Result<Program, String> {
    read_all(vec![file(nodes), file(&[])], &Options::default()).map(|(program, _)| program)
}

fn collective(operation: Collective, group: u32, bytes: u64) -> Work {
    Work::Collective { operation, group, sizes: Sizes::Whole(bytes) }
}

#[test]
fn the_smallest_trace_is_read_and_written() {
    assert_eq!(ALL_REDUCE.len(), 81);
    let (program, report) = read_all(vec![ALL_REDUCE.to_vec(); 4], &Options::default()).expect("sound files");
    assert_eq!(program.groups, [[0, 1, 2, 3]]);
    for rank in &program.ranks {
        let operation =
            Operation { work: collective(Collective::AllReduce, 0, 1 << 20), stream: Some(2), name: 0 };
        assert_eq!(rank.operations(), [operation]);
    }
    assert_eq!(report.to_string(), "ranks 0 to 3: 1 nodes, 1 all-reduce\n");
    let written = write(&program, &[]).expect("a program of collectives");
    assert_eq!(written.groups, None);
    let said = b"\x2a\x0a\x050.0.4\x12\x21\x0a\x10packetloom_sends\xea\x01\x0cacknowledged";
    assert_eq!(written.files, vec![[&said[..], &ALL_REDUCE[8..]].concat(); 4]);
    assert_eq!(read_back(written), program);
}

#[test]
fn packed_files_are_unpacked() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, ALL_REDUCE).expect("room");
    let packed = encoder.finish().expect("room");
    let options = Options::default();
    assert_eq!(read_all(vec![packed.clone(); 4], &options), read_all(vec![ALL_REDUCE.to_vec(); 4], &options));
    let error = read_all(vec![packed[..40].to_vec()], &options).expect_err("a cut file");
    assert!(error.starts_with("t.0.et: it is packed by gzip, but "), "{error}");
}

#[test]
fn attributes_of_any_integer_kind_are_read() {
    let fixed32 = |field: u64, value: u32| [varint(field << 3 | 5), value.to_le_bytes().to_vec()].concat();
    let fixed64 = |field: u64, value: u64| [varint(field << 3 | 1), value.to_le_bytes().to_vec()].concat();
    let kinds = [7, 9, 11, 13].map(|kind| integer(kind, 300)).into_iter();
    let kinds = kinds.chain([15, 17].map(|kind| integer(kind, 600)));
    let kinds = kinds.chain([fixed32(19, 300), fixed64(21, 300), fixed32(23, 300), fixed64(25, 300)]);
    for size in kinds {
        let program = one(&[
            node(
                1,
                7,
                &[
                    int64("comm_type", 0),
                    attribute("comm_size", size.clone()),
                    attribute("pg_name", field(29, b"0")),
                ],
            ),
            groups_node(r#"[{"pg_name": "0", "ranks": [0]}]"#),
        ]);
        let program = program.expect("a sound file");
        assert_eq!(
            program.ranks[0].operations()[0].work,
            collective(Collective::AllReduce, 0, 300),
            "{size:?}"
        );
    }
}

/// A METADATA node with process groups.
fn groups_node(groups: &str) -> Vec<u8> {
    node(99, 1, &[field(8, &field(1, groups.as_bytes()))])
}

#[test]
fn process_groups_are_those_of_nodes_or_of_a_file() {
    let call = |name: &str| {
        node(
            1,
            7,
            &[
                int64("comm_type", 5),
                int64("comm_size", 64),
                attribute("pg_name", field(29, name.as_bytes())),
            ],
        )
    };
    // As the converter writes them, which prints a Python list; and "7" stands for others at each pair of ranks.
    let own = |ranks: &str| {
        format!("['[{{\"pg_name\": \"7\", \"ranks\": {ranks}}}, {{\"pg_name\": \"d\", \"ranks\": []}}]']")
    };
    let with = |name: &str, ranks: &str| file(&[groups_node(&own(ranks)), call(name)]);
    let files = vec![with("7", "[1, 0]"), with("7", "[1, 0]"), with("7", "[2, 3]"), with("7", "[2, 3]")];
    let (program, _) = read_all(files, &Options::default()).expect("sound files");
    assert_eq!(program.groups, [[1, 0], [2, 3]]);
    assert_eq!(program.ranks[3].operations()[1].work, collective(Collective::Broadcast, 1, 64));
    assert_eq!(program.ranks[3].operations()[0].stream, None);
    let (program, _) = read_all(vec![with("d", "[0]"); 3], &Options::default()).expect("sound files");
    assert_eq!(program.groups, [[0, 1, 2]]);

    let groups = read_groups(br#"{"4": [0, 1], "5": [1]}"#).expect("a sound file");
    let sources = |name: &'static str| {
        (0..2).map(move |rank| Ok(Source { name: format!("t.{rank}.et"), content: file(&[call(name)]) }))
    };
    let (program, _) = read("t", 2, sources("4"), &groups, &Options::default()).expect("sound files");
    assert_eq!(program.groups, [[0, 1]]);
    let refused =
        |name| read("t", 2, sources(name), &groups, &Options::default()).expect_err(name).to_string();
    assert_eq!(refused("5"), "t.0.et: at byte 2: node 1: rank 0 is not in process group \"5\"");
    assert_eq!(
        refused("6"),
        "t.0.et: at byte 2: node 1: no METADATA node says who is in process group \"6\"; write groups = \"FILE\", a file of groups that does"
    );
    let wrong = read_groups(b"{\"4\": 7}").expect_err("no list");
    assert_eq!(wrong, FileError::whole("write groups by name with their ranks, as in {\"0\": [0, 1, 2, 3]}"));
    assert_eq!(read_groups(b"{\n\"4\": 7").expect_err("cut").at, At::Line(2));
}

#[test]
fn the_size_of_an_all_gather_is_what_the_option_says() {
    let gather = file(&[node(1, 7, &[int64("comm_type", 2), int64("comm_size", 100)])]);
    for (all_gather_size, bytes) in [(AllGatherSize::Total, 100), (AllGatherSize::PerRank, 400)] {
        let options = Options { all_gather_size, ..Options::default() };
        let (program, _) = read_all(vec![gather.clone(); 4], &options).expect("sound files");
        assert_eq!(program.ranks[2].operations()[0].work, collective(Collective::AllGather, 0, bytes));
    }
}

#[test]
fn nodes_have_the_streams_of_astra_sim() {
    let cpu = |value| attribute("is_cpu_op", integer(27, value));
    let nodes = [
        node(1, 4, &[integer(7, 3), cpu(1)]),
        node(2, 4, &[integer(7, 4), cpu(0), field(5, &[1]), integer(4, 1)]),
        node(3, 2, &[integer(7, 5), cpu(0), field(4, &[1, 2])]),
        node(4, 4, &[integer(7, 6)]),
    ];
    let program = one(&nodes).expect("a sound file");
    let rank = &program.ranks[0];
    let work = |micros| Work::Compute { duration: Time::from_us(micros) };
    let expected = [(work(3), 0), (work(4), 1), (work(5), 2), (work(6), 1)];
    let found: Vec<_> = rank.operations().iter().map(|one| (one.work, one.stream.unwrap_or(9))).collect();
    assert_eq!(found, expected);
    // By control and by data: once.
    assert_eq!(rank.dependencies(1), [Dependency::on_end(0)]);
    assert_eq!(rank.dependencies(2), [Dependency::on_end(0), Dependency::on_end(1)]);
    let options = Options { is_cpu_op: true, ..Options::default() };
    let (program, _) = read_all(vec![file(&nodes)], &options).expect("a sound file");
    assert_eq!(program.ranks[0].operations()[3].stream, Some(0));
}

fn spans(program: &Program) -> Vec<Span> {
    let mut spans = Vec::new();
    for (rank, one) in (0..).zip(&program.ranks) {
        for (operation, what) in (0..).zip(one.operations()) {
            let start = Time::from_us(10 * u64::from(operation) + 5);
            let end = match what.work {
                Work::Compute { duration } => start + duration,
                _ => start + Time::from_us(7),
            };
            spans.push(Span { rank, operation, name: what.name, start, end, stream: what.stream });
        }
    }
    spans
}

/// A program with all that Chakra can say, and what packetloom's own attributes say beyond that: streams that are not
/// their nodes' usual ones, and an all-gather with unequal parts.
fn all_of_it() -> Program {
    let mut program = Program { groups: vec![vec![0, 1, 2], vec![0, 2]], ..Program::default() };
    let names = ["cpu", "gpu", "memory", "send", "recv", "collective"].map(|name| program.name(name));
    let mut ranks = vec![Rank::default(), Rank::default(), Rank::default()];
    for (number, rank) in (0_u32..).zip(&mut ranks) {
        let compute = |duration| Work::Compute { duration };
        let mut add = |work, stream, name: usize, on: &[u32]| {
            let operation = Operation { work, stream, name: names[name] };
            rank.add(operation, on.iter().map(|&on| Dependency::on_end(on)))
        };
        add(compute(Time::from_us(300)), Some(0), 0, &[]);
        add(compute(Time(1_500_001)), Some(1), 1, &[0]);
        add(compute(Time::from_us(2)), Some(2), 2, &[1]);
        let (next, before) = ((number + 1) % 3, (number + 2) % 3);
        add(Work::Send { peer: next, bytes: 1 << 40, tag: u32::MAX }, Some(2), 3, &[2]);
        add(Work::Receive { peer: Some(before), bytes: 1 << 40, tag: Some(u32::MAX) }, None, 4, &[]);
        let all = [Collective::AllReduce, Collective::Reduce, Collective::AllGather, Collective::Broadcast];
        let more = [Collective::AllToAll, Collective::ReduceScatter];
        for (operation, stream) in all.into_iter().chain(more).zip([None, Some(1), Some(3), Some(2), Some(0)])
        {
            add(collective(operation, 0, 12346), stream, 5, &[3, 4]);
        }
        add(collective(Collective::Barrier, 0, 0), Some(2), 5, &[3, 4]);
        if number != 1 {
            add(collective(Collective::AllGather, 1, 8), Some(2), 5, &[]);
        }
        add(compute(Time::from_us(1)), None, 1, &[]);
        add(Work::Send { peer: next, bytes: 1, tag: 0 }, Some(0), 3, &[]);
        add(Work::Receive { peer: Some(before), bytes: 1, tag: Some(0) }, Some(65535), 4, &[]);
    }
    program.ranks = ranks;
    program
}

/// What was written, as it is read.
fn read_back(written: Written) -> Program {
    let groups =
        written.groups.map_or(Groups::new(), |groups| read_groups(groups.as_bytes()).expect("sound groups"));
    let ranks = written.files.len() as u32;
    let sources = written
        .files
        .into_iter()
        .zip(0..)
        .map(|(content, rank)| Ok(Source { name: format!("t.{rank}.et"), content }));
    let (read, report) = read("t", ranks, sources, &groups, &Options::default()).expect("sound files");
    assert_eq!(report.ranks[0].loose, 0);
    read
}

#[test]
fn what_is_written_is_read_back() {
    for sends_block in [false, true] {
        let mut program = Program { sends_block, ..all_of_it() };
        assert_eq!(program.check(), Ok(()));
        for spans in [Vec::new(), spans(&program)] {
            let written = write(&program, &spans).expect("what Chakra can say");
            assert_eq!(written.groups.as_deref(), Some(r#"{"2":[0,2]}"#));
            for rank in &mut program.ranks {
                rank.take_turns((0..rank.operations().len() as u32).collect());
            }
            assert_eq!(read_back(written), program);
        }
    }
}

/// astra-sim takes group "0" for that of all, whatever the file of groups says, and stops at METADATA.
#[test]
fn what_is_written_runs_on_astra_sim_as_it_is() {
    let mut program = Program { groups: vec![vec![0, 1], vec![2, 3]], ..Program::default() };
    let name = program.name("any");
    for number in 0..4 {
        let mut rank = Rank::default();
        let mut add = |work, stream, on: &[u32]| {
            let on = on.iter().map(|&on| Dependency::on_end(on));
            rank.add(Operation { work, stream, name }, on)
        };
        add(Work::Compute { duration: Time::ZERO }, None, &[4, 2]);
        add(collective(Collective::AllGather, number / 2, 4096), Some(2), &[0]);
        add(Work::Compute { duration: Time::from_us(3) }, Some(1), &[]);
        add(Work::Compute { duration: Time::from_us(4) }, Some(0), &[]);
        add(Work::Compute { duration: Time::ZERO }, None, &[3]);
        program.ranks.push(rank);
    }
    let written = write(&program, &[]).expect("what Chakra can say");
    assert_eq!(written.groups.as_deref(), Some(r#"{"1":[0,1],"2":[2,3]}"#));
    let mut nodes = Vec::new();
    protobuf::read(&written.files[3], |node| {
        nodes.push((
            node.kind,
            node.id,
            node.data.clone(),
            node.attributes.comm_size,
            node.attributes.pg_name,
        ));
        Ok(())
    })
    .expect("a sound file");
    // The size of an all-gather is each rank's.
    let gather = (node::Kind::CommColl, 1, vec![2, 3], Some(2048), Some("2".into()));
    assert_eq!(
        nodes,
        [gather, (node::Kind::Comp, 2, vec![], None, None), (node::Kind::Comp, 3, vec![], None, None)]
    );
    let read = read_back(written);
    assert_eq!(read.groups, program.groups);
    assert_eq!(read.ranks[3].operations()[0].work, collective(Collective::AllGather, 1, 4096));
}

#[test]
fn nodes_are_numbered_in_the_order_in_which_they_began() {
    let mut program = Program { ranks: vec![Rank::default()], ..Program::default() };
    let name = program.name("any");
    for us in [5, 3, 0, 7] {
        let work = Work::Compute { duration: Time::from_us(us) };
        program.ranks[0].add(Operation { work, stream: Some(1), name }, []);
    }
    let span = |operation, start, end| Span {
        rank: 0,
        operation,
        name,
        start: Time::from_us(start),
        end: Time::from_us(end),
        stream: Some(1),
    };
    // In order of their ends, as a run has them; the last did not end.
    let spans = [span(2, 0, 0), span(1, 0, 3), span(0, 3, 8)];
    let read = read_back(write(&program, &spans).expect("what Chakra can say"));
    assert_eq!([0, 1, 2, 3].map(|place| read.ranks[0].turn(place)), [2, 1, 0, 3].map(Some));
    // What was read is written in the same order again.
    assert_eq!(read_back(write(&read, &[]).expect("what Chakra can say")), read);
}

#[test]
fn files_of_one_trace_agree_on_when_sends_end() {
    let file = |sends_block| {
        let program = Program { sends_block, ranks: vec![Rank::default()], ..Program::default() };
        write(&program, &[]).expect("nothing").files.remove(0)
    };
    let files = vec![file(false), file(true)];
    let error = read_all(files, &Options::default()).expect_err("two kinds of sends");
    assert_eq!(error, "t.1.et: its packetloom_sends is another than that of rank 0");
}

#[test]
fn what_chakra_cannot_say_is_not_written() {
    let mut program = all_of_it();
    let name = program.name("more");
    let refused = |work, dependency: Option<Dependency>| {
        let mut program = program.clone();
        let operation = Operation { work, stream: None, name };
        program.ranks[2].add(operation, dependency);
        write(&program, &[]).expect_err("no words for it").to_string()
    };
    assert_eq!(
        refused(Work::Compute { duration: Time::ZERO }, Some(Dependency::on_begin(0))),
        "rank 2, operation 15: it depends on the beginning of another; Chakra has dependencies on ends alone"
    );
    assert_eq!(
        refused(Work::Receive { peer: None, bytes: 1, tag: Some(0) }, None),
        "rank 2, operation 15: it receives from any rank or with any tag; Chakra has no word for it"
    );
    let sizes = Sizes::Matrix(0);
    assert_eq!(
        refused(Work::Collective { operation: Collective::AllToAll, group: 0, sizes }, None),
        "rank 2, operation 15: it has a size for each pair; Chakra has one for all"
    );
}

const GRAPH: &str = r#"{"workload_graph": [
  {"Id": 1, "Name": "add", "NodeType": 4, "runtime": 3, "is_cpu_op": true, "data_deps": []},
  {"Id": 2, "Name": "send", "NodeType": 5, "is_cpu_op": false, "data_deps": [1], "ctrlDeps": [1],
   "comm_size": 64, "comm_src": 0, "comm_dst": 1, "comm_tag": 7}]}"#;

const MESSAGES: &str = r#"{"version": "0.0.4", "attr": [{"name": "schema", "stringVal": "1"}]}{
  "id": "1", "name": "add", "type": "COMP_NODE", "durationMicros": "3", "attr": [{"name": "is_cpu_op", "boolVal": true}]
}{"id": "2", "name": "send", "type": "COMM_SEND_NODE", "dataDeps": ["1"], "attr": [{"name": "is_cpu_op", "boolVal": false},
  {"name": "comm_size", "int64Val": "64"}, {"name": "comm_dst", "int32Val": 1}, {"name": "comm_tag", "uint32Val": 7}]}"#;

#[test]
fn both_forms_of_json_say_the_same() {
    let other = r#"{}{"type": "COMM_RECV_NODE", "attr": [{"name": "comm_size", "int64Val": "64"},
                   {"name": "comm_src", "int32Val": 0}, {"name": "comm_tag", "int32Val": 7}]}"#;
    let options = Options::default();
    let read = |text: &str| read_named(vec![text.into(), other.into()], "json", &options);
    let (program, report) = read(GRAPH).expect("sound files");
    assert_eq!(read(MESSAGES), Ok((program.clone(), report)));
    let rank = &program.ranks[0];
    assert_eq!(rank.operations()[1].work, Work::Send { peer: 1, bytes: 64, tag: 7 });
    assert_eq!(rank.dependencies(1), [Dependency::on_end(0)]);
    for (from, to, message) in [
        ("\"Id\": 1,", "", "t.0.json: workload_graph[0]: Id is missing"),
        ("\"Id\": 1,", "\"Id\": -1,", "t.0.json: workload_graph[0]: Id is -1; write a whole number"),
        ("\"Id\": 1,", "\"Id\": 2,", "t.0.json: node 2: another node has the same id"),
        (
            "\"NodeType\": 4",
            "\"NodeType\": 8",
            "t.0.json: workload_graph[0]: it is of the type 8; there are 1 (METADATA_NODE) to 7 (COMM_COLL_NODE)",
        ),
        (
            "[1], \"ctrl",
            "[true], \"ctrl",
            "t.0.json: workload_graph[1]: data_deps is no list of whole numbers",
        ),
        ("\"comm_size\": 64", "\"comm_size\": 6.4", "t.0.json: workload_graph[1]: comm_size is no integer"),
        ("\"send\"", "7", "t.0.json: workload_graph[1]: Name is no text"),
        ("\"runtime\": 3,", "\"runtime\": 3", "t.0.json:2: it is not JSON: expected `,` or `}`"),
        ("[\n", "7, \"x\": [\n", "t.0.json: workload_graph is no list"),
    ] {
        assert!(GRAPH.contains(from), "{from}");
        assert_eq!(read(&GRAPH.replacen(from, to, 1)).expect_err(to), message);
    }
    for (from, to, message) in [
        (
            "COMP_NODE",
            "COMPUTE",
            "t.0.json: at byte 68: node 1: it is of the type \"COMPUTE\", which there is not",
        ),
        ("[\"1\"]", "7", "t.0.json: at byte 192: dataDeps is no list of whole numbers"),
        ("\"64\"", "\"6x\"", "t.0.json: at byte 192: comm_size is no integer"),
        ("}{\n", "} 7 {\n", "t.0.json: at byte 68: not an object in braces"),
        (
            "\"version\"",
            "\"schema\"",
            "t.0.json: PyTorch's own execution trace; Chakra's converter makes a Chakra trace of it",
        ),
    ] {
        assert!(MESSAGES.contains(from), "{from}");
        assert_eq!(read(&MESSAGES.replacen(from, to, 1)).expect_err(to), message);
    }
    assert_eq!(read(" ").expect_err("nothing"), "t.0.json: at byte 0: the file is empty");
}

#[test]
fn what_is_malformed_is_told_with_its_byte() {
    let refused = |content: &[u8]| read_all(vec![content.to_vec()], &Options::default()).expect_err("broken");
    assert_eq!(refused(&[]), "t.0.et: at byte 0: the file is empty");
    assert_eq!(refused(&ALL_REDUCE[..5]), "t.0.et: at byte 0: a message of 7 bytes, but 4 are left");
    assert_eq!(refused(&ALL_REDUCE[..80]), "t.0.et: at byte 8: a message of 72 bytes, but 71 are left");
    assert_eq!(refused(&[0, 0x80]), "t.0.et: at byte 1: the file or message ends within a number");
    assert_eq!(
        refused(&[0, 0, 7]),
        "t.0.et: at byte 2: more after a message of length 0, which ends a trace"
    );
    let at = |at: usize, byte: u8| {
        let mut content = ALL_REDUCE.to_vec();
        content[at] = byte;
        refused(&content)
    };
    assert_eq!(at(10, 0x7f), "t.0.et: at byte 10: a field of 127 bytes, but 70 are left");
    assert_eq!(at(11, 0xff), "t.0.et: at byte 9: the name is not UTF-8");
    assert_eq!(
        at(32, 8),
        "t.0.et: at byte 9: node 0: it is of the type 8; there are 1 (METADATA_NODE) to 7 (COMM_COLL_NODE)"
    );
    assert_eq!(at(32, 0), "t.0.et: at byte 9: node 0: it is of no type, or of the type INVALID_NODE");
    assert_eq!(at(62, 0x49), "t.0.et: at byte 63: a field of 8 bytes, but 1 are left");
}

#[test]
fn what_is_wrong_with_a_node_is_told() {
    let size = || int64("comm_size", 64);
    for (more, kind, message) in [
        (vec![], 5, "comm_dst is missing"),
        (vec![int64("comm_dst", 1)], 5, "comm_size is missing"),
        (vec![size(), int64("comm_dst", 1 << 40)], 5, "comm_dst is 1099511627776, which is no rank"),
        (vec![size(), int64("comm_dst", 1), int64("comm_src", 1)], 5, "comm_src is 1, but this is rank 0"),
        (vec![size(), int64("comm_src", 1), int64("comm_dst", 1)], 6, "comm_dst is 1, but this is rank 0"),
        (
            vec![size(), int64("comm_dst", 1), int64("comm_tag", 1 << 32)],
            5,
            "comm_tag is 4294967296, which is too large",
        ),
        (vec![size()], 7, "comm_type is missing"),
        (vec![int64("comm_type", 0)], 7, "comm_size is missing"),
        (vec![size(), int64("comm_type", 3)], 7, "comm_type is GATHER, which is not supported"),
        (vec![size(), int64("comm_type", 4)], 7, "comm_type is SCATTER, which is not supported"),
        (vec![size(), int64("comm_type", 10)], 7, "comm_type is 10; there are 0 to 9"),
        (
            vec![size(), int64("comm_type", 0), attribute("involved_dim", field(28, &field(1, &[1, 0])))],
            7,
            "involved_dim leaves a dimension out; name the ranks by pg_name",
        ),
        (
            vec![size(), int64("comm_type", 0), attribute("is_cpu_op", integer(27, 1))],
            7,
            "communication on the CPU; cpu_communication = \"compute\" lets it take its duration and move nothing",
        ),
        (
            vec![integer(7, 1 << 50)],
            4,
            "duration_micros is 1125899906842624; the longest there may be is 4611686.018427388s",
        ),
        (
            vec![field(5, &[9])],
            4,
            "depends on node 9, which is not there; missing = \"drop\" drops such dependencies",
        ),
        (
            vec![field(8, &field(1, b"pg_name"))],
            1,
            "its process groups are not of the form [{\"pg_name\": \"0\", \"ranks\": [0, 1]}]",
        ),
    ] {
        let error = one(&[node(7, kind, &more)]).expect_err(message);
        assert_eq!(error, format!("t.0.et: at byte 2: node 7: {message}"));
    }
    for (more, message) in [
        (int64("comm_size", -1_i64 as u64), "comm_size is -1; it cannot be negative"),
        (attribute("comm_size", field(29, b"64")), "comm_size is no integer"),
        (attribute("is_cpu_op", field(29, b"no")), "is_cpu_op is neither true nor false"),
        (attribute("pg_name", integer(27, 1)), "pg_name is no text"),
        (attribute("involved_dim", integer(27, 1)), "involved_dim is no list of bools"),
    ] {
        let error = one(&[node(7, 5, &[more])]).expect_err(message);
        assert_eq!(error, format!("t.0.et: at byte 6: {message}"));
    }
    let error = one(&[node(7, 4, &[attribute("num_ops", field(9, b"64"))])]).expect_err("a text as integer");
    assert_eq!(error, "t.0.et: at byte 17: an attribute's value is not of the wire type of its kind");
    let twice = one(&[node(7, 4, &[]), node(7, 4, &[])]).expect_err("an id twice");
    assert_eq!(twice, "t.0.et: at byte 7: node 7: another node has the same id");
    let cycle = one(&[node(7, 4, &[field(5, &[8])]), node(8, 4, &[field(5, &[7])])]).expect_err("a cycle");
    assert_eq!(
        cycle,
        "t.0.et: node 7: depends on itself, by way of others; control = \"ignore\" follows data dependencies alone, as Chakra's own feeder does"
    );
    let nodes = [node(7, 4, &[field(4, &[8])]), node(8, 4, &[field(5, &[7])])];
    let options = Options { control: Control::Ignore, ..Options::default() };
    let (program, _) = read_all(vec![file(&nodes)], &options).expect("a sound file");
    assert_eq!(program.ranks[0].dependencies(0), []);
    assert_eq!(program.ranks[0].dependencies(1), [Dependency::on_end(0)]);
}

#[test]
fn what_is_against_a_trace_is_reported() {
    let send = |id, tag| node(id, 5, &[int64("comm_size", 64), int64("comm_dst", 1), int64("comm_tag", tag)]);
    let receive =
        |id, tag| node(id, 6, &[int64("comm_size", 64), int64("comm_src", 0), int64("comm_tag", tag)]);
    let reduce = node(9, 7, &[int64("comm_type", 0), int64("comm_size", 64)]);
    let options = Options::default();
    let refused = |files: Vec<Vec<Vec<u8>>>| {
        read_all(files.iter().map(|nodes| file(nodes)).collect(), &options).expect_err("something is wrong")
    };
    assert_eq!(
        refused(vec![vec![send(1, 3), send(2, 4)], vec![receive(1, 3)]]),
        "t: rank 0 sends 1 messages with tag 4 to rank 1, which receives 0 such"
    );
    assert_eq!(
        refused(vec![vec![send(1, 3)], vec![receive(1, 3), receive(2, 3)]]),
        "t: rank 0 sends 1 messages with tag 3 to rank 1, which receives 2 such"
    );
    assert_eq!(
        refused(vec![vec![reduce.clone()], vec![], vec![reduce.clone()]]),
        "t: the group of all: rank 2 has 1 all-reduce operations, rank 1 0"
    );
    // As many of each, in another order: this is found by the check of the program.
    let gather = node(8, 7, &[int64("comm_type", 2), int64("comm_size", 64)]);
    let error = refused(vec![vec![reduce.clone(), gather.clone()], vec![gather, reduce]]);
    assert!(error.starts_with("t.1.et: node 8: has "), "{error}");

    let files = [vec![send(1, 3), send(2, 3)], vec![receive(5, 3)]];
    let sources = files.iter().map(|nodes| Ok(Source { name: "t.et".to_owned(), content: file(nodes) }));
    let imported = import(2, sources, &Groups::new(), &options).expect("files that are not malformed");
    assert_eq!(
        imported.report.to_string(),
        "rank 0: 2 nodes, 2 sends\nrank 1: 1 nodes, 1 receives\n\
         rank 0 sends 2 messages with tag 3 to rank 1, which receives 1 such\n"
    );
}

#[test]
fn gpu_nodes_without_children_are_refused_chained_or_kept() {
    let gpu = |id: u64, start: u64, more: Vec<u8>| node(id, 4, &[integer(6, start), integer(7, 5), more]);
    // Node 3 runs before node 2 on their stream, and nothing waits for it; 4 is alone on a stream of its own.
    let nodes =
        [gpu(1, 10, vec![]), gpu(2, 30, field(5, &[1])), gpu(3, 20, vec![]), gpu(4, 5, int64("stream", 9))];
    let read = |loose| read_all(vec![file(&nodes)], &Options { loose, ..Options::default() });
    assert_eq!(
        read(Loose::Refuse).expect_err("a loose node"),
        "t: rank 0: nothing depends on 1 nodes of the GPU, the first of them node 3, though their streams go on: what \
         followed them could begin too early; repair = \"chain-streams\" lets each depend on the one before it, \
         repair = \"keep\" leaves them alone"
    );
    let (kept, report) = read(Loose::Keep).expect("a sound file");
    assert_eq!((kept.ranks[0].dependencies(2), report.ranks[0].loose), (&[][..], 1));
    assert_eq!(
        report.to_string(),
        "rank 0: 4 nodes, 1 GPU nodes without children before their stream's end\n"
    );
    let (chained, _) = read(Loose::ChainStreams).expect("a sound file");
    let rank = &chained.ranks[0];
    assert_eq!(rank.dependencies(1), [Dependency::on_end(0), Dependency::on_end(2)]);
    assert_eq!(rank.dependencies(2), [Dependency::on_end(0)]);
    assert_eq!((rank.dependencies(0), rank.dependencies(3)), (&[][..], &[][..]));
    // In the order of start times the nodes stand as 4, 1, 3, 2.
    let options = Options { order: Order::Start, loose: Loose::ChainStreams, ..Options::default() };
    let (sorted, _) = read_all(vec![file(&nodes)], &options).expect("a sound file");
    assert_eq!(sorted.ranks[0].dependencies(3), [Dependency::on_end(1), Dependency::on_end(2)]);
}

#[test]
fn what_a_converter_left_behind_may_be_let_pass() {
    let cpu = attribute("is_cpu_op", integer(27, 1));
    let nodes = [
        node(5, 7, &[cpu.clone(), integer(7, 8), field(4, &[3])]),
        node(6, 4, &[cpu, int64("num_ops", 10), field(5, &[5])]),
    ];
    let options = Options {
        missing: Missing::Drop,
        cpu_communication: CpuCommunication::Compute,
        ..Options::default()
    };
    let (program, report) = read_all(vec![file(&nodes)], &options).expect("a sound file");
    let operations = program.ranks[0].operations();
    assert_eq!(operations[0].work, Work::Compute { duration: Time::from_us(8) });
    assert_eq!(
        report.to_string(),
        "rank 0: 2 nodes, 1 dropped dependencies, 1 computations with operations but no time\n"
    );
}

#[test]
fn files_are_found_by_their_prefix() {
    let folder = std::env::temp_dir().join(format!("packetloom-chakra-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let prefix = folder.join("trace").display().to_string();
    let options = Options::default();
    let told = |groups| {
        read_files(&prefix, groups, &options)
            .map(|(program, _)| program.ranks.len())
            .map_err(|one| one.message)
    };
    assert_eq!(told(None), Err(format!("there is no {prefix}.0.et and no {prefix}.0.json")));
    for rank in [0, 1, 2, 4] {
        std::fs::write(format!("{prefix}.{rank}.et"), ALL_REDUCE).expect("a file");
    }
    assert_eq!(told(None), Err(format!("there is no {prefix}.3.et, but there is one of rank 4")));
    std::fs::write(format!("{prefix}.3.et"), &ALL_REDUCE[..80]).expect("a file");
    assert_eq!(told(None), Err(format!("{prefix}.3.et: at byte 8: a message of 72 bytes, but 71 are left")));
    std::fs::write(format!("{prefix}.3.et"), ALL_REDUCE).expect("a file");
    assert_eq!(told(None), Ok(5));
    let groups = folder.join("groups.json").display().to_string();
    assert!(told(Some(&groups)).is_err());
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// No change of a byte and no cut makes the readers panic, or keep more than is stated.
#[test]
fn mutated_files_are_read_or_refused() {
    let written = write(&all_of_it(), &spans(&all_of_it())).expect("what Chakra can say").files.remove(0);
    let options = Options { loose: Loose::ChainStreams, missing: Missing::Drop, ..Options::default() };
    for (content, extension) in [(written, "et"), (GRAPH.into(), "json"), (MESSAGES.into(), "json")] {
        for at in 0..content.len() {
            let _ = read_named(vec![content[..at].to_vec()], extension, &options);
            for value in [0, 1, 0x0a, 0x7b, 0x7f, 0xff, content[at] ^ 1, content[at] ^ 0x80] {
                let mut mutated = content.clone();
                mutated[at] = value;
                let source = Source { name: format!("t.{extension}"), content: mutated };
                if let Ok(imported) = import(1, [Ok(source)].into_iter(), &Groups::new(), &options) {
                    assert!(imported.program.operations() <= content.len());
                }
            }
        }
    }
}
