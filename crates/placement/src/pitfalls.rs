//! Common mistakes in studies of write amplification, and their effect.

use crate::published::{CacheLoad, permutation};
use crate::*;

/// The generator xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)) * u128::from(count)) >> 64) as u32
    }
}

/// Write amplification of requests of `length` pages at addresses from `next`, after ten
/// capacities; `fills` fills the drive first.
fn amplification(shape: Shape, length: u32, fills: bool, mut next: impl FnMut(u32) -> u32) -> f64 {
    let mut drive = Drive::new(shape).unwrap();
    if fills {
        (0..shape.pages).for_each(|page| drive.write(page, 0));
    }
    let places = shape.pages / length;
    for at in 0..14 * places {
        if at == 10 * places {
            drive.reset_account();
        }
        let first = next(places) * length;
        (first..first + length).for_each(|page| drive.write(page, 0));
    }
    drive.account().dlwa()
}

fn drive_of(use_of: f64, unit_pages: u32, units: u32) -> Shape {
    let pages = (f64::from(unit_pages) * f64::from(units) * use_of) as u32 / 64 * 64;
    Shape { pages, unit_pages, units, handles: 1, isolation: Isolation::Initial }
}

#[test]
fn ranks_that_a_hash_scatters_leave_a_third_of_the_pages_unwritten() {
    let shape = drive_of(0.85, 256, 400);
    // A bijective hash of ranks: multiplication by an odd number, modulo a prime.
    let hash = |rank: u32| {
        let mixed = (u64::from(rank) ^ 0x9E37).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (((mixed ^ (mixed >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33)
            % u64::from(shape.pages)) as u32
    };
    let mut is_hit = vec![false; shape.pages as usize];
    (0..shape.pages).for_each(|rank| is_hit[hash(rank) as usize] = true);
    let share = is_hit.iter().filter(|it| **it).count() as f64 / f64::from(shape.pages);
    assert!((share - (1.0 - 1.0 / std::f64::consts::E)).abs() < 0.01, "{share}");
    let (mut one, mut two) = (Random(5), Random(5));
    let all = amplification(shape, 1, false, |pages| one.below(pages));
    let hashed = amplification(shape, 1, false, |pages| hash(two.below(pages)));
    assert!(hashed < 0.6 * all, "{hashed:.2} instead of {all:.2}");
}

#[test]
fn a_unit_of_few_requests_makes_cleaning_look_better_than_it_is() {
    let shape = drive_of(0.85, 512, 600);
    let mut random = Random(9);
    let many = amplification(shape, 1, true, |places| random.below(places));
    let few = amplification(shape, 32, true, |places| random.below(places));
    assert!(few < 0.95 * many && few > 0.75 * many, "16 requests a unit {few:.2}, 512 {many:.2}");
}

const CACHE: CacheLoad = CacheLoad {
    use_of: 0.845,
    utilisation: 1.0,
    small: 0.04,
    share: 0.82,
    placed: false,
    isolation: Isolation::Initial,
    region: 1,
    drive_writes: (9.0, 2.0),
};

#[test]
fn a_few_drive_writes_report_the_transient() {
    let (account, curve) = CACHE.run((512, 600), 3).unwrap();
    let settled = account.dlwa();
    assert!(curve[2] < 0.9 * settled, "third drive write {:.2}, settled {settled:.2}", curve[2]);
    assert!(curve[8] > 0.95 * settled, "ninth {:.2}, settled {settled:.2}", curve[8]);
}

#[test]
fn few_units_move_data_that_were_about_to_die() {
    let placed = CacheLoad { placed: true, ..CACHE };
    let moved = |units| placed.run((512, units), 3).unwrap().0.dlwa() - 1.0;
    let (few, many) = (moved(40), moved(600));
    assert!(few > 2.0 * many + 0.01, "40 units {few:.4}, 600 {many:.4}");
}

#[test]
fn a_mean_over_a_part_of_a_pass_of_a_permutation_is_no_mean() {
    let found = permutation(0.845, (512, 600), 7, 1).unwrap();
    let mean = found.passes[3..].iter().sum::<f64>() / 4.0;
    let half = found.tenths[..5].iter().sum::<f64>() / 5.0;
    assert!(half > 1.12 * mean, "first half {half:.2}, all {mean:.2}");
}
