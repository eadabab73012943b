"""The machine's own noise: how long a fixed piece of work takes, four times a second, while the soak runs beside it.

Prints "seconds_since_start milliseconds" lines until its standard input ends. A machine that gets slower or busier
during a run slows this down as it slows the server down.
"""

import select
import sys
import time

WORK = 60_000  # additions: a few milliseconds


def main():
    start = time.monotonic()
    while not select.select([sys.stdin], [], [], 0.25)[0]:
        begun = time.monotonic()
        sum(range(WORK))
        sum(range(WORK))
        print(f"{begun - start:.3f} {(time.monotonic() - begun) * 1000:.3f}", flush=True)


if __name__ == "__main__":
    main()
