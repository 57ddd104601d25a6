"""A file is written whole or not at all."""

import os

import pytest

from ssdlab import InputError, files


def test_a_written_text_leaves_no_other_file(tmp_path):
    files.write(tmp_path / "a" / "b" / "one", [b"1"])
    assert (tmp_path / "a" / "b" / "one").read_text() == "1"
    assert os.listdir(tmp_path) == ["a"] and os.listdir(tmp_path / "a" / "b") == ["one"]


def test_a_failure_leaves_nothing_behind(tmp_path):
    def parts():
        yield b"half"
        raise OSError(5, "Input/output error")

    (tmp_path / "old").write_text("old")
    (tmp_path / "file").write_text("")
    for path in ("old", "new/deep/one", "file/two"):
        with pytest.raises(files.NotWrittenError):
            files.write(tmp_path / path, parts())
    assert (tmp_path / "old").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["file", "old"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    files.write(tmp_path / "link", [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "one", [b"1"])
    finally:
        os.umask(before)
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.refuse_unwritable(tmp_path / "pipe")
    files.write(tmp_path / "pipe", [b"text"])
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


def test_what_cannot_be_written_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="does not exist"):
        files.refuse_unwritable(tmp_path / "missing" / "file")
    with pytest.raises(InputError, match="is a directory"):
        files.refuse_unwritable(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        files.refuse_unwritable_directory(tmp_path / "file", ())
    with pytest.raises(InputError, match="file is a file"):
        files.refuse_unwritable_directory(tmp_path / "file" / "out", ())
    files.refuse_unwritable(tmp_path / "file")
    files.refuse_unwritable_directory(tmp_path / "new" / "out", ("one",))
    assert os.listdir(tmp_path) == ["file"]
