#include "bench/report_json.h"

#include "bench/machine.h"

namespace brio::bench {

boost::json::object to_object(const Spread& spread, double scale) {
  return {{"median", spread.median * scale}, {"min", spread.min * scale}, {"max", spread.max * scale}};
}

boost::json::object machine_object(Isa isa, int threads) {
  return {{"cpu", cpu_model()},
          {"isa", name(isa)},
          {"threads", threads},
          {"last_level_cache_bytes", last_level_cache_bytes()}};
}

boost::json::array probes_array(const std::vector<ProbeSummary>& probes) {
  boost::json::array list;
  for (const ProbeSummary& probe : probes) {
    boost::json::array variants;
    for (const Reading& variant : probe.variants) {
      variants.push_back(boost::json::object{{"variant", variant.variant}, {"giga_per_second", variant.rate * 1e-9}});
    }
    list.push_back(boost::json::object{{"probe", name(probe.probe)},
                                       {"giga_per_second", to_object(probe.rate, 1e-9)},
                                       {"variants", std::move(variants)}});
  }
  return list;
}

boost::json::array strings(const std::vector<std::string>& texts) {
  return boost::json::array(texts.begin(), texts.end());
}

}  // namespace brio::bench
