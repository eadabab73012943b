#!/usr/bin/env python3
"""Oracle for src/tokenizer: the `tokenizers` and `sentencepiece` packages and llama.cpp on generated strings.

  tokenizer_oracle.py golden OUT_DIR              small vocabularies and digests that tokenizer_golden_test.cc reads
  tokenizer_oracle.py dump MODEL.gguf OUT.json    the model's own vocabulary, ids by `tokenizers` (or llama.cpp for SPM)
  tokenizer_oracle.py models OUT_DIR MODEL.gguf   digests for the model's own vocabulary on the golden strings
  tokenizer_oracle.py compare MODEL.gguf BRIO     ids of `BRIO tokenize` against llama-cpp-python, string by string

Needs: pip install tokenizers sentencepiece gguf (golden, dump), llama-cpp-python (compare, dump of SPM models).
"""
import json
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

# ---------------------------------------------------------------------------------------------------------------------
# Strings. Ranges hold assigned characters of Unicode 13 and older, where every engine's tables agree.
RANGES = {
    "latin": [(0x41, 0x5A), (0x61, 0x7A)], "accented": [(0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x17F)],
    "greek": [(0x391, 0x3A1), (0x3A3, 0x3C9)], "cyrillic": [(0x410, 0x44F)], "hebrew": [(0x5D0, 0x5EA)],
    "arabic": [(0x621, 0x63A), (0x641, 0x652)], "hindi": [(0x904, 0x94D)], "bengali": [(0x995, 0x9A8)],
    "tamil": [(0xB95, 0xB95), (0xBAE, 0xBB9), (0xBBE, 0xBC2)], "thai": [(0xE01, 0xE3A), (0xE40, 0xE4E)],
    "georgian": [(0x10D0, 0x10F0)], "hangul": [(0xAC00, 0xD7A3)], "jamo": [(0x1100, 0x1112), (0x3131, 0x318E)],
    "hiragana": [(0x3041, 0x3096)], "katakana": [(0x30A1, 0x30FA)], "han": [(0x4E00, 0x9FA5)],
    "han_extended": [(0x3400, 0x4DB5), (0x20000, 0x2A6D6)], "titlecase": [(0x1C4, 0x1CC), (0x1F2, 0x1F2)],
    "modifier": [(0x2B0, 0x2C1), (0x1D2C, 0x1D61)], "mathematical": [(0x1D400, 0x1D433)], "fullwidth": [(0xFF21, 0xFF3A)],
    "deseret": [(0x10400, 0x1044F)],
}
MARKS = [0x300, 0x301, 0x308, 0x323, 0x327, 0x64B, 0x651, 0x93C, 0x20D0, 0x20DD, 0x3099, 0xFE0F, 0x1AB0]
DIGITS = [0x30, 0x30, 0x30, 0x660, 0x966, 0xFF10, 0x1D7CE]
NUMBERS = "\u00b2\u00bd\u2167\u2460\u3007\u0bf0\u2189"
SPACES = [" ", " ", " ", " ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", "\x0b", "\x0c", "\x85", "\xa0", "\u1680",
          "\u2003", "\u2028", "\u2029", "\u202f", "\u3000", "\u200b", "\u180e", "\ufeff"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + [
    "...", "--", "->", "==", "!=", "**", "//", "/*", "*/", "\u2014", "\u2018", "\u2019", "\u201c", "\u201d", "\u2026",
    "\u3001", "\u3002", "\uff01", "\uff0c", "\u060c", "\u06d4", "\u0964", "\u00a1", "\u00bf", "\u00ab", "\u00bb", "\u2022",
    "\u00b7", "\u203f"]
SYMBOLS = list("\u20ac\u00a3\u00a5\u00a9\u00ae\u2122\u2190\u2192\u2211\u221e\u2248\u2260\u2500\u2588\u25a0\u00b0\u00a8\u02c6\ufffd")
EMOJI = ["\U0001F600", "\U0001F44D\U0001F3FD", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
         "\U0001F1E9\U0001F1EA", "\u2764\uFE0F", "\U0001F3F4\u200D\u2620\uFE0F", "1\uFE0F\u20E3", "\U0001F937\u200D\u2642\uFE0F"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'LL", "'D", "'x", "'", "\u2019s"]
WORDS = ("the of and to in is was that for it with as on be at by this have from or had not are but what all were when "
         "we there can an your which their said if do will each about how up out them then she many some so these would "
         "other into has more her two like him see time could no make than first been its who now people my made over "
         "did down only way find use may water long little very after words called just where most know return def "
         "class import function const while True None self print range value index error").split()
SPECIAL_LOOKALIKES = ["<s>", "</s>", "<unk>", "<0x0A>", "<|im_end|>", "<|endoftext|>", "[CLS]", "[UNK]", "<|im_start|>"]
CODE = ["for (int i = 0; i < n; ++i) {\n    sum += a[i];\n}\n", "def f(x):\n\treturn x**2 if x else None\n", "a->b.c_str()",
        "#include <vector>\n", "if (x != y && !done) { return -1; }", "camelCaseWord HTTPServer2 snake_case_name", "x=1;y=2\n\n\n",
        "https://example.org/a/b?q=1&r=%20#top", "SELECT * FROM t WHERE a='b';", "// ---- note ----\n", "\\frac{a}{b}"]
BROKEN = [b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\x80", b"\xc3", b"\xf4\x90\x80\x80", b"a\xe2b"]


def character(r, name):
    low, high = r.choice(RANGES[name])
    return chr(r.randint(low, high))


def word(r, longest=8):
    name = r.choice(list(RANGES))
    out = "".join(character(r, name) for _ in range(r.randint(1, longest)))
    return "".join(c + (chr(r.choice(MARKS)) if r.random() < 0.08 else "") for c in out)


def part(r):
    k = r.random()
    if k < 0.28:
        w = r.choice(WORDS)
        return r.choice([w, w, w, w.capitalize(), w.upper()])
    if k < 0.45:
        return word(r)
    if k < 0.53:
        base = r.choice(DIGITS)
        return "".join(chr(base + r.randint(0, 9)) for _ in range(r.choice([1, 2, 3, 4, 5, 7, 9])))
    if k < 0.66:
        return "".join(r.choice(PUNCTUATION) for _ in range(r.choice([1, 1, 1, 2, 3])))
    if k < 0.72:
        return r.choice(WORDS) + r.choice(CONTRACTIONS)
    if k < 0.77:
        return r.choice(EMOJI) * r.choice([1, 1, 2])
    if k < 0.81:
        return r.choice(SYMBOLS)
    if k < 0.84:
        return r.choice(NUMBERS)
    if k < 0.87:
        return r.choice(CODE)
    if k < 0.89:
        return chr(r.choice(MARKS)) * r.choice([1, 2])
    if k < 0.91:
        return r.choice(SPECIAL_LOOKALIKES)
    if k < 0.92:
        return chr(r.choice([0, 1, 7, 27, 127, 0x80, 0xAD, 0x200D, 0x2060, 0xE000]))
    return r.choice(SPACES) * r.choice([1, 1, 2, 5, 9])


def string(r):
    out = []
    for _ in range(r.choice([1, 2, 3, 4, 6, 9])):
        out.append(part(r))
        if r.random() < 0.55:
            out.append(r.choice(SPACES[:12]))
    data = "".join(out).encode()
    k = r.random()
    if k < 0.05:
        at = r.randint(0, len(data))
        data = data[:at] + r.choice(BROKEN) + data[at:]
    elif k < 0.06:
        data = (word(r, 2) * r.randint(20, 60)).encode()
    elif k < 0.07:
        data = "".join(r.choice(SPACES[:9]) for _ in range(60)).encode() + r.choice([b"", b"x"])
    return data


def strings(seed, count):
    r = random.Random(seed)
    return [b"", b" ", b"  a", b"a  ", b"\n\n\n a\n"] + [string(r) for _ in range(count - 5)]


def text_of(data):
    return data.decode("utf-8", "replace")


# ---------------------------------------------------------------------------------------------------------------------
# Pretokenizers as the models' own tokenizer.json spells them.
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CASED = (r"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{0}|"
         r"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{0}|")
O200K = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
LLAMA3 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
DEEPSEEK3 = ["\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
             r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+"]
# Escaped: the list has characters that Unicode normalisation would replace.
DEEPSEEK_CASED = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-"
    "\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-"
    "\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf"
    "\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-"
    "\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
    "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115"
    "\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e"
    "\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-"
    "\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-"
    "\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943")
KIMI = (r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        + CONTRACTION + r"?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" + CONTRACTION + r"?|\p{N}{1,3}|" + TAIL)
GPT2, ONE_DIGIT, PUNCTUATION_RUNS = object(), object(), object()
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
PRETOKENIZERS = {
    "gpt-2": [GPT2], "mpt": [GPT2], "smollm": [ONE_DIGIT, GPT2], "starcoder": [ONE_DIGIT, GPT2], "refact": [ONE_DIGIT, GPT2],
    "command-r": [ONE_DIGIT, GPT2], "llama-bpe": [LLAMA3], "glm4": [LLAMA3], "qwen2": [QWEN2],
    "qwen35": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "tekken": [CASED.format("") + r"\p{N}|" + O200K],
    "gpt-4o": [CASED.format(CONTRACTION + "?") + r"\p{N}{1,3}|" + O200K],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", CASED.format(CONTRACTION + "?") + r"\p{N}{1,3}|" + O200K],
    "deepseek-v3": DEEPSEEK3,
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", ONE_DIGIT],
    "deepseek-llm": ["[\r\n]", r"\s?[" + DEEPSEEK_CASED + "]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", "[一-龥ࠀ-一가-퟿]+",
                     "\\p{N}+"],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "kimi-k2": [KIMI],
    "bloom": [BLOOM], "viking": [BLOOM, ONE_DIGIT],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "exaone-moe": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?"
                   r"|\s*[\r\n]|\s+(?!\S)|\s+"],
    "jais-2": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" + "".join(
        r"\s{%d}(?!\S)|" % n for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"\s{1,2}(?!\S)|\s{1}"],
    "minicpm5": [r"\p{N}{1,3}", CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|" + TAIL],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "youtu": ["[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
              CASED.format(CONTRACTION + "?") + r"\p{N}|" + O200K],
}
IGNORE_MERGES = {"llama-bpe", "tekken", "minicpm5", "youtu"}


def pretokenizer(stages):
    from tokenizers import Regex, pre_tokenizers as pt
    out, byte_level = [], pt.ByteLevel(add_prefix_space=False, use_regex=False)
    for stage in stages:
        if stage is ONE_DIGIT:
            out.append(pt.Digits(individual_digits=True))
        elif stage is GPT2:
            out.append(pt.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"), "isolated"))
        else:
            out.append(pt.Split(Regex(stage), "isolated"))
    return pt.Sequence(out + [byte_level])


def byte_bpe(vocab, merges, stages, ignore_merges=False):
    from tokenizers import Tokenizer, models
    tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges))
    tok.pre_tokenizer = pretokenizer(stages)
    return tok


# ---------------------------------------------------------------------------------------------------------------------
GROUP = 8  # strings a digest


def digests(all_ids):
    packed = [struct.pack(f"<{len(ids) + 1}i", len(ids), *ids) for ids in all_ids]
    return " ".join(f"{zlib.crc32(b''.join(packed[i:i + GROUP])):08x}" for i in range(0, len(packed), GROUP))


def corpus():
    r = random.Random(99)
    texts = [text_of(string(r)) for _ in range(3000)] + [" ".join(r.choice(WORDS) for _ in range(40)) for _ in range(400)]
    return [t for t in texts if not any(s in t for s in SPECIAL_LOOKALIKES)] + CODE * 5  # or merges would spell them


def train_byte_bpe():
    from tokenizers import Tokenizer, models, pre_tokenizers as pt, trainers
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pt.ByteLevel(add_prefix_space=False, use_regex=False)  # merges cross words: wrong splits show
    tok.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1100, initial_alphabet=sorted(pt.ByteLevel.alphabet()),
                                                          show_progress=False))
    model = json.loads(tok.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    return model["vocab"], merges


def ordered(vocab):
    return [t for t, _ in sorted(vocab.items(), key=lambda kv: kv[1])]


def golden_byte_bpe(texts):
    vocab, merges = train_byte_bpe()
    cases = {}
    for name, stages in PRETOKENIZERS.items():
        tok = byte_bpe(vocab, merges, stages, name in IGNORE_MERGES)
        cases[name] = digests([tok.encode(text_of(t), add_special_tokens=False).ids for t in texts])
    return {"model": "gpt2", "tokens": ordered(vocab), "merges": [" ".join(m) for m in merges], "pre": cases}


def golden_char_bpe(texts):
    from tokenizers import Tokenizer, models, normalizers, trainers
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    tok = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tok.normalizer = normalizers.Replace(" ", "\u2581")
    lines = [line for text in corpus() for line in text.split("\n")]
    tok.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=1100, limit_alphabet=300, show_progress=False,
                                                       special_tokens=["<unk>"] + byte_tokens))
    model = json.loads(tok.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    fresh = Tokenizer(models.BPE(vocab=model["vocab"], merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    fresh.normalizer = normalizers.Replace(" ", "\u2581")
    ids = [fresh.encode(text_of(t), add_special_tokens=False).ids for t in texts]
    return {"model": "gemma4", "tokens": ordered(model["vocab"]), "types": [2] + [6] * 256, "unk": 0,
            "merges": [" ".join(m) for m in merges], "pre": {"gemma4": digests(ids)}}


def golden_sentencepiece(texts, prefix):
    import sentencepiece as spm
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        common = {c for c, _ in Counter("".join(corpus())).most_common(250)} - {"\0"}  # the rest falls back to bytes
        lines = ["".join(c for c in line if c in common) for text in corpus() for line in text.split("\n")]
        path.write_text("\n".join(line for line in lines if line.strip()), newline="\n")
        spm.SentencePieceTrainer.train(
            input=str(path), model_prefix=f"{folder}/m", model_type="bpe", vocab_size=1000, character_coverage=1.0,
            byte_fallback=True, add_dummy_prefix=prefix, remove_extra_whitespaces=False, minloglevel=2,
            normalization_rule_name="identity", split_digits=True, allow_whitespace_only_pieces=True)
        sp = spm.SentencePieceProcessor(model_file=f"{folder}/m.model")
    ids = [sp.encode(text_of(t)) for t in texts]
    kind = [3 if sp.is_control(i) else 2 if sp.is_unknown(i) else 6 if sp.is_byte(i) else 1 for i in range(sp.vocab_size())]
    return {"model": "llama", "tokens": [sp.id_to_piece(i) for i in range(sp.vocab_size())], "types": kind,
            "scores": [sp.get_score(i) for i in range(sp.vocab_size())], "unk": sp.unk_id(), "add_space_prefix": prefix,
            "pre": {"sentencepiece": digests(ids)}}


def golden_wordpiece(texts, lowercase):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers as pt, trainers
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tok.pre_tokenizer = pt.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, limit_alphabet=350, special_tokens=special,
                                                                show_progress=False))
    vocab = ordered(tok.get_vocab())
    fresh = Tokenizer(models.WordPiece(vocab={t: i for i, t in enumerate(vocab)}, unk_token="[UNK]"))
    fresh.normalizer, fresh.pre_tokenizer = tok.normalizer, tok.pre_tokenizer
    ids = [fresh.encode(text_of(t), add_special_tokens=False).ids for t in texts]
    spelled = [t if t in special else t[2:] if t.startswith("##") else "\u2581" + t for t in vocab]
    return {"model": "bert", "tokens": spelled, "types": [3] * 5, "lowercase": lowercase, "unk": 1, "pre": {"bert": digests(ids)}}


def json_tokenizers():
    """Whole pipelines: NFC, added tokens of both kinds, prefixes, templates."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, processors, pre_tokenizers as pt, trainers
    byte_level = Tokenizer(models.BPE())
    byte_level.normalizer, byte_level.pre_tokenizer = normalizers.NFC(), pretokenizer([QWEN2])
    byte_level.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=600, initial_alphabet=sorted(pt.ByteLevel.alphabet()),
                                                                 show_progress=False))
    byte_level.add_special_tokens([AddedToken(t, normalized=False) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    byte_level.add_tokens([AddedToken("==", normalized=False), AddedToken("...", normalized=False),
                           AddedToken("</s>", normalized=False, lstrip=True, rstrip=True)])

    escaped = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    escaped.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    escaped.train_from_iterator([line for text in corpus() for line in text.split("\n")], trainers.BpeTrainer(
        vocab_size=600, limit_alphabet=150, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"] + bytes_))
    model = json.loads(escaped.to_str())["model"]
    fresh = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], byte_fallback=True,
                                 unk_token="<unk>", fuse_unk=True))
    fresh.normalizer = escaped.normalizer
    fresh.add_special_tokens([AddedToken(t, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    fresh.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])

    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pt.BertPreTokenizer()
    bert.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=400, limit_alphabet=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    bert.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return {"byte_level": byte_level, "sentencepiece": fresh, "wordpiece": bert}


def encoded(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def golden(folder):
    texts = strings(2024, 2000)
    write(folder / "texts.json", [encoded(t) for t in texts])
    write(folder / "byte_bpe.json", golden_byte_bpe(texts))
    write(folder / "char_bpe.json", golden_char_bpe(texts))
    write(folder / "sentencepiece.json", golden_sentencepiece(texts, False))
    write(folder / "sentencepiece_prefix.json", golden_sentencepiece(texts, True))
    write(folder / "wordpiece.json", golden_wordpiece(texts, True))
    write(folder / "wordpiece_cased.json", golden_wordpiece(texts, False))
    (folder / "json").mkdir(exist_ok=True)
    for name, tok in json_tokenizers().items():
        ids = [tok.encode(text_of(t)).ids for t in texts]
        write(folder / "json" / f"{name}.json", {"digests": digests(ids), "tokenizer": json.loads(tok.to_str())})


# ---------------------------------------------------------------------------------------------------------------------
def gguf_vocabulary(path):
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else None
    return {key: get(name) for key, name in [
        ("model", "model"), ("pre", "pre"), ("tokens", "tokens"), ("scores", "scores"), ("types", "token_type"),
        ("merges", "merges"), ("add_space_prefix", "add_space_prefix"), ("unk", "unknown_token_id")]}


def llama(path):
    import llama_cpp
    model = llama_cpp.Llama(model_path=path, vocab_only=True, verbose=False)

    def encode(data):
        # gemma's </s> is an HTML tag, a user-defined token; llama.cpp takes it for the end of the text by its name.
        assert b"</s>" not in data
        return model.tokenize(data, add_bos=False, special=False)
    return encode


def reference_ids(v, path, texts):
    if v["model"] == "gpt2":
        from tokenizers import AddedToken
        merges = [tuple(m.split(" ")) for m in v["merges"]]
        tok = byte_bpe({t: i for i, t in enumerate(v["tokens"])}, merges, PRETOKENIZERS[v["pre"]], v["pre"] in IGNORE_MERGES)
        tok.add_tokens([AddedToken(t, normalized=False) for t, kind in zip(v["tokens"], v["types"]) if kind == 4])
        return [tok.encode(text_of(t), add_special_tokens=False).ids for t in texts]
    encode = llama(path)
    return [encode(text_of(t).encode()) for t in texts]


def dump(path, out):
    v = {k: x for k, x in gguf_vocabulary(path).items() if x is not None}
    texts = [t.replace(b"</s>", b"") for t in strings(7, 3000)]
    v["cases"] = reference_ids(v, path, texts)
    v["pre"] = {v.get("pre", "default"): digests(v["cases"])}
    out = Path(out)
    write(out, v)
    write(out.with_name("texts.json"), [encoded(t) for t in texts])


def models(folder, paths):
    texts = [t.replace(b"</s>", b"") for t in strings(2024, 2000)]
    for path in map(Path, paths):
        (folder / f"{path.stem}.txt").write_text(digests(reference_ids(gguf_vocabulary(path), str(path), texts)) + "\n")


def compare(path, brio):
    encode = llama(path)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(strings(11, 2000)):
            data = text_of(data.replace(b"</s>", b"")).encode()  # both sides see repaired UTF-8
            file = Path(folder) / "text"
            file.write_bytes(data)
            got = subprocess.run([brio, "tokenize", path, "-f", str(file), "--ids"], capture_output=True, check=True).stdout
            got = [int(i) for i in got.decode().replace(",", " ").replace("[", " ").replace("]", " ").split()]
            want = encode(data)
            if got != want:
                wrong += 1
                print(f"string {number}: {data!r}\n  brio      {got}\n  llama.cpp {want}")
    print(f"{wrong} of 2000 differ")
    return wrong


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    if command == "golden" and len(arguments) == 1:
        golden(Path(arguments[0]))
    elif command == "dump" and len(arguments) == 2:
        dump(*arguments)
    elif command == "models" and len(arguments) >= 2:
        models(Path(arguments[0]), arguments[1:])
    elif command == "compare" and len(arguments) == 2:
        sys.exit(1 if compare(*arguments) else 0)
    else:
        sys.exit(__doc__)
