"""Combine the models of six hospitals that cannot share patient records.

Each hospital treats three of six diagnoses. It trains a model of its choice on its own patients and shares
only the model. Every pair of diagnoses is treated in at least one hospital, which is enough to tell all six
apart. The patients are made up.

    python examples/hospital_silos.py
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from covote import PanelClassifier, decode, design

DIAGNOSES = ["anaemia", "diabetes", "gout", "hepatitis", "nephritis", "thyroiditis"]
HOSPITALS = {
    "Aalborg": make_pipeline(StandardScaler(), LogisticRegression()),
    "Bergen": RandomForestClassifier(100, random_state=0),
    "Cork": GaussianNB(),
    "Dresden": make_pipeline(StandardScaler(), SVC()),  # gives no probabilities, only answers and margins
    "Evora": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "Fribourg": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
}
MEASUREMENTS = 10

# What each diagnosis does to ten blood values, on average. Hospitals do not know this table.
EFFECT = 1.1 * np.random.default_rng(7).normal(size=(len(DIAGNOSES), MEASUREMENTS))


def patients(diagnoses, each, seed):
    """Return blood values and diagnoses of made-up patients."""
    truth = np.repeat(diagnoses, each)
    index = [DIAGNOSES.index(name) for name in truth]
    return EFFECT[index] + np.random.default_rng(seed).normal(size=(len(truth), MEASUREMENTS)), truth


def main():
    panel = design(DIAGNOSES, 3).renamed(HOSPITALS)
    print(f"{len(panel)} hospitals treat 3 of {len(DIAGNOSES)} diagnoses each. Who treats what:\n")

    # Each hospital trains on its own patients, and hands over only the fitted model.
    models = {}
    for seed, (hospital, treated) in enumerate(zip(panel.names, panel.blocks(), strict=True)):
        models[hospital] = HOSPITALS[hospital].fit(*patients(treated, each=100 + 40 * seed, seed=seed))
    new, truth = patients(DIAGNOSES, each=300, seed=99)
    for hospital, treated in zip(panel.names, panel.blocks(), strict=True):
        mine = np.isin(truth, treated)
        kind = getattr(models[hospital], "steps", [("", models[hospital])])[-1][1]
        print(
            f"  {hospital:9} {', '.join(treated):34} {type(kind).__name__:31}"
            f" right about its own diagnoses: {models[hospital].score(new[mine], truth[mine]):.1%},"
            f" about all: {models[hospital].score(new, truth):.1%}"
        )

    # In one place, the models vote. Nothing is trained here.
    fused = PanelClassifier.from_experts(panel, models)
    print(f"\nTogether they are right about {fused.score(new, truth):.1%} of all new patients.")
    pooled = make_pipeline(StandardScaler(), LogisticRegression())
    everything = [patients(treated, 100 + 40 * seed, seed) for seed, treated in enumerate(panel.blocks())]
    pooled.fit(*(np.concatenate(part) for part in zip(*everything, strict=True)))
    print(f"One model trained on all records would be right about {pooled.score(new, truth):.1%}.")

    labels = decode(fused.votes(new), method="authority")
    right = fused.predict(new) == truth
    print("\nThe status shows how far to trust a label:")
    for status, count in labels.count().items():
        rows = labels.status == status
        if status != "incomplete" and count:
            print(f"  {status:9} {count:5} patients, {right[rows].mean():.1%} right")

    patient = int(np.flatnonzero(labels.status == "conflict")[0])
    print(f"\nA patient about whom some hospital must be wrong (the truth is {truth[patient]}):")
    for hospital, answer in zip(panel.names, fused.votes(new).dense[patient], strict=True):
        print(f"  {hospital:9} says {fused.classes_[answer]}")
    print(f"  together  {fused.predict(new[patient : patient + 1])[0]}")


if __name__ == "__main__":
    main()
