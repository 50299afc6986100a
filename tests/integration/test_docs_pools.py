import doctest
from pathlib import Path


def test_the_examples_of_the_page_on_pools_run():
    page = Path(__file__).parents[2] / "docs" / "pools.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried > 15
