use super::*;

#[test]
fn every_block_is_in_one_bin_and_bins_are_at_most_twenty() {
    assert_eq!(binned(&[])["blocks"], json!([]));
    let few = binned(&[(2, 5), (4, 1)]);
    assert_eq!(few, json!({ "erases": [[2, 2], [3, 3], [4, 4]], "blocks": [5, 0, 1] }));
    let many: Vec<(u32, u64)> = (10..113).map(|erases| (erases, u64::from(erases))).collect();
    let bins = binned(&many);
    let blocks = bins["blocks"].as_array().unwrap();
    assert!(blocks.len() <= MOST_BINS as usize && blocks.len() > 10);
    assert_eq!(blocks.iter().filter_map(Value::as_u64).sum::<u64>(), (10..113).sum::<u64>());
    assert_eq!(bins["erases"][0], json!([10, 15]));
}

#[test]
fn fields_of_members_are_joined_by_their_kinds() {
    let member = |number: u64| {
        let at = number as f64;
        section! {
            "part": section! {
                "count": number,
                "ratio": Field::share(number, 10),
                "none": Field::share(0, 0),
                "rest": Field::Rest(number, 10),
                "mean": Field::Mean(at),
                "deviation": Field::Deviation(at, 0.0),
                "most": Field::most(number),
                "least": Field::Least(json!(number)),
                "any": number == 2,
                "same": Field::same(number),
                "each": Field::OfEach(at),
                "histogram": Field::Histogram(vec![number; number as usize]),
                "bins": Field::Distribution(vec![(number as u32, 1)]),
                "units": Field::List(vec![section! { "name": Field::Name("die".to_owned()) }]),
                "places": Field::Places(vec![section! { "bytes": number }]),
                "time": Field::seconds(number * 1_000_000_000),
                "alone": Field::Alone(vec![json!(number)]),
                "follows": Field::Follows(Formula(|it| json!(2 * it.count("fact")))),
                "fact": Field::fact(number),
            }.decided_by("least"),
            "own": Field::own(number),
        }
    };
    let joined = Report::together(&[(0, member(4)), (1, member(2)), (2, member(3))]);
    let expected = json!({ "part": {
        "count": 9,
        "ratio": 0.3,
        "none": null,
        "rest": 0.7,
        "mean": 3.0,
        "deviation": (29.0_f64 / 3.0 - 9.0).sqrt(),
        "most": 4,
        "least": 2,
        "any": true,
        "same": 2,
        "each": 6.0,
        "histogram": [9, 9, 7, 4],
        "bins": { "erases": [[2, 2], [3, 3], [4, 4]], "blocks": [1, 1, 1] },
        "units": [{ "name": "member 0 die" }, { "name": "member 1 die" }, { "name": "member 2 die" }],
        "places": [{ "bytes": 9 }],
        "time": 9.0,
        "alone": [],
        "follows": 18,
    } });
    assert_eq!(joined.to_json(), expected);
    assert_eq!((joined.count("part.fact"), joined.section("own")), (9, None));
}
