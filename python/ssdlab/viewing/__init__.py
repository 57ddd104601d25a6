"""See it happen: a page on this machine that shows a run.

The page draws; what it draws is the engine's, frame by frame (`sessions`). A recording is the same
page with the frames in it (`recording`).
"""
