import pytest

from checker import Checker


@pytest.fixture(scope="session")
def check():
    checker = Checker()
    yield checker
    checker.close()
