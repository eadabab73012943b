#!/usr/bin/env python3
"""brio beside llama.cpp and OpenVINO GenAI: same file, same threads, rounds in turn; medians and ratios.

    build/venv-peers/bin/python bench/peers/compare.py MODEL.gguf [--rounds 7] [--threads 2]
        [--openvino-model OTHER.gguf] [--peers llama.cpp,openvino] [--json FILE]

Milliseconds of one decode step alone, of a 512-token prefill, and tokens/s of several sequences decoding together.
llama.cpp runs with flash attention off and on; the better of the two is what brio is held against. A peer that cannot
load the file says so and is left out; --openvino-model names a file that convert_for_openvino.py has made for it. brio
runs as its server and reports its own timings per request; for batches, tokens are counted while all streams run.
"""
import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 64
CONTEXT = 16
PREFILL = 512


class Peer:
    """A process that keeps one model loaded and answers commands, one JSON object a line."""

    def __init__(self, script, model, threads, *flags):
        command = [sys.executable, HERE / script, model, "--threads", str(threads), *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.hello = json.loads(line) if line else {"error": f"{script} stopped with exit code {self.process.wait()}"}

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a peer stopped with exit code {self.process.wait()}: {self.process.args}")
        return json.loads(line)["ms"]

    def prefill_ms(self):
        return self.ask(prefill=PREFILL)

    def decode_ms(self):
        return statistics.median(self.ask(decode=STEPS, context=CONTEXT))

    def batch_tokens_per_second(self, sequences):
        return sequences * 1000 / statistics.median(self.ask(decode=STEPS, sequences=sequences, context=CONTEXT))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Brio:
    def __init__(self, binary, model, threads):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([binary, "serve", model, "--port", str(port), "--threads", str(threads)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                urllib.request.urlopen(self.url + "/health").read()
                break
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    raise SystemExit(f"{binary} serve {model} stopped with exit code {self.process.returncode}")
                time.sleep(0.2)
        with urllib.request.urlopen(self.url + "/v1/models") as answer:
            self.model = json.load(answer)["data"][0]["id"]
        self.calls = 0

    def request(self, prompt, max_tokens, **more):
        body = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True}
        return urllib.request.Request(self.url + "/v1/completions", json.dumps(body | more).encode(),
                                      {"Content-Type": "application/json"})

    def timings(self, prompt, max_tokens):
        with urllib.request.urlopen(self.request(prompt, max_tokens)) as answer:
            return json.load(answer)["timings"]

    def prompt(self, length):  # never the same twice, so that no cache of prefixes can help
        self.calls += 1
        return [100 + (i * 37 + self.calls * 101) % 40000 for i in range(length)]

    def prefill_ms(self):
        return self.timings(self.prompt(PREFILL), 1)["ttft_ms"]

    def decode_ms(self):
        return self.timings(self.prompt(CONTEXT), STEPS)["tpot_ms"]

    def batch_tokens_per_second(self, sequences):
        """Tokens between the moment when every stream has begun and the first end of one."""
        stamps = [[] for _ in range(sequences)]

        def read(i, request):
            with urllib.request.urlopen(request) as answer:
                for line in answer:
                    if line.startswith(b"data: {"):
                        stamps[i].append(time.perf_counter())

        requests = [self.request(self.prompt(CONTEXT), STEPS, stream=True) for _ in range(sequences)]
        threads = [threading.Thread(target=read, args=pair) for pair in enumerate(requests)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        begin, end = max(s[0] for s in stamps), min(s[-2] for s in stamps)
        return sum(begin < t <= end for s in stamps for t in s) / (end - begin)

    def close(self):
        self.process.terminate()
        self.process.wait()


def start_peers(args):
    """The peers that can load the model, by name; those that cannot say why."""
    llama_flags = ("--sequences", str(max(args.batch)))
    commands = {"llama.cpp": ("llama_cpp_peer.py", args.model, args.threads, *llama_flags),
                "llama.cpp flash": ("llama_cpp_peer.py", args.model, args.threads, *llama_flags, "--flash"),
                "openvino": ("openvino_peer.py", args.openvino_model or args.model, args.threads)}
    peers = {}
    for name, command in commands.items():
        if name.split()[0] not in args.peers:
            continue
        peer = Peer(*command)
        if "error" in peer.hello:
            print(f"{name}: left out: {peer.hello['error']}")
        else:
            print(f"{name}: {peer.hello['ready']} | {peer.hello['system_info']}")
            peers[name] = peer
    return peers


def rounds_in_turn(peers, rounds, measure):
    """{name: [a value per round]}; the first round warms up and is dropped."""
    results = {name: [] for name in peers}
    for round_number in range(rounds + 1):
        for name, peer in peers.items():
            value = measure(peer)
            if round_number > 0:
                results[name].append(value)
    return results


def ratios(medians, more_is_better):
    """How many times as fast brio is as each engine: the better variant of one that runs in several."""
    engines = {}
    for name, value in medians.items():
        engines.setdefault(name.split()[0], []).append(value if more_is_better else 1 / value)
    brio = max(engines.pop("brio"))
    return {engine: brio / max(speeds) for engine, speeds in engines.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--brio", default="build/brio")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=lambda text: [int(n) for n in text.split(",")], default=[8],
                        help="numbers of sequences that decode together, such as 4,8,16,32")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["llama.cpp", "openvino"])
    parser.add_argument("--openvino-model", help="the same model in a form that OpenVINO reads")
    parser.add_argument("--json", help="where to write all rounds")
    args = parser.parse_args()
    peers = start_peers(args)
    peers["brio"] = Brio(args.brio, args.model, args.threads)
    measures = [("decode_ms", "decode_ms", (), False), ("prefill_ms", "prefill_ms", (), False)]
    measures += [(f"tokens_per_second_of_{n}", "batch_tokens_per_second", (n,), True) for n in args.batch]
    report = {}
    for title, method, arguments, more_is_better in measures:
        results = rounds_in_turn(peers, args.rounds, lambda peer: getattr(peer, method)(*arguments))
        medians = {name: statistics.median(values) for name, values in results.items()}
        factors = ratios(medians, more_is_better)
        report[title] = {"rounds": results, "brio_times_as_fast": factors}
        print(f"{title:32} " + "  ".join(f"{name} {value:.2f} ({min(results[name]):.2f} to {max(results[name]):.2f})"
                                         for name, value in medians.items()))
        print(" " * 33 + ", ".join(f"{factor:.2f} x as fast as {name}" for name, factor in factors.items()), flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n")
    for peer in peers.values():
        peer.close()


if __name__ == "__main__":
    main()
