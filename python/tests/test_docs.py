"""What README and the guides show in Python runs as it stands there, as a script."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab
from ssdlab.sweeps import space, table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/sweeps.md", "docs/python.md"])
def test_the_python_of_a_page_runs(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(blocks)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda it: it.stem)
def test_an_example_runs(file):
    """Briefly; and every line of its comment that is a command names keys and figures there are."""
    example = ssdlab.Experiment(file).changed(set={"workload.requests": 500})
    results = example.run()
    assert results.host.all.requests == 500
    text = file.read_text()
    for key in re.findall(r"--(?:set|vary) (\S+)", text):
        space.from_option(key)
    known = list(table.flat(results))
    for name in re.findall(r"--minimize (\S+)", text):
        table.find(name, known, file.name)
