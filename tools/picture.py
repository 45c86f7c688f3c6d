"""The picture of the README: what its five lines of Python give, run as they stand there.

The noise is drawn anew each time, so that no two pictures are alike.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "first-chart.svg"


def five_lines() -> str:
    """The example of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    return str(example)


def draw(folder: Path) -> Path:
    """Runs the example in a folder of its own; gives the chart it has saved."""
    subprocess.run([sys.executable, "-c", five_lines()], cwd=folder, check=True)  # noqa: S603 - our README
    (chart,) = folder.glob("*.svg")
    return chart


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        shutil.copy(draw(Path(made)), PICTURE)
