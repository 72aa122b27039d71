"""Settings of the Jupyter that `make lab` starts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "_tools"))  # of the server, not of the kernels

from as_typed import before_saving  # noqa: E402

c = get_config()  # noqa: F821
c.FileContentsManager.pre_save_hook = before_saving
c.ServerApp.ip = "127.0.0.1"
