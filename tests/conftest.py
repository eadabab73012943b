"""What several folders of tests share."""
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("BRIO_BUILD", pathlib.Path(__file__).resolve().parents[1] / "build"))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with the tiny models of tests/tiny, written anew for each file of tests."""
    for program in (BUILD / "brio", BUILD / "write_tiny_model"):
        if not program.exists():
            pytest.skip(f"{program} is not built")
    folder = tmp_path_factory.mktemp("tiny")
    subprocess.run([BUILD / "write_tiny_model", folder], check=True, stdout=subprocess.DEVNULL)
    return folder
