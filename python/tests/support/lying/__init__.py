"""A disk that lies: it is mounted, records every call, and knows what a power cut may leave.

`mount.py` is the file system, `fuse.py` the protocol that it speaks with Linux, `cuts.py` the
kills, and `planted.py` the mistakes that a program may make with it.
"""
