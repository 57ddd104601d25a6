"""What a drive may hold after a power cut, and which instants are judged."""

import random

import pytest
from crash_log import FLUSH, TRIM, ZEROES, Log

from ssdlab import Experiment, InputError
from ssdlab.crashes import content, plan
from ssdlab.crashes.content import Content, Promise, choices, chosen, promise_of
from ssdlab.crashes.recording import Recording

VOLATILE, SURE = Promise(volatile=True, atom=4096), Promise(volatile=False, atom=4096)
SIZE = 64 << 10
A, B = b"a" * 4096, b"b" * 4096


@pytest.fixture
def content_of(tmp_path):
    """The content that a log leaves on an empty drive."""

    def call(log, promise=VOLATILE, hashing=False):
        (tmp_path / "log").write_bytes(log.bytes())
        (tmp_path / "initial").write_bytes(bytes(log.size))
        recording = Recording(tmp_path / "log")
        return Content(recording, tmp_path / "initial", promise, hashing)

    return call


# What is sure, and what is open


def states(it):
    """What is sure of the first block, and what may be there, after each event."""
    found = []
    for event in range(len(it.recording.events) + 1):
        it.advance(event)
        letters = [chr(it.sure[0]).replace("\0", "-")]
        for piece in it.open.values():
            above = it.above([piece]).get(0, it.sure)
            letters.append(chr(above[0]).replace("\0", "-"))
        found.append("".join(letters))
    return " ".join(found)


def test_a_flush_covers_what_was_answered_before_it_was_asked(content_of):
    log = Log()
    first = log.write(0, A)
    early = log.ask(FLUSH)
    log.answer(first)
    late = log.ask(FLUSH)
    log.answer(early)
    log.answer(late)
    # Answered at event 3, sure when the second flush is answered, and not by the first.
    assert states(content_of(log)) == "- -a -a -a -a -a a"


def test_answered_writes_are_durable_without_a_volatile_buffer_or_when_forced(content_of):
    for promise, fua, expected in [
        (VOLATILE, False, "- -a -a"),
        (VOLATILE, True, "- -a a"),
        (SURE, False, "- -a a"),
    ]:
        log = Log()
        log.answer(log.write(0, A, fua=fua))
        assert states(content_of(log, promise)) == expected


def test_refused_writes_are_never_in_an_image(content_of):
    log = Log()
    log.answer(log.write(0, A), refused=True)
    assert states(content_of(log)) == "- -a -"
    log = Log()
    log.answer(log.write(0, A))
    log.answer(log.ask(FLUSH), refused=True)
    assert states(content_of(log)) == "- -a -a -a -a"


def test_a_trim_needs_a_flush_on_every_drive_and_zeroes_are_a_write(content_of):
    for kind, expected in [(TRIM, "- -a a a- a- a- -"), (ZEROES, "- -a a a- - - -")]:
        log = Log()
        log.answer(log.write(0, A))
        log.answer(log.ask(kind, 0, 4096))
        log.flush()
        assert states(content_of(log, SURE)) == expected


def test_later_writes_lie_above_earlier_ones_whatever_becomes_sure_first(content_of):
    log = Log()
    log.answer(log.write(0, A))
    log.answer(log.write(0, B, fua=True))
    log.flush()
    # After event 4, a is still open, but below b, which is sure.
    assert states(content_of(log)) == "- -a -a -ab bb bb b"


def test_a_torn_write_is_torn_at_atoms(content_of):
    log = Log()
    log.write(4096 * 3 + 512, b"x" * 10_000)
    it = content_of(log)
    it.advance(1)
    open = list(it.open.values())
    seen = set()
    for number in range(60):
        pieces = chosen(open, 4096, f"torn-{number}", 1, 1)
        for piece in pieces:
            assert piece.offset // 4096 == (piece.offset + piece.length - 1) // 4096
        seen.add(frozenset(piece.offset // 4096 for piece in pieces))
    assert seen == {frozenset(it) for it in ([], [3], [4], [5], [3, 4], [3, 5], [4, 5], [3, 4, 5])}


def test_content_is_that_of_a_simple_model(content_of):
    """Random requests: of each sector what was asked last is there, with the rest of its bytes."""
    for seed in range(60):
        generator = random.Random(seed)
        log, unanswered, flushes = Log(16 << 10), [], {}
        written, answered, newest = {}, set(), bytearray(16 << 10)
        sure, snapshots = set(), []
        promise = Promise(generator.random() < 0.5, generator.choice((512, 4096)))
        for _ in range(generator.randrange(5, 60)):
            if unanswered and generator.random() < 0.5:
                id = unanswered.pop(generator.randrange(len(unanswered)))
                log.answer(id)
                if id in flushes:
                    sure |= flushes.pop(id)
                else:
                    answered.add(id)
                    kind, *_, fua = written[id]
                    if fua or kind != TRIM and not promise.volatile:
                        sure.add(id)
            else:
                kind = generator.choice((1, 1, 1, TRIM, ZEROES, FLUSH))
                offset, length = generator.randrange(16 << 10), generator.randrange(1, 3000)
                length = min(length, (16 << 10) - offset)
                data = generator.randbytes(length) if kind == 1 else b""
                fua = kind == 1 and generator.random() < 0.2
                if kind == FLUSH:
                    id = log.ask(FLUSH)
                    flushes[id] = set(answered)
                else:
                    id = log.ask(kind, offset, length, data, fua)
                    newest[offset : offset + length] = data or bytes(length)
                    sectors = range(offset // 512, (offset + length - 1) // 512 + 1)
                    changed = {it: bytes(newest[it * 512 : it * 512 + 512]) for it in sectors}
                    written[id] = (kind, changed, fua)
                unanswered.append(id)
            snapshots.append((set(sure), set(written)))
        it = content_of(log, promise, hashing=True)
        digests = {}
        for event, (sure_then, asked_then) in enumerate(snapshots, 1):
            it.advance(event)
            some = {id for id in it.open if generator.random() < 0.5}
            assert set(it.open) == asked_then - sure_then
            blocks = it.above([it.open[id] for id in some])
            image = bytearray(it.sure)
            for block, data in blocks.items():
                image[block * 4096 : (block + 1) * 4096] = data
            assert image == _applied(written, sure_then | some, 16 << 10)
            digest = it.digest_with(blocks)
            assert digests.setdefault(digest, image) == image
        assert len(digests) == len({bytes(image) for image in digests.values()})


def _applied(written, ids, size):
    image = bytearray(size)
    for id in sorted(ids):
        for sector, data in written[id][1].items():
            image[sector * 512 : sector * 512 + 512] = data
    return image


@pytest.mark.parametrize(
    "device, set, promise",
    [
        ("tlc-client", {}, (True, 4096)),
        ("tlc-client", {"device.buffer.power_loss_protected": True}, (False, 4096)),
        ("tlc-enterprise", {}, (False, 4096)),
        ("agrawal2008", {}, (False, 4096)),
        ("agrawal2008", {"device.logical_page": "16KiB"}, (False, 16384)),
        ("agrawal2008-array-6", {}, (False, 4096)),
        ("zeus-linear", {}, (False, 512)),
    ],
)
def test_drives_promise_what_their_configuration_says(device, set, promise):
    found = promise_of(Experiment(device=device, set=set).to_dict()["device"])
    assert found == promise


# What is read


def test_a_recording_is_refused_when_it_is_not_whole(tmp_path):
    log = Log()
    log.answer(log.write(0, A))
    whole = log.bytes()
    path = tmp_path / "log"

    def problem(text):
        path.write_bytes(text)
        with pytest.raises(InputError) as raised:
            Recording(path)
        return str(raised.value)

    path.write_bytes(whole)
    assert len(Recording(path).events) == 2
    assert "too short" in problem(whole[:20])
    assert "the server was killed" in problem(log.bytes(end=False))
    assert "not a recording" in problem(b"x" + whole[1:])
    assert "version 1" not in problem(whole[:8] + b"\2" + whole[9:])
    for at in range(0, len(whole), 97):
        assert problem(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert "cannot be read" in problem(b"")


# Which instants, which images


def test_instants_are_everywhere_and_most_of_all_beside_flushes(tmp_path):
    log = Log()
    for number in range(1000):
        log.answer(log.write(0, A[:512]))
        if number % 100 == 0:
            log.flush()
    (tmp_path / "log").write_bytes(log.bytes())
    recording = Recording(tmp_path / "log")
    found = plan.instants(recording, 10, 60, 1)
    assert len(found) == 60 and found[0] >= 10 and found == sorted(found)
    flushes = [n for n, it in enumerate(recording.events) if it.kind == FLUSH]
    beside = [it for it in found if any(0 <= it - flush <= 2 for flush in flushes)]
    assert len(beside) >= 20
    assert max(b - a for a, b in zip(found, found[1:], strict=False)) < 2 * 2020 / 30
    assert plan.instants(recording, 10, 60, 2) != found
    assert plan.instants(recording, 2000, 100, 1) == list(range(2000, 2021))


def test_images_that_are_alike_are_judged_once_unless_more_was_acknowledged(content_of):
    log = Log()
    log.answer(log.write(0, A))
    log.flush()
    log.answer(log.write(0, A))
    every = list(range(log.events + 1))
    planned = plan.plan(content_of(log, hashing=True), every, [], 4, 1)
    # With the first write and without it: nothing else ever differs.
    assert (planned.made, len(planned.images), planned.most_open) == (12, 2, 1)
    planned = plan.plan(content_of(log, hashing=True), every, [4], 4, 1)
    assert [(it.event, it.acked) for it in planned.images] == [(0, 0), (1, 0), (4, 1)]


def test_draws_are_of_every_kind(content_of):
    log = Log()
    for number in range(5):
        log.write(number * 8192, A + B)
    it = content_of(log)
    it.advance(5)
    open = list(it.open.values())
    assert choices(open, 4096, 0, 1, 5) == ["none", "all"]
    names = choices(open, 4096, 8, 1, 5)
    kinds = {name.partition("-")[0] for name in names}
    assert kinds == {"none", "all", "only", "without", "random", "torn"}
    parts = {name: chosen(open, 4096, name, 1, 5) for name in names}
    for name, part in parts.items():
        kind = name.partition("-")[0]
        known = {"none": 0, "all": 5, "only": 1, "without": 4}
        assert len(part) == known.get(kind, len(part)), name
    again = {name: chosen(open, 4096, name, 1, 5) for name in names}
    other = {name: chosen(open, 4096, name, 2, 5) for name in names}
    assert again == parts != other


def test_sizes_are_those_of_the_resolved_configuration():
    assert [content.bytes_of(it) for it in ("0B", "4KiB", "3MiB", "1GiB")] == [
        0,
        4096,
        3 << 20,
        1 << 30,
    ]
    with pytest.raises(ValueError):
        content.bytes_of("much")
