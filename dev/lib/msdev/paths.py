"""Where things live on the machine. Nothing here is created by importing."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]

# Built things that any checkout may reuse; safe to delete at any time.
CACHE = Path(os.environ.get("MAINSPRING_CACHE", Path.home() / ".cache" / "mainspring"))

# Running clusters: pid files, certificates, etcd data, logs. One folder per cluster name.
STATE = Path(os.environ.get("MAINSPRING_STATE", "/var/lib/mainspring-dev"))

# What builds say. One folder for all tools of this checkout.
LOGS = REPO / "build" / "log"
