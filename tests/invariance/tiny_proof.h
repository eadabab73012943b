// A tiny model under proof (src/prove), as `brio prove` does it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "invariance/tiny_run.h"
#include "prove/depth.h"
#include "prove/matrix.h"

namespace brio::invariance {

class TinyProof {
 public:
  TinyProof(const tiny::TinySpec& spec, tensor::Numerics numerics, const prove::Depth& depth,
            std::optional<tensor::KvType> kv_type = std::nullopt);

  // Every text alone: what rows are then compared with. A failure ends the test.
  void run_alone();
  const std::vector<prove::Row>& rows() const { return rows_; }
  prove::RowResult prove(const prove::Row& row);
  prove::RowResult prove(const std::string& row);

 private:
  prove::Depth depth_;
  std::unique_ptr<prove::TracedModel> model_;
  prove::Material material_;
  std::vector<prove::Row> rows_;
  std::unique_ptr<prove::Matrix> matrix_;
};

}  // namespace brio::invariance
