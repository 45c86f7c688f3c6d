"""How far a release travels: `python -m tools.hops`.

Releases one PPI of the claims example by the command, after another one has loaded everything,
and prints the modules in which a function was called and the frames between the command and the
first draw of noise. Fewer of both is less to read for whoever follows a release.
"""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

import click

import pappi
from pappi.cli.program import pappi as program
from pappi.examples import EXAMPLES

_OURS = str(Path(pappi.__file__).parent)
_NOISE = "pappi.mechanisms.noise"


class Trail:
    """What a profile sees: the modules of the package, and the frames at the first noise."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.frames: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_OURS):
            return
        module = frame.f_globals["__name__"]
        self.modules.add(module)
        if module == _NOISE and not self.frames:
            self.frames = [_name(above) for above in _stack(frame)]


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Our own frames, the outermost first."""
    frames = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(_OURS):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _name(frame: FrameType) -> str:
    module = frame.f_globals["__name__"].removeprefix("pappi.")
    return f"{module}:{frame.f_code.co_qualname}"


def trail_of_a_release() -> Trail:
    """The trail of `pappi release` for one PPI that was never asked before."""
    claims, trail = EXAMPLES["claims"], Trail()
    with tempfile.TemporaryDirectory() as folder:
        workspace = pappi.create(Path(folder) / "w")
        workspace.import_log(claims.write_log(Path(folder)), timezone=claims.zone)
        catalogue = str(claims.catalogue_path)
        loaded, followed = (ppi.id for ppi in pappi.read_definitions(catalogue).ppis[:2])
        command = ["-w", str(workspace.root), "release", catalogue, "--epsilon", "0.1", "--anyway"]
        command.append("--ppi")
        with redirect_stdout(io.StringIO()):
            program.main([*command, loaded], standalone_mode=False)
            sys.setprofile(trail)
            try:
                program.main([*command, followed], standalone_mode=False)
            finally:
                sys.setprofile(None)
    return trail


def main() -> None:
    trail = trail_of_a_release()
    click.echo("\n".join(sorted(trail.modules)))
    functions = [frame for frame in trail.frames if not frame.endswith(">")]
    click.echo(
        f"\n{len(trail.modules)} modules; {len(trail.frames)} frames to the first noise, "
        f"{len(functions)} of them functions and no comprehensions:"
    )
    for depth, frame in enumerate(trail.frames):
        click.echo(f"{'  ' * depth}{frame}")


if __name__ == "__main__":
    main()
