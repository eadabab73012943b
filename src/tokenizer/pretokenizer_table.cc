// The pretokenizers that GGUF files name. The expressions are those of the models' own tokenizer.json, in PCRE2 form:
// \s as Unicode white space, and possessive where giving back characters never makes a match, so that time is linear.
#include "tokenizer/pretokenizer.h"

// clang-format off: expressions break where their alternatives do.

// Parts, each usable inside [ ] where it names characters.
#define WS BRIO_WHITE_SPACE
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define NOT_WORD "[^\\r\\n\\p{L}\\p{N}]"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SYMBOLS " ?[^" WS "\\p{L}\\p{N}]+"
#define NEWLINES "[" WS "]*[\\r\\n]+"
#define SPACES "[" WS "]+(?![^" WS "])|[" WS "]+"  // all but the last space before a word, which keeps that one
#define ASCII_PUNCTUATION "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"

// Radford et al. 2019, and what follows it in each family.
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|" SYMBOLS "|" SPACES
#define GPT4_TAIL SYMBOLS "[\\r\\n]*|" NEWLINES "|" SPACES
#define LLAMA3 CONTRACTION "|" NOT_WORD "?\\p{L}+|\\p{N}{1,3}|" GPT4_TAIL
#define QWEN2 CONTRACTION "|" NOT_WORD "?\\p{L}+|\\p{N}|" GPT4_TAIL
#define CASED_WORD(suffix) \
  NOT_WORD "?[" UPPER "]*[" LOWER "]+" suffix "|" NOT_WORD "?[" UPPER "]+[" LOWER "]*" suffix "|"
#define O200K_TAIL SYMBOLS "[\\r\\n/]*|" NEWLINES "|" SPACES
#define GPT4O CASED_WORD(CONTRACTION "?") "\\p{N}{1,3}|" O200K_TAIL
#define DEEPSEEK3_CJK "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define DEEPSEEK3_WORD ASCII_PUNCTUATION "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
#define DEEPSEEK_CJK "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define BLOOM " ?[^(" WS "|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"

namespace brio::tokenizer {
namespace {

using Stages = std::span<const std::string_view>;

constexpr std::string_view kGpt2[] = {GPT2};
constexpr std::string_view kDigitsThenGpt2[] = {"\\p{N}", GPT2};
constexpr std::string_view kLlama3[] = {LLAMA3};
constexpr std::string_view kQwen2[] = {QWEN2};
constexpr std::string_view kQwen35[] = {CONTRACTION "|" NOT_WORD "?[\\p{L}\\p{M}]+|\\p{N}| ?[^" WS
                                                    "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" NEWLINES "|" SPACES};
constexpr std::string_view kTekken[] = {CASED_WORD("") "\\p{N}|" O200K_TAIL};
constexpr std::string_view kGpt4o[] = {GPT4O};
constexpr std::string_view kTinyAya[] = {kWordDigitsInThrees, GPT4O};
constexpr std::string_view kSuperBpe[] = {"\\p{N}+", kThreesInDigits};
constexpr std::string_view kDeepseekCoder[] = {"[\\r\\n]", "[" WS "]?\\p{L}+", "[" WS "]?\\p{P}+", DEEPSEEK_CJK,
                                               "\\p{N}"};
// Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee, Coptic, Deseret and more cased letters, as DeepSeek lists them.
constexpr std::string_view kDeepseekLlm[] = {
    "[\\r\\n]",
    "[" WS
    "]?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}\\x{295}-"
    "\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{"
    "3A1}"
    "\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{"
    "13F8}-"
    "\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-"
    "\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}"
    "\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-"
    "\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-"
    "\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}"
    "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-"
    "\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-"
    "\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}"
    "-"
    "\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{"
    "118DF}"
    "\\x{1E900}-\\x{1E943}]+",
    "[" WS "]?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
    "(?<![" WS "])[" WS "]++\\z",  // \s+$, which restarts at every space of a run
    DEEPSEEK_CJK,
    "\\p{N}+",
};
constexpr std::string_view kDeepseekV3[] = {"\\p{N}{1,3}", DEEPSEEK3_CJK,
                                            DEEPSEEK3_WORD "[\\r\\n]*|" NEWLINES "|" SPACES};
constexpr std::string_view kSpark[] = {"\\p{N}{1,3}", DEEPSEEK3_CJK, DEEPSEEK3_WORD "|[\\r\\n]|" SPACES, "\\p{N}"};
constexpr std::string_view kAfmoe[] = {
    kDigitsInThrees,
    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}\\x{FF65}-\\x{"
    "FF9F}"
    "\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}"
    "\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+",
    DEEPSEEK3_WORD "[\\r\\n]*|" NEWLINES "|" SPACES};
constexpr std::string_view kYoutu[] = {
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{"
    "FF1A}"
    "\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|" DEEPSEEK3_CJK,
    CASED_WORD(CONTRACTION "?") "\\p{N}|" O200K_TAIL};
constexpr std::string_view kFalcon[] = {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"};
constexpr std::string_view kDefault[] = {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"};
constexpr std::string_view kBloom[] = {BLOOM};
constexpr std::string_view kViking[] = {BLOOM, "\\p{N}"};
// Spaces go by powers of two. The look-behind: inside a run of spaces the search for its line feed has failed before,
// and repeating it every 512 would take quadratic time.
#define SPACES_OF(count) "[" WS "]{" count "}(?![^" WS "])|"
constexpr std::string_view kJais2[] = {CONTRACTION "|" NOT_WORD "?\\p{L}+|\\p{N}{1,3}|" SYMBOLS
                                                   "[\\r\\n]*|"
                                                   "(?<![\\t\\x0B\\f\\x{85}\\p{Z}])" NEWLINES "|" SPACES_OF("512")
                                                       SPACES_OF("256") SPACES_OF("128") SPACES_OF("64") SPACES_OF("32")
                                                           SPACES_OF("16") SPACES_OF("8") SPACES_OF("4")
                                                               SPACES_OF("1,2") "[" WS "]"};
constexpr std::string_view kBailing[] = {"'(?i:[sdmt]|ll|ve|re)|" NOT_WORD "?+\\p{L}+|\\p{N}| ?[^" WS
                                         "\\p{L}\\p{N}]++[\\r\\n]*|[" WS "]*[\\r\\n]|" SPACES};
constexpr std::string_view kSeedCoder[] = {CONTRACTION "|" NOT_WORD "?\\p{L}+|\\p{N}| ?[^" WS
                                                       "\\p{L}\\p{N}\\r\\n]+|" NEWLINES "|" SPACES};
constexpr std::string_view kExaoneMoe[] = {CONTRACTION "|" NOT_WORD
                                                       "?(?:\\p{L}\\p{M}*+(?: \\p{L}\\p{M}*+)*+)++|\\p{N}|" SYMBOLS
                                                       "[\\r\\n/]?|[" WS "]*[\\r\\n]|" SPACES};
constexpr std::string_view kMiniCpm5[] = {"\\p{N}{1,3}", CONTRACTION "|" NOT_WORD "?\\p{L}+|\\p{N}+|" GPT4_TAIL};
constexpr std::string_view kLaguna[] = {"[^\\n]+|\\n+", QWEN2};
constexpr std::string_view kNewlineRuns[] = {"[^\\n]+|\\n+"};
// Kimi's classes are "cased letters less Han": a word ends at the first Han character.
#define NOT_HAN(set) "(?:(?!\\p{Han})[" set "])"
constexpr std::string_view kKimi[] = {"\\p{Han}+|" NOT_WORD "?" NOT_HAN(UPPER) "*" NOT_HAN(
    LOWER) "+" CONTRACTION "?|" NOT_WORD "?" NOT_HAN(UPPER) "+" NOT_HAN(LOWER) "*" CONTRACTION
                                                                               "?|"
                                                                               "\\p{N}{1,3}|" GPT4_TAIL};
constexpr std::string_view kChameleon[] = {
    "<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2};

// clang-format on

struct Row {
  std::string_view name;
  Stages stages;
  bool ignore_merges = false;
  bool add_bos = false;
};

constexpr bool kIgnoreMerges = true, kAddBos = true;
constexpr Row kRows[] = {
    {"a.x-4.0", kGpt2},
    {"afmoe", kAfmoe},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"bloom", kBloom},
    {"chameleon", kChameleon, false, kAddBos},
    {"chatglm-bpe", kLlama3},
    {"codeshell", kDigitsThenGpt2},
    {"cohere2moe", kTinyAya},
    {"command-r", kDigitsThenGpt2},
    {"dbrx", kLlama3},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-r1-qwen", kQwen2},
    {"deepseek-v3", kDeepseekV3},
    {"default", kDefault},
    {"exaone", kDigitsThenGpt2},
    {"exaone-moe", kExaoneMoe},
    {"exaone4", kGpt2},
    {"falcon", kFalcon},
    {"falcon-h1", kLlama3, kIgnoreMerges, kAddBos},
    {"falcon3", kLlama3, kIgnoreMerges, kAddBos},
    {"gemma4", kNewlineRuns, false, kAddBos},
    {"gigachat", kGpt2},
    {"glm4", kLlama3},
    {"gpt-2", kGpt2},
    {"gpt-4o", kGpt4o},
    {"gpt3-finnish", kBloom},
    {"granite-docling", kGpt2},
    {"grok-2", kQwen2},
    {"hunyuan", kQwen2},
    {"hunyuan-dense", kDeepseekV3},
    {"hy_v4", kDeepseekV3},
    {"jais", kGpt2},
    {"jais-2", kJais2},
    {"jina-de", kGpt2},
    {"jina-es", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-code", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v5-nano", kLlama3, kIgnoreMerges, kAddBos},
    {"joyai-llm", kDeepseekV3},
    {"kanana2", kGpt4o},
    {"kimi-k2", kKimi},
    {"kormo", kQwen2},
    {"laguna", kLaguna},
    {"lfm2", kLlama3, kIgnoreMerges, kAddBos},
    {"llada-moe", kBailing},
    {"llama-bpe", kLlama3, kIgnoreMerges, kAddBos},
    {"llama-v3", kLlama3, kIgnoreMerges, kAddBos},
    {"llama3", kLlama3, kIgnoreMerges, kAddBos},
    {"llama4", kGpt4o},
    {"megrez", kQwen2},
    {"mellum", kGpt2},
    {"mellum2", kDigitsThenGpt2},
    {"midm-2.0", kLlama3, kIgnoreMerges, kAddBos},
    {"minerva-7b", kDigitsThenGpt2},
    {"minicpm5", kMiniCpm5, kIgnoreMerges},
    {"minimax-m2", kGpt4o},
    {"modern-bert", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"phi-2", kGpt2},
    {"pixtral", kLlama3, kIgnoreMerges, kAddBos},
    {"poro-chat", kBloom},
    {"qwen2", kQwen2},
    {"qwen35", kQwen35},
    {"refact", kDigitsThenGpt2},
    {"roberta-bpe", kGpt2},
    {"sarvam-moe", kNewlineRuns},
    {"seed-coder", kSeedCoder},
    {"smaug-bpe", kLlama3},
    {"smollm", kDigitsThenGpt2},
    {"solar-open", kQwen2},
    {"spark2_5", kSpark},
    {"stablelm2", kQwen2},
    {"starcoder", kDigitsThenGpt2},
    {"superbpe", kSuperBpe},
    {"talkie", kGpt4o},
    {"tekken", kTekken, kIgnoreMerges, kAddBos},
    {"tiny_aya", kTinyAya},
    {"trillion", kGpt2},
    {"viking", kViking},
    {"youtu", kYoutu, kIgnoreMerges},
};

}  // namespace

Result<PretokenizerRecipe> find_recipe(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return PretokenizerRecipe{row.stages, row.ignore_merges, row.add_bos};
  }
  std::string known;
  for (const Row& row : kRows) {
    if (!known.empty()) known += ", ";
    known += row.name;
  }
  Error unknown = error(ErrorCode::kUnsupported, "tokenizer.ggml.pre: unknown pretokenizer '{}'; known are {}",
                        name.substr(0, 64), known);
  return unknown;
}

}  // namespace brio::tokenizer
