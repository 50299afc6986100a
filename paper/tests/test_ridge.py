"""The quick experts: patch features and ridge regression, beside plain twins."""

import numpy as np
import pytest

from paper.experiment import TRAINERS
from paper.trainers.patches import PatchFeatures, spherical_means, whitening
from paper.trainers.ridge import PatchRidge, Products, softmax

from .made_up import bars

SMALL = PatchFeatures(side=4, filters=6, cells=2, sample=300, mirrored=True)
LEARNS = PatchFeatures(side=4, filters=12, cells=4, sample=300, mirrored=False)


def quiet(*_):
    pass


def plain_features(image, settings, filters, offsets):
    """Cut, filter, threshold and pool, one patch at a time."""
    side, cells = settings.side, settings.cells
    image = image if image.ndim == 3 else image[..., None]
    places = image.shape[0] - side + 1
    number = settings.filters
    pooled = np.zeros((cells, cells, 2, number))
    for i in range(places):
        for j in range(places):
            patch = image[i : i + side, j : j + side].astype(float).ravel()
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + settings.calm)
            answer = patch @ filters + offsets
            places_of = [(j, answer[:number])]
            if settings.mirrored:
                places_of.append((places - 1 - j, answer[number:]))
            for column, values in places_of:
                cell = pooled[i * cells // places, column * cells // places]
                cell[0] += np.maximum(values - settings.threshold, 0)
                cell[1] += np.maximum(-values - settings.threshold, 0)
    return np.sqrt(pooled.ravel())


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("colours", [1, 3])
def test_features_equal_the_plain_ones(mirrored, colours):
    rng = np.random.default_rng(3)
    shape = (7, 10, 10) if colours == 1 else (7, 10, 10, 3)
    images = rng.integers(0, 256, shape, dtype=np.uint8)
    settings = PatchFeatures(side=3, filters=5, cells=3, sample=200, mirrored=mirrored)
    bank = settings.bank(images, 0)
    found = settings.of(images, bank, quiet)
    wanted = np.stack([plain_features(image, settings, *bank) for image in images])
    assert found.shape == (7, settings.length)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)


def test_an_image_and_its_mirror_image_have_the_same_features():
    images = bars(30).train_x
    bank = SMALL.bank(images, 0)
    there, back = (SMALL.of(x, bank, quiet) for x in (images, np.ascontiguousarray(images[:, :, ::-1])))
    np.testing.assert_allclose(there, back, rtol=1e-3, atol=2e-2)


def test_whitened_rows_have_no_covariance():
    rows = np.random.default_rng(0).normal(size=(500, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    mean, whiten = whitening(rows, 0.0)
    np.testing.assert_allclose(np.cov((rows - mean) @ whiten, rowvar=False), np.eye(4), atol=1e-8)


def test_means_find_well_separated_directions():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(3), 50, axis=0) * rng.uniform(1, 5, (150, 1)) + rng.normal(0, 0.01, (150, 3))
    rows = np.concatenate([np.eye(3), rows])
    found = spherical_means(rows, 3, np.random.default_rng(5))
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_the_ridge_of_a_subset_equals_the_one_fitted_to_its_rows():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 8)).astype(np.float32)
    truth = rng.integers(0, 5, 300)
    weights, offsets = Products.of(rows, truth, 5).solve((0, 2, 3), 0.1)
    mine = np.isin(truth, (0, 2, 3))
    one_hot = (truth[mine, None] == [0, 2, 3]).astype(float)
    alpha = 0.1 * mine.sum() * rows[mine].var(axis=0).mean()
    twin = Ridge(alpha=alpha).fit(rows[mine], one_hot)
    np.testing.assert_allclose(rows @ weights + offsets, twin.predict(rows), atol=2e-4)


def test_softmax_rows_sum_to_one_and_sharpen():
    p = softmax(np.array([[0.0, 1.0], [3.0, 3.0]], np.float32), 2.0)
    np.testing.assert_allclose(p, [[1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))], [0.5, 0.5]], rtol=1e-6)


def test_experts_learn_what_they_know_and_answer_everything():
    data, model = bars(), PatchRidge(LEARNS, 1e-2, 8.0)
    told = []
    subsets = [(0, 1, 2), tuple(range(10))]
    done = {t.subset: t for t in model.train(data, subsets, lambda n, total, text: told.append((n, total)))}
    assert list(done) == subsets
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    for subset, trained in done.items():
        assert trained.train.shape == (200, len(subset))
        np.testing.assert_allclose(trained.test.sum(axis=1), 1, rtol=1e-5)
        known = np.isin(data.test_y, subset)
        assert (np.array(subset)[trained.test.argmax(axis=1)] == data.test_y)[known].mean() > 0.9


def test_the_same_seed_gives_the_same_experts():
    data = bars(100, 20)
    first, again, other = (
        next(iter(PatchRidge(SMALL, 1e-2, 8.0, seed).train(data, [(0, 1)], quiet))) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)


def test_every_profile_says_what_its_experts_are():
    for images in ("mnist", "fashion", "cifar10"):
        model = TRAINERS["quick"][images](seed=3)
        assert model.surrogate
        assert "seed=3" in model.recipe
