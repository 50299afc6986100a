import numpy as np
import pytest

from covote.bounds import schonheim_bound
from covote.covers.blocks import pair_counts
from covote.covers.constructions.triples import triples


@pytest.mark.parametrize("classes", [*range(3, 41), 60, 61, 62, 63, 64, 65, 200, 203])
def test_triples_meet_the_schonheim_bound(classes):
    cover = triples(classes)
    assert len(cover) == schonheim_bound(classes, 3)
    assert (pair_counts(cover, classes)[np.triu_indices(classes, 1)] >= 1).all()


def test_a_steiner_triple_system_covers_every_pair_once():
    counts = pair_counts(triples(31), 31)
    assert set(counts[np.triu_indices(31, 1)].tolist()) == {1}
