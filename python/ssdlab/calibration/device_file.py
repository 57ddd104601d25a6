"""The device file: parameters, with their origin and errors in comments."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ssdlab.calibration.points import PATTERNS, size_text

WIDTH = 98


def text(found: Mapping[str, Any]) -> str:
    """The device of a calibration as TOML."""
    kind, patterns = found["kind"], found["patterns"]
    if "fit" in found:
        return _fitted(found)
    head = [f"Calibrated from {found['source']} by ssdlab {found['version']}."]
    head.append(", ".join(f"{key}: {value}" for key, value in found["conditions"].items()) + ".")
    weights = "1/time^2" if found["weights"] == "relative" else "equal"
    head.append(f"Least squares, weights {weights}; error = fitted / measured - 1.")
    lines = [line for paragraph in head for line in _comment(paragraph)]
    for name, pattern in patterns.items():
        lines += ["#", *_fit(name, pattern)]
    lines += [line for note in found["notes"] for line in ("#", *_comment(f"Note: {note}."))]
    lines += ["[device]", 'kind = "law"']
    if found["size_bytes"]:
        lines.append(f'size = "{size_text(found["size_bytes"] // 512 * 512)}"')
    sections, missing = _chosen(patterns)
    for section, name, note in sections:
        lines += _keys(kind, section, patterns[name], note)
    for direction in missing:
        lines += ["", *_comment(f"Not measured: {direction}s; they keep the defaults of a law.")]
    return "\n".join(lines) + "\n"


def _fitted(found: Mapping[str, Any]) -> str:
    """The device whose parameters were searched."""
    fit = found["fit"]
    if "figures" in fit:
        return _model(found)
    before, after = fit["before"], fit["after"]
    head = [
        f"Fitted to {found['source']} by ssdlab {found['version']}: {', '.join(fit['searched'])}.",
        ", ".join(f"{key}: {value}" for key, value in found["conditions"].items()) + ".",
        f"Error of the mean times, simulated / measured - 1: before {_errors(before)}, "
        f"after {_errors(after)}.",
        *(f"Note: {note}." for note in found["notes"]),
    ]
    lines = [line for paragraph in head for line in _comment(paragraph)]
    lines.append("#    pattern       size  outstanding   measured us     after us    error %")
    for row in fit["points"]:
        lines.append(
            f"# {row['pattern']:>10} {size_text(row['bytes']):>10} {row['outstanding']:12d} "
            f"{row['mean_us']:13.3f} {row['after_us']:12.3f} {row['after_error_percent']:10.2f}"
        )
    return "\n".join(lines) + f"\n{fit['toml']}"


def _model(found: Mapping[str, Any]) -> str:
    """The fitted current drive, with its errors by metric."""
    fit = found["fit"]
    head = [
        f"Fitted to {found['source']} by ssdlab {found['version']}, beginning with "
        f"{fit['device'] or 'keys'}: {', '.join(fit['searched'])}.",
        "Mean error of each figure, simulated / measured - 1: "
        + ", ".join(f"{name} {it['after']:.1f} %" for name, it in fit["errors_percent"].items())
        + ".",
        *(f"Note: {note}." for note in found["notes"]),
    ]
    lines = [line for paragraph in head for line in _comment(paragraph)]
    return "\n".join(lines) + f"\n{fit['toml']}"


def _errors(summary: Mapping[str, float]) -> str:
    mean, most = summary["mean_error_percent"], summary["max_error_percent"]
    return f"mean {mean:.2f} %, max {most:.2f} %"


def _comment(paragraph: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(paragraph, WIDTH)]


def _fit(name: str, pattern: Mapping[str, Any]) -> list[str]:
    """Fitted line of a pattern and its errors by size, as comments."""
    p = "none" if pattern["p_value"] is None else f"{pattern['p_value']:.3g}"
    lines = [
        f"# {name}: {pattern['a_us']:.3f} us + {pattern['b_us_per_kib']:.4f} us/KiB, "
        f"r^2 {pattern['r2']:.6f}, p {p}, error mean {pattern['mean_error_percent']:.2f} %, "
        f"max {pattern['max_error_percent']:.2f} %",
        "#      size   measured us     fitted us   residual us   error   mean    max %",
    ]
    for row in pattern["sizes"]:
        lines.append(
            f"# {size_text(row['bytes']):>9} {row['measured_us']:13.3f} {row['fitted_us']:13.3f} "
            f"{row['residual_us']:13.3f} {row['error_percent']:7.2f} "
            f"{row['mean_error_percent']:6.2f} {row['max_error_percent']:6.2f}"
        )
    return lines


def _chosen(patterns: Mapping[str, Any]) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The section of each pattern with its source, and the directions without measurements.

    If only one of sequential and random is measured, it stands for both.
    """
    sections, missing = [], []
    for direction in ("read", "write"):
        names = [f"seq_{direction}", f"rand_{direction}"]
        known = [name for name in names if name in patterns]
        if not known:
            missing.append(direction)
        for name in names if known else []:
            source = name if name in patterns else known[0]
            note = "" if source == name else f"not measured; taken to be {PATTERNS[source]}"
            sections.append((PATTERNS[name], source, note))
    return sections, missing


def _keys(kind: str, section: str, pattern: Mapping[str, Any], note: str) -> list[str]:
    """The law of a pattern in the syntax of its kind."""
    comment = [f"# {section}: {note}"] if note else []
    if kind == "linear":
        entries = [f"{_us(pattern['a_us'])} + {_us(pattern['b_us_per_kib'])}/KiB"]
    elif kind == "piecewise":
        entries = [
            f"{size_text(row['bytes'])}: {_us(row['measured_us'])}" for row in pattern["sizes"]
        ]
    else:
        entries = [
            f"{number}: {_us(it['a_us'])} + {_us(it['b_us_per_kib'])}/KiB"
            for number, it in pattern["outstanding"].items()
        ]
    return [*comment, f'{section} = "{", ".join(entries)}"']


def _us(us: float) -> str:
    """A time to the nanosecond.

    >>> _us(127.5), _us(0.24049), _us(4.0)
    ('127.5us', '0.24us', '4us')
    """
    return f"{us:.3f}".rstrip("0").rstrip(".") + "us"
