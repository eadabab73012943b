// Pieces of the JSON reports that both benches have; included by *_report.cc alone (Boost.JSON is slow to compile).
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "bench/probe.h"
#include "bench/statistics.h"

namespace brio::bench {

boost::json::object to_object(const Spread& spread, double scale);  // {"median", "min", "max"}, each times scale
boost::json::object machine_object(Isa isa, int threads);
boost::json::array probes_array(const std::vector<ProbeSummary>& probes);
boost::json::array strings(const std::vector<std::string>& texts);

}  // namespace brio::bench
