use super::*;
use crate::formats::At;
use crate::job::Event;

/// A binomial tree over eight ranks, as it grows: rank r sends to r + 2^k for each 2^k above r.
fn tree(ranks: u32) -> String {
    let mut text = format!("num_ranks {ranks}\n\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        let mut labels = 0;
        let mut distance = 1;
        while distance < ranks {
            if rank / distance == 1 {
                text += &format!("l0: recv 8b from {} tag 3\n", rank - distance);
            } else if rank < distance && rank + distance < ranks {
                labels += 1;
                text += &format!("l{labels}: send 8b to {} tag 3\n", rank + distance);
                if rank > 0 {
                    text += &format!("l{labels} requires l0\n");
                }
            }
            distance *= 2;
        }
        text += "}\n";
    }
    text
}

/// What `txt2bin` makes of a program.
fn packed(program: &Program) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for rank in &program.ranks {
        let count = rank.operations().len() as u32;
        let roots: Vec<u32> = (0..count).filter(|&place| rank.dependencies(place).is_empty()).collect();
        let mut part = Vec::new();
        part.extend(count.to_le_bytes());
        part.extend((roots.len() as u32).to_le_bytes());
        roots.iter().for_each(|root| part.extend(root.to_le_bytes()));
        let mut appendix: Vec<u32> = Vec::new();
        for place in 0..count {
            let operation = rank.operations()[place as usize];
            let (kind, peer, size, tag) = match operation.work {
                Work::Send { peer, bytes, tag } => (1_u8, peer, bytes, tag),
                Work::Receive { peer, bytes, tag } => {
                    (2, peer.unwrap_or(u32::MAX), bytes, tag.unwrap_or(u32::MAX))
                }
                Work::Compute { duration } => (3, 0, duration.as_ps() / 1_000, 0),
                Work::Collective { .. } => unreachable!(),
            };
            part.extend((rank.dependencies(place).len() as u32).to_le_bytes());
            part.push(kind);
            part.extend(peer.to_le_bytes());
            part.extend(size.to_le_bytes());
            part.extend(tag.to_le_bytes());
            part.push(operation.stream.unwrap_or_default() as u8);
            part.push(0);
            for event in [Event::Ends, Event::Begins] {
                let names_it = |of: &u32| rank.dependencies(*of).contains(&Dependency { on: place, event });
                let dependents: Vec<u32> = (0..count).filter(names_it).collect();
                part.extend((dependents.len() as u32).to_le_bytes());
                part.extend((appendix.len() as u32).to_le_bytes());
                appendix.extend(dependents);
            }
        }
        appendix.iter().for_each(|place| part.extend(place.to_le_bytes()));
        parts.push(part);
    }
    let mut file = Vec::from(4223_u64.to_le_bytes());
    file.extend((parts.len() as u32).to_le_bytes());
    file.extend([0, 0]);
    let mut place = 4 + 2 + 16 * parts.len() as u64;
    for part in &parts {
        file.extend(place.to_le_bytes());
        place += part.len() as u64;
        file.extend(place.to_le_bytes());
    }
    parts.iter().for_each(|part| file.extend(part));
    file
}

fn sound(text: &str) -> Program {
    read(text.as_bytes(), &Options::default()).expect(text)
}

#[test]
fn a_tree_is_read() {
    let program = sound(&tree(8));
    assert_eq!((program.ranks.len(), program.operations()), (8, 14));
    let first = &program.ranks[1];
    assert_eq!(first.operations()[0].work, Work::Receive { peer: Some(0), bytes: 8, tag: Some(3) });
    assert_eq!(first.operations()[1].work, Work::Send { peer: 3, bytes: 8, tag: 3 });
    assert_eq!(first.dependencies(1), [Dependency::on_end(0)]);
    assert_eq!(program.ranks[0].dependencies(2), []);
    assert_eq!(program.names[first.operations()[0].name as usize], "l0");
}

#[test]
fn all_that_a_line_may_have_is_read() {
    let text = "/* two\nlines */num_ranks 2 rank 1 { // in any order\n recv 0b from -1 tag -1 nic 1\r\n\
                \trecv 9 b from 0 }\n\
                rank 0 {\nx : calc 100 cpu 3\ny: send 0b to 1 tag 7 cpu 2 nic 1\ny irequires x\n send 9b to 1\n\
                z:calc 5\nz requires x\nz requires y\n}";
    let program = sound(text);
    let (zero, one) = (&program.ranks[0], &program.ranks[1]);
    assert_eq!(one.operations()[0].work, Work::Receive { peer: None, bytes: 1, tag: None });
    assert_eq!(one.operations()[1].work, Work::Receive { peer: Some(0), bytes: 9, tag: Some(0) });
    assert_eq!(zero.operations()[0].work, Work::Compute { duration: Time::from_ns(100) });
    assert_eq!(zero.operations()[1].work, Work::Send { peer: 1, bytes: 1, tag: 7 });
    assert_eq!(zero.operations().iter().map(|one| one.stream).collect::<Vec<_>>(), [3, 2, 0, 0].map(Some));
    assert_eq!(zero.dependencies(1), [Dependency::on_begin(0)]);
    assert_eq!(zero.dependencies(3), [Dependency::on_end(0), Dependency::on_end(1)]);
    let slower = read_text(text, &Options { unit: Time::from_us(1) }).expect("a sound text");
    assert_eq!(slower.ranks[0].operations()[0].work, Work::Compute { duration: Time::from_us(100) });
}

#[test]
fn the_binary_says_the_same_as_the_text() {
    let mixed = "num_ranks 3\nrank 0 {\na: calc 5 cpu 1\nb: send 4b to 1 tag 2\nb irequires a\nc: calc 1\nc requires b\n\
                 c requires a\n}\nrank 1 {\nrecv 4b from -1 tag -1\n}\nrank 2 {\n}\n";
    for text in [&tree(8), &tree(5), mixed] {
        let mut expected = sound(text);
        let mut binary = read(&packed(&expected), &Options::default()).expect("a sound file");
        // Labels are not in the binary; and dependencies stand in the order of what they are on.
        (binary.names, expected.names) = Default::default();
        for program in [&mut binary, &mut expected] {
            for rank in &mut program.ranks {
                let old = std::mem::take(rank);
                for (place, &operation) in (0..).zip(old.operations()) {
                    let mut dependencies = old.dependencies(place).to_vec();
                    dependencies.sort();
                    rank.add(Operation { name: 0, ..operation }, dependencies);
                }
            }
        }
        assert_eq!(binary, expected);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let text = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\nb: calc 10\nb requires a\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n";
    sound(text);
    for (from, to, line, message) in [
        ("num_ranks 2\n", "", 1, "\"rank\" where there should be `num_ranks`"),
        (
            "num_ranks 2",
            "num_ranks two",
            1,
            "\"two\" where there should be the number of ranks, a whole number",
        ),
        ("num_ranks 2", "num_ranks 0", 1, "no ranks; write how many there are"),
        ("num_ranks 2", "num_ranks 1", 7, "rank 1, but there are 1 ranks"),
        (
            "num_ranks 2",
            "num_ranks 4294967295",
            10,
            "rank 2 of 4294967295 has no block; write `rank 2 { }` if it does nothing",
        ),
        ("num_ranks 2", "num_ranks 4294967296", 1, "the number of ranks is 4294967296, which is too large"),
        ("rank 1", "rank 0", 7, "rank 0 has two blocks; write all in one"),
        ("rank 0 {", "rank 0", 3, "\"a\" where there should be `{`"),
        ("rank 0 {", "rank 0 { 7", 2, "\"7\" where there should be `send`, `recv`, `calc`, a label or `}`"),
        (
            "tag 3\n}\n",
            "tag 3\n",
            9,
            "the end of the file where there should be `send`, `recv`, `calc`, a label or `}`",
        ),
        ("b: calc", "b calc", 4, "\"calc\" where there should be `:`, `requires` or `irequires` after \"b\""),
        ("b: calc", "a: calc", 4, "\"a\" is a label in line 3 already"),
        ("b: calc 10", "b: wait 10", 4, "\"wait\" where there should be `send`, `recv` or `calc`"),
        ("calc 10", "calc -10", 4, "the time is -10; it cannot be negative"),
        (
            "calc 10",
            "calc 18446744073709551615",
            4,
            "calc 18446744073709551615 takes longer than 4611686.018427388s, the most there may be",
        ),
        ("calc 10", "calc 10 nic 1", 4, "\"nic\" where there should be the end of the line"),
        ("calc 10", "calc 10 cpu 256", 4, "cpu is 256, which is too large"),
        ("8b to", "8 to", 3, "\"to\" where there should be `b` after the size"),
        ("8b to", "8b from", 3, "\"from\" where there should be `to`"),
        ("to 1 tag", "to -1 tag", 3, "the peer is -1; it cannot be negative"),
        ("to 1 tag 3", "to 1 tag -1", 3, "a send has a tag of its own; only recv takes any, which is -1"),
        ("to 1 tag", "to 0 tag", 3, "rank 0: the peer is the rank itself"),
        ("to 1 tag", "to 5 tag", 3, "rank 0: the peer is rank 5, but there are 2 ranks"),
        (
            "a: send 8b",
            "a: send 1099511627777b",
            3,
            "rank 0: a message of 1099511627777 B; write at most 1099511627776",
        ),
        ("b requires a", "b requires c", 5, "\"c\" is no label of rank 0 above this line"),
        ("b requires a", "b requires b", 4, "rank 0: depends on itself, by way of others"),
        ("b requires a", "b irequires a\na requires b", 3, "rank 0: depends on itself, by way of others"),
        ("b requires a", "b requires 7", 5, "\"7\" where there should be a label"),
        ("b requires a", "/* b requires a", 5, "this comment has no end; write */"),
        ("b requires a", "b requires a; c", 5, "';' begins no word of GOAL"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read_text(&text.replacen(from, to, 1), &Options::default()).expect_err(to);
        assert_eq!(error, FileError::new(line, message), "{to}");
    }
    for (from, to, message) in [
        ("a: send 8b to 1 tag 3", "a: calc 1", "rank 1: 1 messages are received that nobody sends"),
        ("recv 8b from 0 tag 3\n", "", "rank 1: 1 messages are sent to it that it does not receive"),
        (
            "recv 8b from 0 tag 3",
            "recv 7b from 0 tag 3",
            "rank 1: a message from rank 0 with tag 3 has 8 B, but 7 B at most are received; write as many",
        ),
        (
            "recv 8b from 0 tag 3",
            "recv 8b from 0 tag 4",
            "rank 1: 1 messages from rank 0 with tag 4 are received but not sent",
        ),
    ] {
        let error = read_text(&text.replacen(from, to, 1), &Options::default()).expect_err(to);
        assert_eq!(error, FileError::whole(message));
    }
    let error = read(b"num_ranks \xff", &Options::default()).expect_err("no text");
    assert_eq!(error.of("a.goal"), "a.goal: at byte 10: it is not a text file: this is not UTF-8");
}

#[test]
fn what_is_wrong_in_a_binary_is_told_with_its_byte() {
    let text = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\nb: calc 10\nb requires a\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n";
    let sound = packed(&sound(text));
    // 14 bytes, two ranks of 16; rank 0: 8, a root of 4, two nodes of 39, a place of 4; rank 1: 8, 4, 39.
    assert_eq!(sound.len(), 46 + 94 + 51);
    let last = (sound.len() - 1) as u64;
    for (at, bytes, byte, message) in [
        (
            0,
            &[0x26, 0x09][..],
            0,
            "the first number is 2342: LogGOPSim used this file up; make it again with txt2bin",
        ),
        (8, &[0, 0], 8, "0 ranks, for which the file's 191 bytes are no table"),
        (8, &[255, 255, 255, 255], 8, "4294967295 ranks, for which the file's 191 bytes are no table"),
        (
            14,
            &[0],
            14,
            "a rank's part goes from byte 8 to 140; parts follow each other from byte 46 to the file's end at 191",
        ),
        (
            30,
            &[38],
            30,
            "a rank's part goes from byte 46 to 191; parts follow each other from byte 140 to the file's end at 191",
        ),
        (
            45,
            &[255],
            30,
            "a rank's part goes from byte 140 to 18374686479671623871; parts follow each other from byte 140 to the file's end at 191",
        ),
        (46, &[3], 46, "3 nodes and 1 roots, but the rank's part goes on for 86 bytes"),
        (
            46,
            &[255, 255, 255, 255],
            46,
            "4294967295 nodes and 1 roots, but the rank's part goes on for 86 bytes",
        ),
        (50, &[3], 46, "2 nodes and 3 roots, but the rank's part goes on for 86 bytes"),
        (54, &[1], 54, "the roots are not the nodes without dependencies: here should be 0"),
        (58, &[1], 58, "node 0 has 1 dependencies, but 0 nodes name it as theirs"),
        (62, &[4], 58, "node 0 is of kind 4; 1 is send, 2 recv, 3 calc"),
        (63, &[9], 58, "rank 0: the peer is rank 9, but there are 2 ranks"),
        (75, &[255, 255, 255, 255], 58, "node 0: a send has a tag of its own; only recv takes any"),
        (
            81,
            &[2],
            81,
            "node 0 has 2 dependents from place 0 of an appendix of 1, each of which is for one node",
        ),
        (
            85,
            &[255, 255, 255, 255],
            81,
            "node 0 has 1 dependents from place 4294967295 of an appendix of 1, each of which is for one node",
        ),
        (
            120,
            &[1],
            120,
            "node 1 has 1 dependents from place 1 of an appendix of 1, each of which is for one node",
        ),
        (136, &[2], 136, "there is no node 2 among 2"),
        (
            113,
            &[255],
            97,
            "calc 18374686479671623690 takes longer than 4611686.018427388s, the most there may be",
        ),
    ] {
        let mut file = sound.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        let error = read(&file, &Options::default()).expect_err(message);
        assert_eq!(error, FileError::at_byte(byte, message));
    }
    let error = read(&sound[..last as usize], &Options::default()).expect_err("one byte less");
    assert_eq!(error.at, At::Byte(30));
    let error = read(&sound[..10], &Options::default()).expect_err("the beginning alone");
    assert_eq!(error, FileError::at_byte(8, "there should be the number of ranks, but at 10 it ends"));
}

/// No change of a byte and no cut makes the readers panic, or keep more than is stated.
#[test]
fn mutated_files_are_read_or_refused() {
    let text = tree(8);
    let binary = packed(&sound(&text));
    for file in [text.as_bytes(), &binary] {
        for at in 0..file.len() {
            let _ = read(&file[..at], &Options::default());
            for value in [0, 1, 0x0a, 0x7b, 0x7f, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
                let mut mutated = file.to_vec();
                mutated[at] = value;
                if let Ok(program) = read(&mutated, &Options::default()) {
                    assert!(program.operations() <= file.len() && program.ranks.len() <= file.len());
                }
            }
        }
    }
}
