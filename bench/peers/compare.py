#!/usr/bin/env python3
"""brio beside llama.cpp: same file, same threads, rounds in turn; medians and ratios.

    build/venv-peers/bin/python bench/peers/compare.py MODEL.gguf [--rounds 7] [--threads 2]

Three quantities: milliseconds of one decode step alone, of a 512-token prefill, and tokens/s of 8 sequences decoding
together. llama.cpp runs with flash attention off and on; the better of the two is what brio is held against. brio runs
as its server and reports its own timings per request; for the batch, tokens are counted while all streams are running.
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
SEQUENCES = 8


class LlamaCpp:
    def __init__(self, model, threads, flash):
        command = [sys.executable, HERE / "llama_cpp_peer.py", model, "--threads", str(threads)] + ["--flash"] * flash
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello = json.loads(self.process.stdout.readline())

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["ms"]

    def prefill_ms(self):
        return self.ask(prefill=PREFILL)

    def decode_ms(self):
        return statistics.median(self.ask(decode=STEPS, context=CONTEXT))

    def batch_tokens_per_second(self):
        return SEQUENCES * 1000 / statistics.median(self.ask(decode=STEPS, sequences=SEQUENCES, context=CONTEXT))

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

    def batch_tokens_per_second(self):
        """Tokens between the moment when every stream has begun and the first end of one."""
        stamps = [[] for _ in range(SEQUENCES)]

        def read(i, request):
            with urllib.request.urlopen(request) as answer:
                for line in answer:
                    if line.startswith(b"data: {"):
                        stamps[i].append(time.perf_counter())

        requests = [self.request(self.prompt(CONTEXT), STEPS, stream=True) for _ in range(SEQUENCES)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--brio", default="build/brio")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    peers = {"llama.cpp": LlamaCpp(args.model, args.threads, False),
             "llama.cpp flash": LlamaCpp(args.model, args.threads, True),
             "brio": Brio(args.brio, args.model, args.threads)}
    print(peers["llama.cpp"].hello["ready"], "|", peers["llama.cpp"].hello["system_info"])
    for measure, better in (("decode_ms", min), ("prefill_ms", min), ("batch_tokens_per_second", max)):
        results = {name: [] for name in peers}
        for round_number in range(args.rounds + 1):
            for name, peer in peers.items():
                value = getattr(peer, measure)()
                if round_number > 0:  # the first warms up
                    results[name].append(value)
        medians = {name: statistics.median(values) for name, values in results.items()}
        best = better(value for name, value in medians.items() if name != "brio")
        factor = medians["brio"] / best if better is max else best / medians["brio"]
        shown = "  ".join(f"{name} {value:.2f} ({min(results[name]):.2f} to {max(results[name]):.2f})"
                          for name, value in medians.items())
        print(f"{measure:24} {shown}  brio is {factor:.2f} x as fast", flush=True)
    for peer in peers.values():
        peer.close()


if __name__ == "__main__":
    main()
