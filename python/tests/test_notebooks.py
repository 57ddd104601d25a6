"""The notebooks run from beginning to end, draw what they say, and are kept without outputs."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def read():
    nbformat = pytest.importorskip("nbformat", reason="pip install 'ssdlab[notebook]'")
    return lambda path: nbformat.read(path, as_version=4)


def test_both_notebooks_are_found():
    assert [path.stem for path in NOTEBOOKS] == ["first-results", "over-provisioning"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path, read):
    for cell in read(path).cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, read, tmp_path, monkeypatch):
    client = pytest.importorskip("nbclient")
    for library in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(library)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = read(path)
    client.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    drawn = [output for output in outputs if "image/png" in output.get("data", {})]
    plotting = [
        cell for cell in notebook.cells if ".plot(" in cell.source or ".plot." in cell.source
    ]
    assert len(drawn) == len(plotting) > 0


def test_four_lines_lead_to_a_picture(read):
    """From installing to a plotted result."""
    first = next(cell for cell in read(NOTEBOOKS[0]).cells if cell.cell_type == "code")
    lines = [line for line in first.source.splitlines() if line]
    assert len(lines) == 4
    assert lines[0].startswith("# %pip install")
    assert lines[-1] == "results.plot.latency()"
