"""PanelClassifier: train a panel's experts, and let them vote."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from covote.errors import InputError
from covote.learn import inputs, sizing, training
from covote.learn.fitted_panel import AUTHORITY, FUSED, FittedPanel
from covote.panel import Name, Panel
from covote.votes import Votes

Array = NDArray[Any]


def _gives_probabilities(classifier: PanelClassifier) -> bool:
    """Whether some expert gives probabilities."""
    trained = [
        model for model in getattr(classifier, "experts_", ()) if not isinstance(model, training.OneClass)
    ]
    models = trained or inputs.as_list(classifier.estimator)
    if any(hasattr(model, "predict_proba") for model in models):
        return True
    raise AttributeError(f"no expert of this {type(classifier).__name__} has predict_proba")


def _is_size(size: Any) -> bool:
    """Whether something is a size, a list of sizes, 'auto' or nothing."""
    if size is None or isinstance(size, str):
        return size is None or size == sizing.AUTO
    sizes = list(size) if isinstance(size, Sequence | np.ndarray) else [size]
    return bool(sizes) and all(isinstance(value, Integral) and not isinstance(value, bool) for value in sizes)


def _check_decoder(decoder: Any) -> None:
    if decoder not in (FUSED, AUTHORITY):
        raise InputError(f"no decoder {decoder!r}; choose {FUSED!r} or {AUTHORITY!r}")


def _skip_checks(X: Any) -> AbstractContextManager[Any]:
    """Let experts skip the check for NaN and infinity if X has neither; never turn on what is turned off."""
    context: AbstractContextManager[Any] = config_context(
        **({"assume_finite": True} if inputs.is_finite(X) else {})
    )
    return context


class PanelClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train one clone of an estimator per expert of a panel, and classify by their votes.

    Each expert is trained on only the rows of the classes it knows. With experts of two classes this is
    one-versus-one classification; with experts that know everything, the estimator itself. A panel is worth
    it where no one may see the data of all classes, where an expert may be lost, or where the estimator is
    weak on many classes (benchmarks/results/learning.md); otherwise train the estimator alone.

    Parameters
    ----------
    estimator
        A classifier, or a list of them for a mixed panel: expert i is a clone of the i-th, beginning again
        after the last.
    size
        How many classes an expert knows (default: about the square root of their number); ``"auto"`` tries
        pairs, the default, half of the classes and all of them by cross-validation. (It splits rows, so a
        weight of 2 is not the same as a row that is there twice, which two checks of scikit-learn want.)
    panel
        The panel itself, instead of `size`; its classes are the labels in y.
    method, redundancy
        How to design the panel, as in :func:`covote.design`.
    decoder
        ``"fused"``: votes and probabilities together; ``"authority"``: the paper's vote, with the experts'
        confidence where it ties, which for pairs of classes is scikit-learn's OneVsOneClassifier. Other
        methods of :func:`covote.decode` take :meth:`votes`.
    n_jobs
        How many experts to train at once, with joblib: in processes, or on a cluster, as in ``with
        joblib.parallel_config(backend="dask")``.
    random_state
        Seeds the design, and every ``random_state`` that the estimator leaves at None.
    verbose
        joblib's: how much is said about the experts that are trained.

    Attributes
    ----------
    classes_
        The labels in y, sorted.
    panel_
        Who knows what; its classes are in the order of `classes_`.
    experts_
        The trained models, in the order of ``panel_.names``.
    size_report_
        With ``size="auto"``: the size that was chosen, the accuracy and fit cost of all candidates, and why.
    n_features_in_, feature_names_in_
        The features seen in training, where X has them.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PanelClassifier(LogisticRegression(max_iter=1000), size=4).fit(X[:900] / 16, y[:900])
    >>> model.panel_
    Panel(9 experts, 10 classes, size 4, covers every pair)
    >>> round(model.score(X[900:] / 16, y[900:]), 2)
    0.93
    """

    def __init__(
        self,
        estimator: Any,
        *,
        size: int | Sequence[int] | str | None = None,
        panel: Panel | None = None,
        method: str = "auto",
        redundancy: int = 1,
        decoder: str = FUSED,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.size = size
        self.panel = panel
        self.method = method
        self.redundancy = redundancy
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PanelClassifier:
        """Train the experts.

        Parameters
        ----------
        X
            Items: an array, a sparse matrix, a data frame, or texts if the estimator takes them.
        y
            The class of every item.
        sample_weight
            The weight of every item, for estimators that take weights.
        """
        self._check_parameters()
        X, y = inputs.training_data(self, X, y)
        estimators = inputs.as_list(self.estimator)
        weight = inputs.weights(estimators, X, sample_weight)
        self.classes_, index = np.unique(y, return_inverse=True)
        random = None if self.random_state is None else check_random_state(self.random_state)
        seed = 0 if random is None else int(random.randint(2**31 - 1))
        size: Any = self.size
        if size == sizing.AUTO:
            self.size_report_ = sizing.choose_size(self, X, y, weight)
            size = self.size_report_.size
        self.panel_ = self._panel(size, seed)
        seeds = None if random is None else random.randint(2**31 - 1, size=len(self.panel_)).tolist()
        by_class = training.ClassRows.of(index, len(self.classes_))
        rows = [by_class.known(known) for known in self.panel_.knows]
        models = training.clones(self.panel_, estimators, seeds)
        # X and y are arguments of every call, not parts of something else: they travel to a worker once.
        with _skip_checks(X):
            self.experts_ = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(training.fit_expert)(name, model, X, y, mine, weight)
                for name, model, mine in zip(self.panel_.names, models, rows, strict=True)
            )
        self._fitted = FittedPanel.of(self.panel_, self.experts_, self.classes_, self.decoder)
        return self

    def _check_parameters(self) -> None:
        models = inputs.as_list(self.estimator)
        for model in models:
            if not hasattr(model, "fit") or not hasattr(model, "predict"):
                raise InputError(
                    f"estimator {model!r} is not a classifier: it needs the methods fit and predict"
                )
        if not models:
            raise InputError("the list of estimators is empty; give at least one")
        if self.panel is not None and not isinstance(self.panel, Panel):
            raise InputError(f"panel must be a covote.Panel, not {self.panel!r}; Panel.load(path) reads one")
        if not _is_size(self.size):
            raise InputError(
                f"cannot parse size={self.size!r}; give a number of classes, one for each expert, or 'auto'"
            )
        if self.panel is not None and self.size is not None:
            raise InputError(f"give size={self.size} or a panel, not both")
        _check_decoder(self.decoder)

    def _panel(self, size: int | Sequence[int] | None, seed: int) -> Panel:
        if self.panel is None:
            return training.design_panel(self.classes_, size, self.redundancy, self.method, seed)
        panel = training.match_classes(self.panel, self.classes_)
        warning = training.uncovered_warning(panel)
        if warning:
            warnings.warn(warning, stacklevel=3)
        return panel

    @classmethod
    def from_experts(
        cls,
        panel: Panel,
        fitted: Sequence[Any] | Mapping[Name, Any],
        *,
        decoder: str = FUSED,
    ) -> PanelClassifier:
        """Let models vote that were trained elsewhere; they are used as they are.

        Parameters
        ----------
        panel
            Who knows what.
        fitted
            One model per expert, in the order of ``panel.names`` or by name. Each answers with the names of
            its classes (``predict``), and may give probabilities (``predict_proba``, ``classes_``).
        decoder
            As for the class.
        """
        models = inputs.by_expert(panel, fitted)
        _check_decoder(decoder)
        self = cls(models, panel=panel, decoder=decoder)
        self.classes_ = inputs.class_array(panel.classes)
        self.panel_ = training.match_classes(panel, self.classes_)
        self.experts_ = models
        self._fitted = FittedPanel.of(self.panel_, models, self.classes_, decoder)
        return self

    def without_expert(self, *names: Name) -> PanelClassifier:
        """Return the trained classifier without some experts: what is left after an outage."""
        check_is_fitted(self)
        panel = self.panel_.without(*names)
        if len(panel) == 0:
            raise InputError(f"no expert is left without {', '.join(map(str, names))}; keep at least one")
        left = copy.copy(self)
        left.panel_ = panel
        left.experts_ = [self.experts_[self.panel_.expert_index(name)] for name in panel.names]
        left._fitted = self._fitted.only(panel.names)
        return left

    # Labelling

    def votes(self, X: Any, *, probabilities: bool = False) -> Votes:
        """Return what the experts answer, for :func:`covote.decode` and its evidence.

        Experts that know a single class are not asked. With `probabilities`, the votes carry what each expert
        gives to the classes it knows.
        """
        with self._check_items(X) as X:
            return self._fitted.votes(X, probabilities)

    def predict(self, X: Any) -> Array:
        """Return the class of every item: the one with the highest score (:meth:`decision_function`)."""
        with self._check_items(X) as X:
            return self.classes_[self._fitted.labels(X)]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class (items x classes): the softmax of the score."""
        with self._check_items(X) as X:
            return self._fitted.probabilities(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`."""
        with self._check_items(X) as checked:
            alone = self._fitted.alone
            if alone is not None and alone.model.has("predict_log_proba"):
                return np.asarray(alone.model.estimator.predict_log_proba(checked))
        with np.errstate(divide="ignore"):
            logarithm: NDArray[np.float64] = np.log(self.predict_proba(X))
            return logarithm

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class (items x classes); for two classes, how far the second is ahead.

        The score is log q_k + 4 N_k / d_k by default: q is what the experts' probabilities say together, and
        N_k of the d_k experts who know class k vote for it. With ``decoder="authority"`` it counts votes, and
        the experts' confidence decides between classes with equally many.
        """
        with self._check_items(X) as X:
            return self._fitted.decision(X)

    @contextmanager
    def _check_items(self, X: Any) -> Iterator[Any]:
        """Check items once, so that the experts need not; give them as the experts take them."""
        check_is_fitted(self)
        X = inputs.new_data(self, X)
        with _skip_checks(X):
            yield X

    # What scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return inputs.tags(tags, inputs.as_list(self.estimator))
