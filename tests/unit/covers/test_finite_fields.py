import numpy as np
import pytest

from covote.covers.constructions.finite_fields import finite_field, prime_power
from covote.errors import InputError


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 32, 49])
def test_a_field_has_inverses_and_distributes(q):
    field = finite_field(q)
    a, b, c = np.meshgrid(*[np.arange(q)[:12]] * 3, indexing="ij")
    assert np.array_equal(
        field.multiply(a, field.add(b, c)), field.add(field.multiply(a, b), field.multiply(a, c))
    )
    assert np.array_equal(field.multiply(a, field.multiply(b, c)), field.multiply(field.multiply(a, b), c))
    everything = np.arange(q)
    products = field.multiply(everything[1:, None], everything[None, 1:])
    assert np.array_equal(np.sort(products, axis=1), np.tile(everything[1:], (q - 1, 1)))
    sums = field.add(everything[:, None], everything[None, :])
    assert np.array_equal(np.sort(sums, axis=1), np.tile(everything, (q, 1)))


def test_prime_powers_up_to_thirty():
    assert [q for q in range(31) if prime_power(q)] == [
        2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29
    ]  # fmt: skip


@pytest.mark.parametrize("q", [0, 1, 6, 12, 100])
def test_there_is_no_field_of_other_orders(q):
    with pytest.raises(InputError, match=str(q)):
        finite_field(q)
