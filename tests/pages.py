"""What the pages show: files, commands with what they print, and Python examples."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|\w+ \S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files(page: Path) -> dict[str, str]:
    """Return the files that a page shows: blocks with a file's name."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return {kind.split()[1]: text for kind, text in found if kind != "console"}


def commands(page: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the arguments of every `$ covote ...` with a pattern of what is shown below it.

    A line of three dots stands for any lines. A file that a page shows is put into this folder when it is
    reached; if a command has written it before, it must have the same content.
    """
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind != "console":
            file = Path(kind.split()[1])
            assert not file.exists() or file.read_text(encoding="utf-8") == block, file
            file.write_text(block, encoding="utf-8")
            continue
        for command, shown in re.findall(r"^\$ covote (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            lines = (
                r"(.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ ]*\n"
                for line in shown.splitlines()
            )
            yield shlex.split(command, comments=True), "".join(lines)


def run_commands(page: Path, run: Callable[..., str]) -> int:
    """Run the commands of a page in this folder, compare what they print, and return how many there are."""
    count = 0
    for arguments, pattern in commands(page):
        printed = run(*arguments)
        assert re.fullmatch(pattern, printed), (arguments, printed)
        count += 1
    return count
