"""See it happen: a run that is looked at while it goes on, in a page on this machine.

The page draws; what it draws is the engine's, frame by frame (`sessions`). A recording is the same
page with the frames in it (`recording`).
"""
