"""Sweeps on a Dask cluster: what is lost, refused and taken up again."""

import contextlib

import pytest

import ssdlab
from ssdlab.sweeps import backends

GRID = {"device.channels": "4,8", "run.seed": "1..3"}


def test_a_cluster_of_another_version_is_refused(small, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(backends, "__version__", "99.0")
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        message = f"has ssdlab {ssdlab.__version__}, this is 99.0"
        with pytest.raises(ssdlab.InputError, match=message):
            ssdlab.sweep(vary=GRID, set=small, executor=client)


def test_a_scheduler_that_cannot_be_reached(refused, monkeypatch):
    pytest.importorskip("distributed")
    message = refused("sweep", "--vary", "run.seed=1,2", "--dask", "tcp://127.0.0.1:9")
    assert message.startswith("ssdlab: --dask tcp://127.0.0.1:9: the scheduler cannot be reached")


def thread_cluster(port=0):
    """A scheduler with one worker of one thread, in this process."""
    return pytest.importorskip("distributed").LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        scheduler_port=port,
        dashboard_address=None,
    )


@pytest.mark.parametrize("returns", [True, False])
def test_a_scheduler_that_returns_is_taken_up(small, monkeypatch, capfd, tmp_path, returns):
    clusters = [thread_cluster()]
    address = clusters[0].scheduler_address
    monkeypatch.setattr(backends, "RETURN_SECONDS", 60 if returns else 0)

    def progress(done, total):
        if done == 2 and len(clusters) == 1:
            clusters[0].close()
            clusters.append(thread_cluster(int(address.rpartition(":")[2])) if returns else None)

    arguments = {"vary": {"run.seed": [*range(12)]}, "set": small}
    capfd.readouterr()
    lost = pytest.raises(backends.Lost, match="workers are gone")
    with contextlib.nullcontext() if returns else lost:
        found = ssdlab.sweep(**arguments, executor=address, progress=progress)
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and "for the scheduler and its workers to return" in said[0]
    if returns:
        clusters[1].close()
        assert found.columns == ssdlab.sweep(**arguments, workers=1).columns
