"""`ssdlab view`: a page that shows a run."""

from __future__ import annotations

import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ssdlab import delivery, forms, layers
from ssdlab.cli.options import PATH, ExamplesFirst, override_options
from ssdlab.interruption import Terminated
from ssdlab.loopback import Loopback
from ssdlab.running.stack import above, below, default_load
from ssdlab.viewing import recording, scenes, serving
from ssdlab.viewing.sessions import Sessions

WAIT_SECONDS = 0.2


def _scenes(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    found = [
        CompletionItem(name, help=summary)
        for name, summary in scenes.names().items()
        if name.startswith(begun)
    ]
    return [*found, CompletionItem(begun, type="file")]


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("a small drive that cleans, in your browser", "ssdlab view"),
        ("a scene, by its name", "ssdlab view hot-cold"),
        (
            "two drives side by side under the same requests",
            "ssdlab view cleaning --beside device.cleaning.time=interleaved",
        ),
        ("a drive and a load of your choice", "ssdlab view --device tlc-client --workload mixed"),
        ("your experiment", "ssdlab view mine.toml"),
        (
            "one file that plays without ssdlab: two seconds in 600 frames",
            "ssdlab view trim --record trim.html --last 2s --frames 600",
        ),
    ],
)
@click.argument("experiment", required=False, metavar="[EXPERIMENT|NAME]", shell_complete=_scenes)
@override_options
@click.option(
    "beside",
    "--beside",
    metavar="KEY=VALUE",
    multiple=True,
    help="Show a second drive that differs in this key, under the same requests; may be repeated.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of 127.0.0.1; 0, the default, takes any that is free.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option(
    "--record",
    metavar="FILE.html",
    type=PATH,
    help="Keep the run as one file that plays without ssdlab, and show nothing.",
)
@click.option(
    "--start",
    metavar="DURATION",
    help="Simulated time before the first frame of the recording, such as 2s.",
)
@click.option(
    "--last",
    metavar="DURATION",
    help="Simulated time that the recording keeps, such as 500ms; by default as much as its frames "
    "show at the speed of the scene.",
)
@click.option(
    "--frames",
    metavar="N",
    type=click.IntRange(2, recording.MOST_FRAMES),
    default=600,
    show_default=True,
    help="Number of frames in the recording, played at 30 per second.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but the address.")
def view(
    experiment: str | None,
    device: str | None,
    trace: Path | None,
    columns: str | None,
    workload: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    beside: tuple[str, ...],
    port: int,
    no_browser: bool,
    record: Path | None,
    start: str | None,
    last: str | None,
    frames: int,
    quiet: bool,
) -> int:
    """See a run happen: blocks, requests and latencies, in a page on this machine.

    EXPERIMENT is what `ssdlab run` takes. NAME is a scene: an experiment of a few thousand blocks
    that shows one thing. Without either it is `cleaning`, or what --device and --workload say.
    A drive begins as run.precondition says.

    The scenes are: {scenes}.
    """
    scene = _scene(experiment, device, trace, workload, columns)
    stack = scene.stack + above(assignments, seed)
    second = _beside(beside) or scene.beside
    if allow_code:
        stack = layers.permitting(stack)
    scene = scene._replace(stack=stack, beside=second)
    sessions = Sessions(scene)
    sessions.check()
    if record is not None:
        delivery.refuse(record, forms.RECORDING)
        with _EndedBySignals():
            said = recording.write(scene, record, start=start, last=last, frames=frames)
        if not quiet:
            click.echo(f"{said}\n{default_load(stack)}", nl=False)
        return 0
    for option, value in (("--start", start), ("--last", last)):
        if value is not None:
            raise click.UsageError(f"{option} is of a recording: it needs --record")
    return _serve(sessions, port, no_browser, quiet)


view.help = (view.help or "").replace("{scenes}", ", ".join(scenes.names()))


def _scene(
    experiment: str | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    columns: str | None,
) -> scenes.Scene:
    if experiment is None and device is None and trace is None and workload is None:
        experiment = scenes.DEFAULT
    if experiment is None or not scenes.is_name(experiment):
        path = None if experiment is None else Path(experiment)
        if path is not None and path.suffix == "" and path.name == experiment and not path.exists():
            known = ", ".join(scenes.names())
            raise click.UsageError(
                f"there is no scene {experiment} and no such file; there are {known}"
            )
        return scenes.Scene(below(path, device, trace, workload, columns))
    scene = scenes.scene(experiment)
    return scene._replace(stack=scene.stack + below(None, device, trace, workload, columns))


def _beside(assignments: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Keys of `--beside` as written; values are texts, as for `--set`."""
    found: dict[str, Any] = {}
    for assignment in assignments:
        key, is_value, value = assignment.partition("=")
        if not is_value or not key:
            raise click.UsageError(f"--beside {assignment}: KEY=VALUE is needed")
        if key in found:
            raise click.UsageError(f"--beside gives {key} twice")
        found[key] = value
    return found or None


class _EndedBySignals:
    """Ctrl-C and SIGTERM end the block at any point."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __enter__(self) -> _EndedBySignals:
        self.asked: KeyboardInterrupt | None = None
        self._before = [signal.signal(it, self._end) for it in self.SIGNALS]
        return self

    def _end(self, number: int, _: object) -> None:
        # Python swallows exceptions in some places, such as finalisers.
        self.asked = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
        raise self.asked

    def wait(self) -> None:
        """Wait until a signal comes."""
        while self.asked is None:
            time.sleep(WAIT_SECONDS)
        raise self.asked

    def __exit__(self, *_: object) -> None:
        for number, before in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(number, before)


def _serve(sessions: Sessions, port: int, no_browser: bool, quiet: bool) -> int:
    with _EndedBySignals() as ended, Loopback(serving.routes(sessions), port) as loopback:
        try:
            click.echo(loopback.url_with_key)
            if not quiet:
                click.echo("ssdlab: open this address in a browser; Ctrl-C ends it", err=True)
            sys.stdout.flush()
            if not no_browser:
                threading.Thread(
                    target=webbrowser.open, args=(loopback.url_with_key,), daemon=True
                ).start()
            ended.wait()
        finally:
            sessions.close_all()
    return 0
