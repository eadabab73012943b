// AVX-512's intrinsics from SIMDe, for the tests that compile its kernels for machines without it. BRIO_HAS_SIMDE says
// whether it is installed.
#pragma once

#if __has_include(<simde/x86/avx512.h>)
#define BRIO_HAS_SIMDE 1
#define SIMDE_ENABLE_NATIVE_ALIASES
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#define __m128bh brio_unused_m128bh  // clang's SSE2 header has one of another type from clang 18 on
#include <simde/x86/avx512.h>
#undef __m128bh
#include <simde/x86/fma.h>
#ifndef _CMP_LT_OQ  // SIMDe leaves all of them to a compiler that has the first few
#define _CMP_LT_OQ SIMDE_CMP_LT_OQ
#endif
#endif
