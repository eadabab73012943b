#!/usr/bin/env python3
"""llama.cpp as a peer: loads one model, then answers commands on standard input, one JSON object a line.

    {"prefill": 512}                      -> {"ms": time of one llama_decode over 512 tokens, logits of the last only}
    {"decode": 64, "sequences": 8, "context": 16}   -> {"ms": [time of each of 64 steps, one token for each sequence]}

Only llama_decode is timed, through llama-cpp-python's low-level API. So that rounds of several peers can alternate, a
peer is a process that keeps its model loaded and sleeps between commands. Built by bench/peers/setup.
"""
import argparse
import ctypes
import json
import sys
import time

import llama_cpp


@llama_cpp.llama_log_callback
def _quiet(level, text, data):
    pass


class Peer:
    def __init__(self, path, threads, flash_attention, max_sequences):
        llama_cpp.llama_log_set(_quiet, ctypes.c_void_p(0))
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = 1024 * max_sequences
        params.n_batch = params.n_ubatch = 512  # so a batch of sequences is one llama_batch, and one pass over the weights
        params.n_threads = params.n_threads_batch = threads
        params.n_seq_max = max_sequences
        params.flash_attn_type = 1 if flash_attention else 0
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.batch = llama_cpp.llama_batch_init(512, 0, 1)
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def step(self, rows):
        """rows: [(token, position, sequence, wants logits)] -> milliseconds of llama_decode."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, logits) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, logits
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        start = time.perf_counter()
        status = llama_cpp.llama_decode(self.context, batch)
        llama_cpp.llama_synchronize(self.context)
        took = (time.perf_counter() - start) * 1000
        if status != 0:
            raise SystemExit(f"llama_decode returned {status}")
        return took

    def token(self, i):
        return 100 + i * 37 % (self.vocab - 200)

    def prefill(self, length, sequence=0):
        return self.step([(self.token(i), i, sequence, i == length - 1) for i in range(length)])

    def decode(self, steps, sequences, context):
        for s in range(sequences):
            self.prefill(context, s)
        return [self.step([(self.token(p + s), p, s, 1) for s in range(sequences)])
                for p in range(context, context + steps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--flash", action="store_true")
    parser.add_argument("--sequences", type=int, default=8, help="most sequences in one batch")
    args = parser.parse_args()
    peer = Peer(args.model, args.threads, args.flash, args.sequences)
    info = llama_cpp.llama_print_system_info().decode()
    print(json.dumps({"ready": f"llama-cpp-python {llama_cpp.__version__}", "system_info": info}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        peer.clear()
        if "prefill" in command:
            answer = peer.prefill(command["prefill"])
        else:
            answer = peer.decode(command["decode"], command.get("sequences", 1), command.get("context", 16))
        print(json.dumps({"ms": answer}), flush=True)


if __name__ == "__main__":
    main()
