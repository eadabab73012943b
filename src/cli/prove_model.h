// ProveModel: a model ready to be proved, its weights packed in memory or mapped from a packed file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "prove/depth.h"
#include "prove/rows.h"
#include "prove/traced_model.h"
#include "weights/packed_writer.h"

namespace brio::cli {

struct ProveModelOptions {
  std::string model;
  std::string numerics = "default";
  std::string kv_type = "default";
  std::filesystem::path packed_folder;  // empty: weights are packed in memory
  int threads = 5;
  int runs = 0;  // of a row; 0: the depth's
  uint64_t seed = 1;
  prove::Depth depth = prove::kUsual;
};

struct ProveModel {
  std::unique_ptr<prove::TracedModel> model;
  prove::Material material;
  int runs = 1;
  std::filesystem::path packed_path;  // what follows is about this file, where there is a folder
  int num_mapped = 0;                 // weights
  int num_packed = 0;
  int64_t mapped_bytes = 0;
  std::optional<Error> refused;                    // why a file that was there is not used
  std::optional<Error> not_kept;                   // why none is being written
  std::unique_ptr<weights::PackedWriter> keeping;  // one is being written
};

Result<ProveModel> make_prove_model(const ProveModelOptions& options);

}  // namespace brio::cli
