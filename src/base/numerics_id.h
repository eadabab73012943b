// The numerics id (DESIGN R9): raised with any change of rounding on the path to the logits. It is part of every KV key,
// packed file and system_fingerprint. A golden hash that changes without it fails the tests.
#pragma once

namespace brio {
inline constexpr int kNumericsId = 2;
}
