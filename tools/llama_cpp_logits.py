"""Logits of llama.cpp, through llama-cpp-python's low-level API: the peer in accuracy."""
import ctypes

import llama_cpp
import numpy as np


@llama_cpp.llama_log_callback
def _quiet(level, text, data):
    pass


llama_cpp.llama_log_set(_quiet, ctypes.c_void_p(0))


def tokenize(path, text):
    """Ids of a text, with the begin-of-sequence token of models that want one."""
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    data = text.encode()
    ids = (llama_cpp.llama_token * (len(data) + 8))()
    vocab = llama_cpp.llama_model_get_vocab(model)
    count = llama_cpp.llama_tokenize(vocab, data, len(data), ids, len(ids), True, False)
    llama_cpp.llama_model_free(model)
    return list(ids[:count])


def logits(path, tokens, kv_f32=False, flash_attention=False, threads=2):
    """[tokens, vocab] fp32, in batches of 512 as it is used by default."""
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    if not model:
        raise RuntimeError(f"llama.cpp cannot load {path}")
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = len(tokens) + 32
    params.n_batch = params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = threads
    params.flash_attn_type = 1 if flash_attention else 0
    if kv_f32:
        params.type_k = params.type_v = 0  # GGML_TYPE_F32
    context = llama_cpp.llama_init_from_model(model, params)
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    out = np.empty((len(tokens), vocab), np.float32)
    batch = llama_cpp.llama_batch_init(512, 0, 1)
    for start in range(0, len(tokens), 512):
        chunk = tokens[start:start + 512]
        batch.n_tokens = len(chunk)
        for i, token in enumerate(chunk):
            batch.token[i], batch.pos[i], batch.logits[i] = token, start + i, 1
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
        if llama_cpp.llama_decode(context, batch) != 0:
            raise RuntimeError(f"llama.cpp cannot decode {path}")
        rows = np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), shape=(len(chunk), vocab))
        out[start:start + len(chunk)] = rows
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return out
