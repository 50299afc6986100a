"""Real votes for the accuracy benchmark: experts trained on parts of the classes of real data sets.

Every case is one data set, one family of experts (or a mixture of families) and one expert size R. It holds
the experts of a cover and of a random panel of the same number of experts, their answers to held-out items,
and their probabilities.
Cases are made once and cached as ``.npz`` (votes and probabilities only, no data).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import covote

ITEMS = 2000  # held-out items per case, at most
RANDOM_PANELS = 3
VERSION = 3  # part of the cache's file names: raise it when the experts change


@dataclass(frozen=True)
class Case:
    """The answers of experts to held-out items; first those of a cover, then of random panels."""

    data: str
    family: str
    size: int
    cover: int
    knows: np.ndarray  # experts x classes
    votes: np.ndarray  # items x experts
    probabilities: np.ndarray  # items x (sum of sizes): the known classes of each expert, in order
    truth: np.ndarray
    centralised: float  # accuracy of one model of the family that knows every class

    @property
    def name(self) -> str:
        return f"{self.data}/{self.family}/{self.size}"


# Data sets: features and labels for training, features and labels to be answered.


def digits(folder: Path) -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return split(x / 16.0, y, 800, 997)


def idx(path: Path, offset: int) -> np.ndarray:
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=offset)


def images(name: str) -> Callable[[Path], tuple[np.ndarray, ...]]:
    def load(folder: Path) -> tuple[np.ndarray, ...]:
        from sklearn.decomposition import PCA

        where = folder / name
        x = idx(where / "train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:4000] / 255.0
        y = idx(where / "train-labels-idx1-ubyte.gz", 8)[:4000]
        held = idx(where / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:ITEMS] / 255.0
        held_y = idx(where / "t10k-labels-idx1-ubyte.gz", 8)[:ITEMS]
        pca = PCA(50, random_state=0).fit(x)
        return pca.transform(x), y.astype(int), pca.transform(held), held_y.astype(int)

    return load


def letter(folder: Path) -> tuple[np.ndarray, ...]:
    import pandas as pd

    table = pd.read_parquet(folder / "tabular/letterrecognition.parquet")
    y = pd.factorize(table.target, sort=True)[0]
    x = table.drop(columns="target").to_numpy(float)
    return split((x - x.mean(0)) / x.std(0), y, 5000, ITEMS)


def satellite(folder: Path) -> tuple[np.ndarray, ...]:
    import pandas as pd

    table = pd.read_parquet(folder / "tabular/satellite.parquet")
    y = pd.factorize(table.target, sort=True)[0]
    x = table.drop(columns="target").to_numpy(float)
    return split((x - x.mean(0)) / x.std(0), y, 600, ITEMS)


def soybean(folder: Path) -> tuple[np.ndarray, ...]:
    import pandas as pd

    table = pd.read_parquet(folder / "tabular/soybean.parquet")
    y = pd.factorize(table.target, sort=True)[0]
    x = pd.get_dummies(table.drop(columns="target").astype(str)).to_numpy(float)
    return split(x, y, 340, 343)


def banking77(folder: Path) -> tuple[np.ndarray, ...]:
    import pandas as pd
    from sklearn.decomposition import PCA

    table = pd.read_parquet(folder / "text/banking77.parquet")
    y = pd.factorize(table.intent, sort=True)[0]
    x = np.load(folder / "text/minilm_banking77.npy").astype(float)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    train = (table.split == "train").to_numpy()
    pca = PCA(128, random_state=0).fit(x[train])
    rows = np.random.default_rng(1).permutation(np.flatnonzero(~train))[:ITEMS]
    return pca.transform(x[train]), y[train], pca.transform(x[rows]), y[rows]


def clinc150(folder: Path) -> tuple[np.ndarray, ...]:
    import pandas as pd
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    table = pd.read_parquet(folder / "text/clinc150.parquet")
    table = table[table.intent != "oos"]
    y = pd.factorize(table.intent, sort=True)[0]
    counts = HashingVectorizer(n_features=768, ngram_range=(1, 2), alternate_sign=False, norm=None)
    train = (table.split == "train").to_numpy()
    raw = counts.transform(table.text)
    x = TfidfTransformer(sublinear_tf=True).fit(raw[train]).transform(raw).toarray()
    rows = np.random.default_rng(1).permutation(np.flatnonzero((table.split == "test").to_numpy()))[:ITEMS]
    fit = np.random.default_rng(2).permutation(np.flatnonzero(train))[:7500]
    return x[fit], y[fit], x[rows], y[rows]


def split(x: np.ndarray, y: np.ndarray, train: int, held: int) -> tuple[np.ndarray, ...]:
    order = np.random.default_rng(0).permutation(len(y))
    a, b = order[:train], order[train : train + held]
    return x[a], y[a], x[b], y[b]


# Families of experts: scikit-learn models, small and quick.


def ridge(scale: float = 6.0) -> Any:
    """Least squares on labels -1 and +1; its probabilities are a softmax of the scaled answers."""
    from sklearn.linear_model import RidgeClassifier

    class Ridge(RidgeClassifier):
        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            f = self.decision_function(x)
            f = np.stack([-f, f], 1) if f.ndim == 1 else f
            e = np.exp(scale / 2 * (f - f.max(1, keepdims=True)))
            return e / e.sum(1, keepdims=True)

    return Ridge(alpha=1.0)


def model(family: str) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    return {
        "ridge": ridge,
        "fourier": lambda: make_pipeline(RBFSampler(gamma=0.02, n_components=300, random_state=0), ridge()),
        "logistic": lambda: LogisticRegression(C=2.0, max_iter=60, tol=1e-2),
        "bayes": lambda: GaussianNB(var_smoothing=1e-3),
        "bernoulli": lambda: BernoulliNB(alpha=0.5),
        "multinomial": lambda: MultinomialNB(alpha=0.1),
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
        "forest": lambda: RandomForestClassifier(12, min_samples_leaf=2, random_state=0),
        "neighbours": lambda: KNeighborsClassifier(7),
        "lda": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.05),
    }[family]()


TRAINED: dict[str, tuple[Callable[[Path], tuple[np.ndarray, ...]], tuple[str, ...], tuple[int, ...]]] = {
    "digits": (digits, ("logistic", "bayes", "tree", "neighbours"), (3, 4, 5)),
    "mnist": (images("mnist"), ("fourier", "bayes", "forest", "lda"), (3, 4, 5)),
    "soybean": (soybean, ("bernoulli", "tree", "logistic"), (5, 8)),
    "clinc150": (clinc150, ("multinomial", "ridge", "bernoulli"), (30, 50)),
    "fashion": (images("fashion_mnist"), ("fourier", "neighbours", "forest", "lda"), (3, 4, 5)),
    "letter": (letter, ("lda", "tree", "bayes", "neighbours"), (6, 10)),
    "banking77": (banking77, ("lda", "bayes", "neighbours"), (16, 30)),
}
MIXED: dict[str, tuple[Callable[[Path], tuple[np.ndarray, ...]], tuple[str, ...], tuple[int, ...]]] = {
    "digits": (digits, ("logistic", "bayes", "tree", "neighbours"), (3, 4, 5)),
    "mnist": (images("mnist"), ("fourier", "bayes", "forest", "lda"), (3, 4, 5)),
    "soybean": (soybean, ("bernoulli", "tree", "logistic", "bayes"), (5, 8)),
    "fashion": (images("fashion_mnist"), ("fourier", "neighbours", "forest", "bayes"), (3, 4, 5)),
    "letter": (letter, ("lda", "tree", "bayes", "neighbours"), (6, 10)),
    "banking77": (banking77, ("lda", "bayes", "neighbours", "logistic"), (16, 30)),
    "satellite": (satellite, ("lda", "tree", "bayes", "logistic"), (3, 4)),
}
"""Data sets whose experts are of several families, and these; each expert is of one of them, by chance."""
MIXTURES = ("mixed-1", "mixed-2", "weak")
"""Two draws of families, and a third one of experts that saw 12 items of each of their classes."""
WEAK = 12
IMAGENET_CLASSES = 100
STORED: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {"imagenet": (("mixed", "same"), (20, 34))}
HALVES = {
    "choose": ("digits", "soybean", "fashion", "letter"),
    "confirm": ("mnist", "clinc150", "banking77", "imagenet"),
}


def blocks(data: str, classes: int, size: int) -> tuple[np.ndarray, int]:
    """A cover, then three times as many random experts of the same size: three random panels."""
    rng = np.random.default_rng(zlib.crc32(f"{data}/{size}".encode()))
    cover = covote.design(classes, size, effort="fast").knows
    random = np.zeros((RANDOM_PANELS * len(cover), classes), dtype=bool)
    for row in random:
        row[rng.choice(classes, size, replace=False)] = True
    return np.concatenate([cover, random]), len(cover)


def trained(data: str, family: str, size: int, loaded: tuple[np.ndarray, ...]) -> Case:
    x, y, held, truth = loaded
    knows, cover = blocks(data, int(max(y.max(), truth.max())) + 1, size)
    families = [family] * len(knows)
    if family in MIXTURES:
        families = list(
            np.random.default_rng([MIXTURES.index(family), size]).choice(MIXED[data][1], len(knows))
        )
    if family == "weak":
        x, y = few_of_each(x, y, WEAK)
    columns = []
    for row, own in zip(knows, families, strict=True):
        known = np.flatnonzero(row)
        mine = row[y]
        expert = model(own).fit(x[mine], y[mine])
        p = np.zeros((len(held), len(known)))  # a class the expert never saw in training gets 0
        p[:, np.searchsorted(known, expert.classes_)] = expert.predict_proba(held)
        columns.append(p)
    best = [float((model(one).fit(x, y).predict(held) == truth).mean()) for one in sorted(set(families))]
    centralised = float(np.mean(best))
    return assemble(data, family, size, cover, knows, columns, truth, centralised)


def few_of_each(x: np.ndarray, y: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(9).permutation(len(y))
    keep = np.concatenate([order[y[order] == k][:number] for k in np.unique(y)])
    return x[keep], y[keep]


def assemble(
    data: str,
    family: str,
    size: int,
    cover: int,
    knows: np.ndarray,
    columns: list[np.ndarray],
    truth: np.ndarray,
    centralised: float,
) -> Case:
    rng = np.random.default_rng(0)
    votes = np.empty((len(truth), len(knows)), dtype=np.int16)
    for i, (row, p) in enumerate(zip(knows, columns, strict=True)):
        # An expert that cannot tell its best classes apart picks one of them by chance.
        best = p + 1e-9 * rng.random(p.shape)
        votes[:, i] = np.flatnonzero(row)[best.argmax(1)]
    p = np.concatenate(columns, axis=1).astype(np.float32)
    return Case(data, family, size, cover, knows, votes, p, truth.astype(np.int64), centralised)


def imagenet(family: str, size: int, folder: Path) -> Case:
    """Experts cut from stored predictions: the best of the top 5 they know, else the most similar class."""
    stored = np.load(folder / "predictions/imagenet_val_top5.npz")
    top, truth = stored["top5"].astype(np.int64), stored["truth"].astype(np.int64)
    rng = np.random.default_rng(5)
    classes = np.sort(rng.choice(1000, IMAGENET_CLASSES, replace=False))
    position = np.full(1000, -1)
    position[classes] = np.arange(len(classes))
    held = rng.permutation(np.flatnonzero(position[truth] >= 0))[:ITEMS]
    rest = np.setdiff1d(np.arange(len(truth)), held)
    knows, cover = blocks("imagenet", len(classes), size)
    weight = np.array([0.7, 0.15, 0.08, 0.04, 0.03])
    which = [i % top.shape[1] if family == "mixed" else 12 for i in range(len(knows))]
    similar = {j: similarity(top[rest, j]) for j in set(which)}
    columns = []
    for row, j in zip(knows, which, strict=True):
        known = classes[np.flatnonzero(row)]
        p = 0.02 * sum(w * similar[j][top[held, j, r]][:, known] for r, w in enumerate(weight))
        for r, w in enumerate(weight):
            p += w * (top[held, j, r][:, None] == known[None])
        columns.append(p / p.sum(1, keepdims=True))
    asked = np.unique(which)
    centralised = float((top[held][:, asked, 0] == truth[held, None]).mean())
    return assemble("imagenet", family, size, cover, knows, columns, position[truth[held]], centralised)


def similarity(top: np.ndarray) -> np.ndarray:
    """How often two classes are answered together."""
    counts = np.zeros((1000, 1000))
    for a in range(5):
        for b in range(5):
            np.add.at(counts, (top[:, a], top[:, b]), 1.0)
    return (counts + 0.02) / counts.sum(1, keepdims=True).clip(1)


def cases(folder: Path, cache: Path, names: tuple[str, ...], *, mixed: bool = False) -> Iterator[Case]:
    """Yield every case of the named data sets, from the cache where it is there."""
    cache.mkdir(parents=True, exist_ok=True)
    for name in names:
        loaded: tuple[np.ndarray, ...] | None = None
        if mixed:
            families, sizes = MIXTURES, MIXED[name][2]
        else:
            families, sizes = STORED[name] if name in STORED else TRAINED[name][1:]
        for family in families:
            for size in sizes:
                path = cache / f"{name}-{family}-{size}-v{VERSION}.npz"
                if path.exists():
                    yield load(path, name, family, size)
                    continue
                if name in STORED and not mixed:
                    case = imagenet(family, size, folder)
                else:
                    loaded = loaded or (MIXED if mixed else TRAINED)[name][0](folder)
                    case = trained(name, family, size, loaded)
                save(path, case)
                yield case


def save(path: Path, case: Case) -> None:
    np.savez_compressed(
        path,
        cover=case.cover,
        knows=case.knows,
        votes=case.votes,
        probabilities=case.probabilities.astype(np.float16),
        truth=case.truth,
        centralised=case.centralised,
    )


def load(path: Path, name: str, family: str, size: int) -> Case:
    with np.load(path) as z:
        p = z["probabilities"].astype(np.float32)
        cover, centralised = int(z["cover"]), float(z["centralised"])
        return Case(name, family, size, cover, z["knows"], z["votes"], p, z["truth"], centralised)
