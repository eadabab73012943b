"""bench/peers/compare.py: rounds in turn and ratios, on peers that are made up."""
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("compare", ROOT / "bench" / "peers" / "compare.py")
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)


def test_an_engine_counts_with_its_better_variant():
    milliseconds = {"llama.cpp": 30.0, "llama.cpp flash": 20.0, "openvino": 40.0, "brio": 10.0}
    assert compare.ratios(milliseconds, more_is_better=False) == {"llama.cpp": 2.0, "openvino": 4.0}
    rates = {"llama.cpp": 30.0, "llama.cpp flash": 20.0, "brio": 15.0}
    assert compare.ratios(rates, more_is_better=True) == {"llama.cpp": 0.5}


def test_rounds_take_turns_and_the_first_is_dropped():
    calls = []

    def measure(peer):
        calls.append(peer)
        return len(calls)

    results = compare.rounds_in_turn({"a": "A", "b": "B"}, 2, measure)
    assert calls == ["A", "B"] * 3
    assert results == {"a": [3, 5], "b": [4, 6]}


def test_a_peer_that_stops_says_so(capsys):
    class Args:
        model, threads, batch, peers, openvino_model = "no-such-file.gguf", 1, [2], ["openvino"], None

    assert compare.start_peers(Args) == {}  # without the package, or without the file
    assert "openvino: left out:" in capsys.readouterr().out
