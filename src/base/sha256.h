// Sha256: the digest of a stream of bytes, in lower-case hexadecimal.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace brio {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  void update(std::span<const float> values) {
    update({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  std::string finish();  // once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// 64 hexadecimal digits, lower case.
bool is_sha256(std::string_view text);

}  // namespace brio
