// write_tiny_model FOLDER: every tiny model of the tests as FOLDER/NAME.gguf, the fp32 ones also as FOLDER/NAME/ in
// safetensors, for checks by other programs.
#include <fmt/format.h>

#include <cstdio>

#include "tiny/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: write_tiny_model FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::vector<brio::tiny::TinySpec>& specs, bool folders) {
    for (const auto& spec : specs) {
      auto written = brio::tiny::write_gguf(spec, folder / (spec.name + ".gguf"));
      if (written.ok() && folders) written = brio::tiny::write_safetensors(spec, folder / spec.name);
      if (!written.ok()) {
        fmt::print(stderr, "{}\n", written.error().message);
        return false;
      }
      fmt::print("{}\n", spec.name);
    }
    return true;
  };
  return write(brio::tiny::shape_specs(), true) && write(brio::tiny::type_specs(), false) ? 0 : 1;
}
