"""What holds for all tests, however they are started."""

from __future__ import annotations

import signal

# a shell that starts them in the background has Ctrl-C ignored, and so would every program that a test starts and interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
