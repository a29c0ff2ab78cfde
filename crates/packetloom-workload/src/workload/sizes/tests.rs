use super::*;
use crate::random::Purpose;
use crate::workload::testing::values;

const DRAWS: u32 = 400_000;

fn bytes(size: u64) -> Value {
    Value::Bytes(size)
}

fn pareto(shape: f64, minimum: f64, maximum: f64) -> Sizes {
    Sizes::Pareto(Pareto { shape, minimum, maximum, most_bytes: u64::MAX })
}

/// The means of (bytes, packets of `mss`) of many draws.
fn drawn_means(sizes: &Sizes, mss: u64) -> (f64, f64) {
    let mut stream = Stream::new(11, Purpose::Sizes, 0);
    let (mut bytes, mut packets) = (0.0, 0.0);
    for _ in 0..DRAWS {
        let size = sizes.sample(&mut stream);
        assert!(size >= 1);
        bytes += size as f64;
        packets += size.div_ceil(mss) as f64;
    }
    (bytes / f64::from(DRAWS), packets / f64::from(DRAWS))
}

fn assert_means_match(sizes: &Sizes, mss: u64, tolerance: f64) {
    let (bytes, packets) = drawn_means(sizes, mss);
    assert!(
        (bytes / sizes.mean_bytes() - 1.0).abs() < tolerance,
        "{sizes:?}: {bytes} {}",
        sizes.mean_bytes()
    );
    let exact = sizes.mean_packets(mss);
    assert!((packets / exact - 1.0).abs() < tolerance, "{sizes:?}: {packets} {exact}");
}

#[test]
fn exact_means_agree_with_draws() {
    assert_means_match(&Sizes::Constant(2921), 1460, 1e-9);
    assert_means_match(&Sizes::Uniform { minimum: 1, maximum: 7 }, 3, 0.005);
    assert_means_match(&Sizes::Uniform { minimum: 1000, maximum: 5000 }, 1460, 0.005);
    assert_means_match(&Sizes::Exponential(2.0), 3, 0.01);
    assert_means_match(&Sizes::Exponential(46_000.0), 1460, 0.01);
    assert_means_match(&pareto(3.0, 1000.0, f64::INFINITY), 1460, 0.01);
    assert_means_match(&pareto(1.0, 1000.0, 1e6), 1460, 0.015);
    assert_means_match(&pareto(0.5, 2000.0, 1e5), 1000, 0.01);
}

#[test]
fn means_computed_by_hand() {
    let uniform = Sizes::Uniform { minimum: 1, maximum: 4 };
    assert_eq!((uniform.mean_bytes(), uniform.mean_packets(2)), (2.5, 1.5));
    assert_eq!(Sizes::Constant(1461).mean_wire_bytes(1460, 40), 1541.0);
    let sizes = pareto(2.0, 100.0, f64::INFINITY);
    assert_eq!(sizes.mean_bytes(), 200.0);
}

#[test]
fn the_tail_of_a_pareto_sum_joins_on() {
    // With packets of one byte the count is the size, and half of the mean lies beyond the summed terms.
    let sizes = pareto(1.1, 1000.0, f64::INFINITY);
    assert!((sizes.mean_packets(1) / sizes.mean_bytes() - 1.0).abs() < 1e-4, "{}", sizes.mean_packets(1));
    let large = pareto(1.1, 4e6, f64::INFINITY);
    assert!((large.mean_packets(1) / large.mean_bytes() - 1.0).abs() < 1e-6, "{}", large.mean_packets(1));
}

#[test]
fn a_distribution_is_named_or_given_by_points() {
    let Ok(Sizes::Cdf(named)) =
        Sizes::build(&values("sizes", "cdf", [("name", Value::Text("web-search".into()))]))
    else {
        panic!("web-search is a name")
    };
    assert_eq!(named.rounding, Rounding::UpToPackets(1460));
    let pair = |bytes, share| Value::List(vec![Value::Number(bytes), Value::Number(share)]);
    let points = Value::List(vec![pair(100.0, 0.5), pair(300.0, 1.0)]);
    let given = values("sizes", "cdf", [("points", points), ("interpolation", Value::Text("step".into()))]);
    assert_eq!(Sizes::build(&given).unwrap().mean_bytes(), 200.0);
}

#[test]
fn contradictions_are_named() {
    let text = |word: &str| Value::Text(word.to_owned());
    let falling = Value::List(vec![Value::List(vec![Value::Number(5.0), Value::Number(0.5)])]);
    for (values, key, part) in [
        (values("sizes", "cdf", []), "name", "write a name or `points`"),
        (values("sizes", "cdf", [("name", text("web_search"))]), "name", "there are data-mining, web-search"),
        (
            values("sizes", "cdf", [("points", falling)]),
            "points",
            "point 1: the cumulative probability ends at 0.5",
        ),
        (values("sizes", "cdf", [("points", Value::List(vec![]))]), "points", "no points"),
        (values("sizes", "constant", [("size", bytes(0))]), "size", "at least one"),
        (values("sizes", "uniform", [("minimum", bytes(9)), ("maximum", bytes(8))]), "maximum", "swap"),
        (
            values("sizes", "pareto", [("shape", Value::Number(1.0)), ("minimum", bytes(9))]),
            "shape",
            "mean is infinite",
        ),
    ] {
        let complaint = Sizes::build(&values).unwrap_err();
        assert_eq!(complaint.key, key);
        assert!(complaint.message.contains(part), "{}", complaint.message);
    }
}
