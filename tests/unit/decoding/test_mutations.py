"""A mistake in a decoder must fail one of its tests: every method is spoilt in a copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import covote
from covote.decoding import DECODERS

ROOT = Path(__file__).parents[3]
SOURCE = Path(covote.__file__).parent

MUTATIONS = {
    "authority": [
        ("shares.py", "np.where(number == 1,", "np.where(number >= 1,"),
        (
            "shares.py",
            "self.share == self.share.max(axis=1)",
            "self.named == self.named.max(axis=1)",
        ),
    ],
    "majority": [
        (
            "methods/majority.py",
            "vote.votes_for / np.maximum(answers, 1)",
            "vote.share / np.maximum(answers, 1)",
        )
    ],
    "learned": [
        ("answer_model.py", "(count + PRIOR * found) / (total + PRIOR)", "(count + found) / (total + 1)"),
        ("answer_model.py", "(1 - right) * inside", "inside"),
        ("answer_model.py", "(seen - base * whole) / (whole + c)", "seen / (whole + c)"),
        ("learned_weights.py", "inside / within + outside / without", "inside + outside"),
        (
            "cross_validation.py",
            "(score + variant.evidence(rows))[owner] - own",
            "(score + variant.evidence(rows))[owner]",
        ),
        ("who_answered.py", "experts - knowing, answers - d", "experts - knowing, d"),
        ("sampling.py", "np.maximum(np.rint(self.count[where] * share), 1)", "np.ones(len(where))"),
    ],
    "likelihood": [
        ("methods/likelihood.py", "answers + np.log(wrong)", "answers - np.log(wrong)"),
        ("methods/likelihood.py", "np.where(scores == NO_EVIDENCE, self.prior, scores)", "scores"),
    ],
    "em": [
        ("methods/em.py", "size * (1 - accuracy) / np.maximum(size - 1, 1)", "size * (1 - accuracy)"),
        ("methods/em.py", "right + self.shrinkage * common", "right + common"),
    ],
    "dawid-skene": [
        ("methods/em.py", "np.rint(np.log(share / share.sum()) * UNIT)", "np.rint(0 * share)"),
        ("methods/em.py", "counts.counts / ONE + self.smoothing", "counts.counts / ONE + 1 + self.smoothing"),
    ],
}
"""(file, what it has, what it gets instead): what a tired developer may type."""

OTHERS, ESTIMATORS = "tests/property/test_decode_others.py", "tests/property/test_estimators.py"
TESTS = {
    "authority": ["tests/property/test_decode_authority.py"],
    "majority": ["tests/property/test_decode_authority.py"],
    "learned": ["tests/unit/decoding/test_learned.py", ESTIMATORS],
    "likelihood": [OTHERS, "tests/unit/decoding/test_likelihood.py"],
    "em": [ESTIMATORS],
    "dawid-skene": [ESTIMATORS],
}
"""The tests of each method that take seconds."""


def spoilt(folder: Path, file: str, old: str, new: str) -> None:
    """Copy the package to a folder, with one place changed."""
    shutil.copytree(SOURCE, folder / "covote", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "covote" / "decoding" / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_every_method_has_a_mutation():
    assert set(MUTATIONS) == set(TESTS) == set(DECODERS)
    assert all(MUTATIONS.values())


@pytest.mark.parametrize(("file", "old"), [one[:2] for some in MUTATIONS.values() for one in some])
def test_every_mutation_is_of_one_place(file, old):
    assert (SOURCE / "decoding" / file).read_text(encoding="utf-8").count(old) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "file", "old", "new"),
    [(method, *mutation) for method, mutations in MUTATIONS.items() for mutation in mutations],
)
def test_a_mistake_fails_a_test(method, file, old, new, tmp_path):
    spoilt(tmp_path, file, old, new)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS[method]],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1, f"no test of {method} noticed:\n{done.stdout[-2000:]}"
