// SafetensorsWriter: makes safetensors files, held in memory. It writes what it is told, hostile or not.
//
//   SafetensorsWriter writer;
//   writer.tensor("model.norm.weight", DType::kF32, {64}, bytes);   // row-major shape: the row length last
//   BRIO_TRY_OK(writer.write("folder/model.safetensors"));
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace brio::weights {

class SafetensorsWriter {
 public:
  void tensor(std::string_view name, tensor::DType type, const std::vector<int64_t>& shape,
              std::span<const std::byte> data);
  void tensor(std::string_view name, const std::vector<int64_t>& shape, std::span<const float> values) {
    tensor(name, tensor::DType::kF32, shape, std::as_bytes(values));
  }

  std::string bytes() const;
  Result<void> write(const std::filesystem::path& path) const;
  // Any header in front of any data.
  static std::string assemble(std::string_view header, std::string_view data);

 private:
  std::string header_;  // the members so far
  std::string data_;
};

}  // namespace brio::weights
