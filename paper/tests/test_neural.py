"""Networks and their training, on tiny made-up images."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from covote.errors import FileError, InputError, MissingDependencyError
from paper.cores import end_processes
from paper.datasets import DataSource
from paper.experiment import TRAINERS, Context
from paper.reproduce import reproduce
from paper.store import Store
from paper.tests.made_up import bars
from paper.trainers.networks import (
    NETWORKS,
    TrainedNetwork,
    batches,
    centre_of,
    fit,
    flip_and_shift,
)
from paper.trainers.neural import (
    PAPER_MNIST,
    NeuralTrainer,
    Recipe,
    few_cifar10,
    paper_cifar10,
    paper_mnist,
)

TINY = Recipe("strided", batch=16, rate=0.1, epochs=5, schedule="one-cycle", centre="channels")


@pytest.fixture(autouse=True, scope="module")
def no_process_is_left():
    yield
    end_processes()


def parameters(name: str, channels: int, side: int, classes: int) -> int:
    return sum(weight.numel() for weight in NETWORKS[name](channels, side, classes).parameters())


def test_the_papers_networks_have_the_sizes_that_keras_prints():
    assert parameters("mnist_cnn", 1, 28, 10) == 1_199_882
    assert parameters("tutorial_cnn", 3, 32, 10) == 122_570


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("channels", "side"), [(1, 28), (3, 32)])
def test_a_network_answers_with_the_classes_it_knows(name, channels, side):
    network = NETWORKS[name](channels, side, 4).eval()
    with torch.inference_mode():
        assert network(torch.rand(2, channels, side, side)).shape == (2, 4)


def test_the_same_seed_trains_the_same_expert_and_another_seed_another():
    data = bars()
    first, again, other = (
        fit(data.train_x, data.train_y, 10, TINY, seed).probabilities(data.test_x) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.allclose(first.sum(axis=1), 1, atol=1e-5)


def test_training_leaves_the_callers_randomness_and_threads_alone():
    data = bars(train=40, test=10)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    fit(data.train_x, data.train_y, 10, replace(TINY, epochs=1), 0)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_experts_learn_what_they_know_and_answer_everything():
    data = bars(noise=30)
    model = NeuralTrainer("tiny", TINY, True, train_rows=30, workers=1)
    told = []
    experts = {e.subset: e for e in model.train(data, [(0, 1, 2, 3), (3, 7)], lambda *a: told.append(a))}
    for subset, expert in experts.items():
        assert expert.train.shape == (30, len(subset))
        assert expert.test.shape == (len(data.test_y), len(subset))
        mine = np.isin(data.test_y, subset)
        said = np.array(subset)[expert.test[mine].argmax(axis=1)]
        assert np.mean(said == data.test_y[mine]) > 0.9
    images = int(np.isin(data.train_y, (0, 1, 2, 3)).sum() + np.isin(data.train_y, (3, 7)).sum())
    assert told[-1] == (images, images, "mnist: tiny, 2 of 2 experts")


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    data, subsets = bars(train=60, test=20), [(0, 1), (2, 3), (4, 5)]
    model = NeuralTrainer("tiny", replace(TINY, epochs=1), True, workers=1)

    def stop(done, total, message):
        if "1 of 3 experts" in message:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).experts(data, model, subsets, stop)
    told = []
    experts = Store(tmp_path).experts(data, model, subsets, lambda *a: told.append(a))
    assert "2 of 2 experts" in told[-1][2]
    assert set(experts.by_subset) == set(subsets)


def test_two_processes_train_the_same_experts_as_one():
    data, subsets = bars(), [(0, 1), (2, 5), (4, 8, 9)]
    short = replace(TINY, epochs=1)
    alone, together = (
        {
            e.subset: e.test
            for e in NeuralTrainer("tiny", short, True, 0, workers=w).train(data, subsets, print)
        }
        for w in (1, 2)
    )
    assert alone.keys() == together.keys() == set(subsets)
    for subset in subsets:
        assert np.array_equal(alone[subset], together[subset])


def test_no_training_rows_are_no_rows():
    data = bars(train=40, test=10)
    model = NeuralTrainer("tiny", replace(TINY, epochs=1), True, train_rows=0, workers=1)
    assert next(iter(model.train(data, [(1, 2)], print))).train.shape == (0, 2)


def test_the_set_up_of_profile_paper_starts_with_tiny_settings():
    grey = bars(train=40, test=10)
    wide = np.kron(grey.train_x, np.ones((1, 3, 3), np.uint8))[:, :32, :32]
    colour = np.stack([wide] * 3, axis=3)
    for model, images in ((paper_mnist(), wide[:, :28, :28]), (paper_cifar10(), colour)):
        expert = fit(images, grey.train_y, 10, replace(model.training, epochs=1), 0)
        assert np.isfinite(expert.probabilities(images)).all()


def test_mnist_has_the_papers_recipe():
    assert (PAPER_MNIST.network, PAPER_MNIST.batch, PAPER_MNIST.epochs) == ("mnist_cnn", 128, 12)
    assert (paper_mnist().surrogate, paper_mnist().train_rows) == (False, None)


def test_with_few_images_experts_take_half_of_the_epochs_in_the_papers_batches():
    whole, few = paper_cifar10().training, few_cifar10().training
    assert few == replace(whole, epochs=whole.epochs // 2, batch=32, rate=whole.rate * 32 / whole.batch)


class Seen(torch.nn.Sequential):
    """A network that writes down how large the images of each step are."""

    sides: ClassVar[list[int]] = []

    def forward(self, images):
        if self.training:
            self.sides.append(images.shape[2])
        return super().forward(images)


def seen(channels, side, classes):
    return Seen(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(16 * channels, classes))


def test_steps_have_16_bits_where_that_is_quick_and_weights_and_answers_32():
    found = {}

    def watched(channels, side, classes):
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(channels * side * side, classes))
        network.register_forward_hook(lambda self, _, out: found.update({self.training: out.dtype}))
        return network

    data = bars(noise=30)
    expert = fit(data.train_x, data.train_y, 10, replace(TINY, network=watched, bfloat16=True), 0)
    said = expert.probabilities(data.test_x).argmax(axis=1)
    quick = torch.cuda.is_available() or torch.backends.cpu.get_cpu_capability() == "AVX512"
    assert found == {True: torch.bfloat16 if quick else torch.float32, False: torch.float32}
    assert {weight.dtype for weight in expert.network.parameters()} == {torch.float32}
    assert np.mean(said == data.test_y) > 0.9


def test_only_the_first_half_of_the_epochs_sees_smaller_images():
    data = bars(train=40, test=10)
    side = data.train_x.shape[1]
    recipe = Recipe(seen, batch=20, rate=0.1, epochs=5, early_scale=0.5)
    fit(data.train_x, data.train_y, 10, recipe, 0)
    assert Seen.sides == [side // 2] * 4 + [side] * 6


def test_answers_are_averaged_over_flips_and_shifts():
    def brightness(images):  # of the upper left corner
        return images[:, 0, :2, :2].sum(dim=(1, 2))[:, None] * torch.tensor([[1.0, 0.0]])

    images = np.random.default_rng(0).integers(0, 256, (3, 6, 6), dtype=np.uint8)
    centre = (torch.zeros(1), torch.ones(1))
    network = torch.nn.Module()
    network.forward = brightness
    told = TrainedNetwork(network, 2, centre, averaged=True).probabilities(images)
    expected = np.zeros(3)
    for weight, (down, right) in ((0.5, (1, 1)), (0.25, (0, 0)), (0.25, (2, 2))):
        for n, image in enumerate(np.pad(images / 255, ((0, 0), (1, 1), (1, 1)), mode="reflect")):
            cut = image[down : down + 6, right : right + 6]
            expected[n] += weight / 2 * (cut[:2, :2].sum() + cut[:2, -2:].sum())
    assert np.allclose(told[:, 0], 1 / (1 + np.exp(-expected)), atol=1e-6)


class Killed(Exception):
    pass


def test_a_training_that_is_killed_after_any_epoch_ends_with_the_same_numbers(tmp_path):
    data = bars(train=60, test=20)
    colour = np.stack([data.train_x] * 3, axis=3)
    # Dropout, momentum, running statistics, shuffled and shifted images: all of it has to go on.
    dropping = Recipe(
        with_dropout, batch=16, rate=0.1, epochs=4, augment="flips and shifts", schedule="triangle"
    )
    white = replace(
        dropping, network="whitened", centre="channels", smoothing=0.2, bias_rate=64.0, early_scale=0.75
    )
    for recipe in (dropping, white):
        whole = fit(colour, data.train_y, 10, recipe, 3).probabilities(colour)
        for stop in (1, 2, 3):
            keep = tmp_path / f"{recipe.text()[:12]}-{stop}.pt"
            seen = []

            def look(expert, seen=seen, stop=stop):
                if len(seen) == stop:
                    raise Killed
                seen.append(0)
                return 0.5

            with pytest.raises(Killed):
                fit(colour, data.train_y, 10, recipe, 3, keep=keep, look=look)
            expert = fit(colour, data.train_y, 10, recipe, 3, keep=keep, look=lambda expert: 0.5)
            assert np.array_equal(expert.probabilities(colour), whole)
            assert [right for _, right in expert.curve] == [0.5] * 4
            assert expert.curve[-1][0] == expert.seconds


def with_dropout(channels, side, classes):
    wide = channels * side * side
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(wide, classes))


def test_a_finished_training_is_not_repeated_and_a_broken_file_is_named(tmp_path):
    data, keep = bars(train=40, test=10), tmp_path / "0-1.pt"
    first = fit(data.train_x, data.train_y, 10, TINY, 0, keep=keep)
    again = fit(data.train_x, data.train_y, 10, TINY, 0, keep=keep)
    assert again.seconds == first.seconds
    assert np.array_equal(again.probabilities(data.test_x), first.probabilities(data.test_x))
    keep.write_bytes(b"half of a file")
    with pytest.raises(FileError, match=r"0-1\.pt cannot be read .*; remove it and run again"):
        fit(data.train_x, data.train_y, 10, TINY, 0, keep=keep)


def test_the_first_layer_whitens_patches():
    images = torch.rand(200, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    images[:, 1] += images[:, 0]
    network = NETWORKS["whitened"](3, 8, 2)
    network.set_whitening(images)
    with torch.inference_mode():
        found = network[0](images).permute(0, 2, 3, 1).reshape(-1, 24).double()
    assert torch.allclose(found[:, :12], -found[:, 12:], atol=1e-4)
    second_moments = found[:, :12].T @ found[:, :12] / len(found)
    assert torch.allclose(second_moments, torch.eye(12).double(), atol=0.05)


def test_every_image_set_has_a_trainer():
    for images in TRAINERS["quick"]:
        assert TRAINERS["paper"][images](seed=3).recipe.endswith("seed 3")


def test_a_recipe_needs_something_to_train():
    with pytest.raises(InputError, match="nothing to train"):
        Recipe("strided", batch=8, rate=0.1, epochs=0)


def test_without_torch_the_message_gives_the_install_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'covote\[torch\]'"):
        next(iter(paper_cifar10().train(bars(), [(0, 1)], print)))


def test_every_image_comes_once_in_an_epoch_in_batches_of_nearly_one_size():
    rows = batches(10, 4, torch.Generator().manual_seed(0))
    assert [len(part) for part in rows] == [4, 3, 3]
    assert sorted(torch.cat(rows).tolist()) == list(range(10))


def test_flips_and_shifts_equal_their_plain_twin():
    images = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    mirrored = torch.tensor([True, False, True, True, False, False])
    moved = flip_and_shift(images, mirrored, torch.Generator().manual_seed(5))
    down, right = torch.randint(-2, 3, (2, 6), generator=torch.Generator().manual_seed(5)) + 2
    for n, image in enumerate(images):
        padded = torch.nn.functional.pad(image[None], (2, 2, 2, 2), mode="reflect")[0]
        cut = padded[:, down[n] : down[n] + 8, right[n] : right[n] + 8]
        assert torch.equal(moved[n], cut.flip(2) if mirrored[n] else cut)


@pytest.mark.parametrize("colours", [1, 3])
def test_centres_are_those_of_the_pixels(colours):
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 4, colours), dtype=np.uint8)
    images = images[..., 0] if colours == 1 else images
    shaped = images.reshape(-1, colours) / 255
    mean, scale = centre_of(images, "channels", torch.device("cpu"))
    assert np.allclose(mean.flatten(), shaped.mean(axis=0), atol=1e-6)
    assert np.allclose(scale.flatten(), shaped.std(axis=0), atol=1e-5)


def test_profile_paper_runs_from_training_to_the_page(tmp_path, monkeypatch):
    once = replace(PAPER_MNIST, epochs=1)
    monkeypatch.setitem(
        TRAINERS["paper"], "mnist", lambda **options: replace(paper_mnist(**options), training=once)
    )
    context = Context(DataSource(tmp_path), tmp_path / "out", "paper", _images={"mnist": bars(30, 20)})
    report = reproduce(context, ["mnist"])
    assert report.left_out == {}
    (section,) = report.sections
    assert (section.models, section.surrogate) == ("mnist_cnn of keras", False)
    page = (tmp_path / "out" / "paper.md").read_text()
    assert "99.26" in page
    assert "surrogate" not in page.lower()
