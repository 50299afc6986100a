"""See what it costs when experts fail, and how redundancy helps.

Two panels learn the ten digits. In the first, every pair of digits is known by at least one expert; in the
second, by at least two. Then up to three experts go offline, and nothing is trained again.

    python examples/outage.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from covote import PanelClassifier


def accuracy_by_outage(model, X, y, lost):
    """Return worst and mean accuracy and the mean number of uncovered pairs, over 20 outages."""
    accuracy, uncovered = [], []
    for seed in range(20):
        gone = np.random.default_rng(seed).choice(len(model.panel_), lost, replace=False)
        left = model.without_expert(*(model.panel_.names[i] for i in gone))
        accuracy.append(left.score(X, y))
        uncovered.append(len(left.panel_.uncovered()))
    return min(accuracy), np.mean(accuracy), np.mean(uncovered)


def main():
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X / 16, y, test_size=0.4, random_state=0)
    for redundancy in (1, 2):
        expert = LogisticRegression(C=10, max_iter=1000)
        model = PanelClassifier(expert, size=4, redundancy=redundancy).fit(X, y)
        print(f"\nRedundancy {redundancy}: {len(model.panel_)} experts who know 4 digits each")
        print("  lost   uncovered pairs   accuracy: mean   worst")
        print(f"     0   {0:15}   {model.score(X_new, y_new):14.1%}")
        for lost in (1, 2, 3):
            worst, mean, uncovered = accuracy_by_outage(model, X_new, y_new, lost)
            print(f"  {lost:4}   {uncovered:15.1f}   {mean:14.1%}   {worst:5.1%}")

    name = model.panel_.names[0]
    left = model.without_expert(name)
    print(f"\nWithout {name}, who knew {', '.join(map(str, model.panel_.blocks()[0]))}:\n  {left.panel_}")
    single = PanelClassifier(LogisticRegression(C=10, max_iter=1000), size=4).fit(X, y)
    alone = single.without_expert(name)
    print(f"The panel without redundancy, after the same loss:\n  {alone.panel_}")
    pairs = alone.panel_.uncovered()
    print("  Only the other experts' confidence can tell these apart:", *(f"{a}/{b}" for a, b in pairs))


if __name__ == "__main__":
    main()
