#include "server/capacity.h"

#include <algorithm>
#include <vector>

#include "kv/kv_sizing.h"

namespace brio::server {
namespace {

// For activations, the tokenizer, buffers of connections and everything else a process touches.
constexpr int64_t kReserveBytes = int64_t{512} << 20;
constexpr int kShortestContext = 256;  // less is no use to a chat

double gigabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}
double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

Result<Capacity> choose_capacity(const model::Model& model, const CapacityRequest& request,
                                 int64_t memory_limit_bytes) {
  const int trained = model.config().context;
  if (request.context > trained) {
    return error(ErrorCode::kInvalidArgument, "--ctx is {}, but the model was trained for {} tokens", request.context,
                 trained);
  }
  const std::vector<kv::GroupShape> groups = kv::group_layers(model.kv_specs());
  const int chunk = model.limits().max_rows;
  const int64_t left = std::max<int64_t>(0, memory_limit_bytes - model.weight_bytes() - kReserveBytes);
  const int64_t budget = request.kv_bytes > 0 ? request.kv_bytes : left / 2;

  Capacity out;
  const int wanted = request.context > 0 ? request.context : trained;
  const int fits = kv::longest_context(groups, budget, chunk, wanted);
  // longest_context counts whole blocks: a wanted context that is no multiple of a block fits when its blocks do.
  out.context = kv::sequence_bytes(groups, wanted, chunk) <= budget ? wanted : fits;
  if (out.context < std::min(wanted, request.context > 0 ? request.context : kShortestContext)) {
    Error error = brio::error(ErrorCode::kOutOfMemory,
                              "a context of {} tokens needs {:.1f} MiB of KV cache, there are {:.1f} MiB", wanted,
                              mebibytes(kv::sequence_bytes(groups, wanted, chunk)), mebibytes(budget));
    if (request.kv_bytes > 0) {
      error.hint = fmt::format("--kv-memory set that limit; it holds a context of {} tokens (--ctx)", fits);
      return error;
    }
    error.hint = fmt::format("The limit of this process is {:.1f} GB, the weights take {:.1f} GB; try a smaller --ctx",
                             gigabytes(memory_limit_bytes), gigabytes(model.weight_bytes()));
    return error;
  }
  const int64_t useful = kv::sequence_bytes(groups, out.context, chunk) * request.max_sequences;
  out.kv_bytes = request.kv_bytes > 0 ? request.kv_bytes : std::min(budget, useful);
  return out;
}

}  // namespace brio::server
