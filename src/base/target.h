// Target regions: code between BRIO_TARGET_BEGIN_<ISA> and BRIO_TARGET_END may use that instruction set.
//
// Include every standard header first, then open the region, then the bodies: a header inside a region would be
// compiled as wide code and shared with the rest of the program behind weak symbols. No lambdas inside a region.
#pragma once

#define BRIO_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define BRIO_TARGET_PUSH(list) BRIO_PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define BRIO_TARGET_END _Pragma("clang attribute pop")
#else
#define BRIO_TARGET_PUSH(list) _Pragma("GCC push_options") BRIO_PRAGMA(GCC target(list))
#define BRIO_TARGET_END _Pragma("GCC pop_options")
#endif

#define BRIO_TARGET_BEGIN_AVX2 BRIO_TARGET_PUSH("avx2,fma,f16c,bmi,bmi2")
#define BRIO_TARGET_BEGIN_AVX512 \
  BRIO_TARGET_PUSH("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")

// g++ 12's AVX-512 headers trip -Wuninitialized and -Wmaybe-uninitialized (its _mm512_undefined_*).
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
#define BRIO_SILENCE_GCC12_AVX512 \
  _Pragma("GCC diagnostic ignored \"-Wuninitialized\"") _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
#else
#define BRIO_SILENCE_GCC12_AVX512
#endif
