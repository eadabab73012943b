"""What ./brio-up and ./brio-test stand on: packages for those who are not root, the commit in the version."""
import os
import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def with_setup(script, **variables):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", f"source tools/setup.sh; id() {{ echo 1000; }}; {script}"], cwd=REPOSITORY,
                          env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)


def test_without_root_and_sudo_the_line_to_run_is_printed():
    ended = with_setup("PATH=/nonexistent; choose_sudo 'g++ cmake'")
    assert ended.returncode == 2
    assert "apt-get update && apt-get install -y --no-install-recommends g++ cmake" in ended.stderr


def test_sudo_hands_the_proxies_on():
    script = "sudo() { printf '%s\\n' \"$@\"; }; choose_sudo cmake; apt_get update"
    passed = with_setup(script, http_proxy="http://proxy:3128", no_proxy="").stdout.split("\n")
    assert "http_proxy=http://proxy:3128" in passed and "no_proxy=" not in passed
    assert passed.index("http_proxy=http://proxy:3128") < passed.index("apt-get") < passed.index("update")


@pytest.fixture
def project(tmp_path):
    """A project of nothing but cmake/version.cmake, without git around it or in it."""
    if not shutil.which("cmake") or not shutil.which("ninja"):
        pytest.skip("cmake or ninja is missing")
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(x VERSION 1 LANGUAGES NONE)\ninclude({REPOSITORY}/cmake/version.cmake)\n")
    return tmp_path


def run(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=120).stdout.strip()


def built_commit(folder):
    header = (folder / "build/generated/brio_version.h").read_text()
    return header.split('kCommit = "')[1].split('"')[0]


def commit(folder):
    run(folder, "git", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
    return run(folder, "git", "rev-parse", "--short=12", "HEAD")


def test_an_unpacked_archive_has_no_commit(project):
    run(project, "cmake", "-G", "Ninja", "-B", "build")
    assert built_commit(project) == "unknown"


def test_the_next_build_knows_the_next_commit(project):
    run(project, "git", "init", "-q")
    first = commit(project)
    run(project, "cmake", "-G", "Ninja", "-B", "build")
    assert built_commit(project) == first
    second = commit(project)
    run(project, "cmake", "--build", "build")
    assert built_commit(project) == second != first
