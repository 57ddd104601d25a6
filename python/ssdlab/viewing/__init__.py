"""A page on this machine that shows a run. The engine supplies the frames (`sessions`), and the
page draws them.

A recording is the page with its frames included (`recording`).
"""
