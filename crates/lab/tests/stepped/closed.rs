//! Closed loops that step from answer to answer.

use super::{DEVICES, further, small};
use engine::{Random, Xoshiro256};
use lab::{Completion, HostRequest, Op, StepError};

/// A closed loop gets the same answers from answer to answer as from event to event, in fewer steps.
#[test]
fn steps_to_the_next_answer_are_fewer() {
    for (name, text) in DEVICES {
        let ends = [false, true].map(|is_to_answer| {
            let mut drive = small(text);
            let mut random = Xoshiro256::new(6, 0);
            let pages = drive.capacity_bytes() / 4096;
            let (mut answers, mut steps, mut asked) = (Vec::<Completion>::new(), 0, 0);
            while answers.len() < 300 {
                while asked < 300.min(answers.len() + 8) {
                    let op = [Op::Read, Op::Write][random.below(2) as usize];
                    let request = HostRequest::new(op, random.below(pages) * 4096, 4096);
                    drive.submit(drive.now(), request).unwrap();
                    asked += 1;
                }
                let next = drive.next_event().unwrap();
                answers.extend(if is_to_answer {
                    drive.advance_to_answer(None, &mut further).unwrap()
                } else {
                    drive.advance(next, &mut further).unwrap()
                });
                steps += 1;
            }
            (answers, steps)
        });
        let [(by_event, more), (to_answer, fewer)] = ends;
        assert!(by_event == to_answer, "{name}");
        assert!(fewer <= 300 && fewer < more, "{name}: {fewer} of {more}");
        let mut drive = small(text);
        assert_eq!(drive.advance_to_answer(None, &mut further).map(<[_]>::len), Ok(0));
        assert_eq!(drive.advance_to_answer(Some(7), &mut further).map(<[_]>::len), Ok(0));
        assert_eq!(drive.now(), 7);
        let refusal = drive.advance_to_answer(Some(6), &mut further).map(<[_]>::len);
        assert_eq!(refusal, Err(StepError::Past(6, 7)));
    }
}
