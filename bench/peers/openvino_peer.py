#!/usr/bin/env python3
"""OpenVINO GenAI as a peer: the same commands and answers as llama_cpp_peer.py.

    {"prefill": 512}                      -> {"ms": time of the steps that compute a prompt of 512 tokens and sample once}
    {"decode": 64, "sequences": 8, "context": 16}   -> {"ms": [time of each of 64 steps, one token for each sequence]}

Its continuous-batching pipeline is stepped by hand, so that a step is what it is elsewhere: one forward pass over all
sequences, and greedy sampling. No prefix cache; up to 512 tokens a step. Its GGUF reader knows llama, qwen2 and qwen3
and the types F32, F16, Q4_0, Q4_1, Q4_K, Q6_K and Q8_0; convert_for_openvino.py rewrites other types.
"""
import argparse
import importlib.metadata
import json
import sys
import time

import numpy
import openvino
import openvino_genai


class Peer:
    def __init__(self, path, threads, kv_type):
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_batched_tokens = 512
        scheduler.max_num_seqs = 64
        scheduler.cache_size = 1  # GB
        scheduler.enable_prefix_caching = False
        properties = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        if kv_type:
            properties["KV_CACHE_PRECISION"] = kv_type
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(path, scheduler, "CPU", properties)
        self.requests = 0

    def add(self, length, new_tokens):
        self.requests += 1
        ids = [100 + (i * 37 + self.requests * 101) % 40000 for i in range(length)]
        config = openvino_genai.GenerationConfig()
        config.max_new_tokens = new_tokens
        config.ignore_eos = True
        config.do_sample = False
        return self.pipeline.add_request(self.requests, openvino.Tensor(numpy.array([ids], dtype=numpy.int64)), config)

    def step(self):
        start = time.perf_counter()
        self.pipeline.step()
        return (time.perf_counter() - start) * 1000

    def finish(self):
        while self.pipeline.has_non_finished_requests():
            self.pipeline.step()

    def prefill(self, length):
        handle = self.add(length, 1)
        took = 0.0
        while self.pipeline.has_non_finished_requests():
            took += self.step()
        handle.read_all()
        return took

    def decode(self, steps, sequences, context):
        handles = [self.add(context, steps + 1) for _ in range(sequences)]
        computed = 0
        while computed < sequences * context:  # the prompts, as many in a step as fit
            self.pipeline.step()
            computed += 512
        took = [self.step() for _ in range(steps)]
        self.finish()
        for handle in handles:
            handle.read_all()
        return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kv-type", default="", help="KV_CACHE_PRECISION, such as bf16; default: OpenVINO's own choice")
    args = parser.parse_args()
    try:
        peer = Peer(args.model, args.threads, args.kv_type)
    except RuntimeError as error:
        print(json.dumps({"error": f"{args.model}: {' '.join(str(error).split())}"}), flush=True)
        return
    version = importlib.metadata.version("openvino-genai")
    features = ", ".join(openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
    print(json.dumps({"ready": f"openvino-genai {version}", "system_info": features}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "prefill" in command:
            answer = peer.prefill(command["prefill"])
        else:
            answer = peer.decode(command["decode"], command.get("sequences", 1), command.get("context", 16))
        print(json.dumps({"ms": answer}), flush=True)


if __name__ == "__main__":
    main()
