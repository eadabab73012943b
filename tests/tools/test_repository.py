"""The layer rules are enforced, links lead somewhere, every module says what it is."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(root):
    run = subprocess.run([ROOT / "tools" / "check_layers", root], capture_output=True, text=True)
    return run.returncode, run.stdout


def write(root, name, text):
    path = root / "src" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_repository_keeps_the_layers():
    code, said = check(ROOT)
    assert code == 0, said


@pytest.mark.parametrize("name, line", [
    ("kernels/a.cc", '#include "tensor/dtype.h"'),
    ("engine/a.h", '#include "server/routes.h"'),
    ("gateway/a.cc", '#include "engine/engine.h"'),
    ("engine/a.cc", "#include <boost/json.hpp>"),
    ("kernels/a.cc", "#include <thread>"),
    ("kernels/a.cc", '#include "base/thread_pool.h"'),
    ("base/a.cc", '#include "result.h"'),
    ("newcomer/a.cc", '#include "base/result.h"'),
    ("kv/a_test.cc", '#include "engine/engine.h"'),
])
def test_a_forbidden_include_is_named(tmp_path, name, line):
    write(tmp_path, name, f"// a\n{line}\n")
    code, said = check(tmp_path)
    assert code == 1
    assert f"src/{name}" in said


def test_allowed_includes_pass(tmp_path):
    write(tmp_path, "engine/a.cc", '#include <vector>\n#include "engine/b.h"\n#include "base/result.h"\n#include "kv/c.h"\n')
    write(tmp_path, "engine/a_test.cc", '#include "weights/gguf_writer.h"\n')  # below model, which engine may include
    write(tmp_path, "server/a.cc", '#include "engine/engine.h"\n#include "chat/template.h"\n')
    code, said = check(tmp_path)
    assert code == 0, said


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_module_says_what_it_is():
    for module in sorted((ROOT / "src").iterdir()):
        if module.is_dir():
            readme = module / "README.md"
            assert readme.exists(), f"{module.name} has no README.md"
            assert len(readme.read_text().splitlines()) <= 40, f"{module.name}/README.md is longer than 40 lines"
