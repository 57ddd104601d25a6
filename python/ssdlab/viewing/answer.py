"""A view from Python: the page of a run, served until closed, or saved as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ssdlab import delivery, forms
from ssdlab._core import InputError
from ssdlab.viewing import recording, scenes
from ssdlab.viewing.sessions import Sessions

if TYPE_CHECKING:
    from ssdlab.loopback import Loopback
    from ssdlab.running import Part


class View:
    """A run to watch; made by `ssdlab.view`.

    As a context manager it is closed at the end of the block.
    """

    def __init__(self, scene: scenes.Scene, port: int = 0) -> None:
        from ssdlab.loopback import Loopback
        from ssdlab.viewing import serving

        self._sessions = Sessions(scene)
        self._sessions.check()
        self._scene = scene
        self._page: Loopback | None = Loopback(serving.routes(self._sessions), port)
        self._page.__enter__()
        self.url: str = self._page.url_with_key
        """The address of the page, on this machine only, with its key."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        start: str | None = None,
        last: str | None = None,
        frames: int = 600,
        force: bool = False,
    ) -> str:
        """Save the run as one HTML file that plays without ssdlab; returns a sentence on its
        content.

        `start` and `last` are simulated times, such as "2s": before the first frame, and of the
        recording, by default `frames` at the speed of the scene. With `force` a foreign file is
        replaced.
        """
        most = recording.MOST_FRAMES
        if not 2 <= frames <= most:
            raise InputError(f"frames {frames}: from 2 to {most}")
        target = Path(path)
        delivery.refuse(target, forms.RECORDING, force=force)
        return recording.write(
            self._scene, target, start=start, last=last, frames=frames, force=force
        )

    def close(self) -> None:
        """End the page and its runs."""
        page, self._page = self._page, None
        if page is not None:
            page.__exit__(None, None, None)
            self._sessions.close_all()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View at {self.url}>" if self._page is not None else "<View, closed>"


def view(
    experiment: Part | str | None = None,
    *,
    beside: Mapping[str, Any] | None = None,
    port: int = 0,
    **arguments: Any,
) -> View:
    """Serve a page that shows a run as it happens, on this machine; no browser is opened.

    `experiment` is as for `ssdlab.run`, or the name of a scene, such as "hot-cold"; `arguments` are
    further ones of `ssdlab.run`: `device`, `workload`, `trace`, `seed`, `set`. The default is the
    scene "cleaning". `beside` has the differing keys of a second drive under the same requests.
    `port` is on 127.0.0.1; 0 for any free port. Raises `InputError` for wrong input.

    >>> with ssdlab.view("hot-cold") as shown:  # doctest: +SKIP
    ...     shown.save("hot-cold.html", frames=300)
    """
    from ssdlab.running import layers_of

    if experiment is None and not arguments:
        experiment = scenes.DEFAULT
    if isinstance(experiment, str) and scenes.is_name(experiment):
        scene = scenes.scene(experiment)
        stack = scene.stack + (layers_of(None, **arguments) if arguments else [])
    else:
        scene = scenes.Scene([])
        stack = layers_of(experiment, **arguments)
    changed = scene.beside if beside is None else beside
    return View(scene._replace(stack=list(stack), beside=changed or None), port)
