"""The engine. The public functions around it are in `ssdlab`; see there for their meaning."""

import builtins
import os
from collections.abc import Callable, Sequence
from typing import Any

version: str

class InputError(ValueError): ...
class CheckError(RuntimeError): ...

def run(
    layers: Sequence[tuple[str, str]],
    check: bool = False,
    progress: Callable[[str, int, int | None, int], object] | None = None,
    requests: str | None = None,
) -> str: ...
def resolve(layers: Sequence[tuple[str, str]]) -> str: ...
def resolve_json(layers: Sequence[tuple[str, str]]) -> str: ...
def capacity_bytes(layers: Sequence[tuple[str, str]]) -> int: ...
def to_parquet(columns: Sequence[tuple[str, str, Sequence[Any]]]) -> bytes: ...
def set_layer(assignment: str) -> tuple[str, str]: ...
def preset_layer(section: str, name: str) -> tuple[str, str] | None: ...
def unknown_preset(section: str, name: str) -> str: ...
def list(what: str) -> builtins.list[tuple[str, str]] | None: ...
def list_categories() -> builtins.list[str]: ...
def trace_info(
    path: str,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...
def trace_head(path: str, options: str, count: int) -> str: ...
def trace_services(
    path: str,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...
def read_decompressed(path: str) -> bytes: ...
def trace_convert(
    source: str,
    target: str,
    format: str | None,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...

class LiveDevice:
    uri: str
    size_bytes: int
    warnings: builtins.list[str]

    def __init__(
        self,
        layers: Sequence[tuple[str, str]],
        *,
        socket: str | os.PathLike[str] | None,
        port: int | None,
        host: str,
        allow_remote: bool,
        size: str | None,
        backing: str | os.PathLike[str] | None,
        record: str | None,
        time_scale: float,
        realtime: bool,
    ) -> None: ...
    def status(self) -> tuple[int, int, int, float | None, float] | None: ...
    def stop(self) -> str | None: ...
