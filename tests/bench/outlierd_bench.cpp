// outlierd_bench measures the machine's limits, then the factorizer against them.
//
//   outlierd_bench [--json FILE] [--nodes 11,50,200] [Google Benchmark's own options]

#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "core/model/kernels.h"
#include "tests/bench/factorizer_bench.h"
#include "tests/bench/limits.h"

namespace {

using namespace outlierd::bench;

// Shows what Google Benchmark shows, and keeps the median of each benchmark's repetitions.
class Collector : public benchmark::ConsoleReporter {
 public:
  Collector() : ConsoleReporter(OO_Defaults) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs)
      if (run.aggregate_name == "median")
        seconds[run.run_name.function_name] =
            run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
  }
  std::map<std::string, double> seconds;
};

struct Arguments {
  std::string json_file;
  std::vector<int> nodes = {11, 50, 200, 500, 1000, 2000};
};

// Takes our own words out of argv; what is left is for Google Benchmark.
bool parse(int& argc, char** argv, Arguments& out) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" && i + 1 < argc) {
      out.json_file = argv[++i];
    } else if (word == "--nodes" && i + 1 < argc) {
      out.nodes.clear();
      std::istringstream list(argv[++i]);
      for (std::string item; std::getline(list, item, ',');) {
        char* end = nullptr;
        const long nodes = std::strtol(item.c_str(), &end, 10);
        if (item.empty() || *end != '\0' || nodes < 2 || nodes > 10000) return false;
        out.nodes.push_back(int(nodes));
      }
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return !out.nodes.empty();
}

void print(const std::vector<FactorizerFigure>& figures, const std::map<int, Limits>& limits) {
  for (const auto& [threads, limit] : limits)
    std::printf("limit, %d thread%s: %.1f GFLOP/s GEMM, %.1f GB/s triad\n", threads,
                threads == 1 ? "" : "s", limit.gemm_gflops, limit.triad_gbs);
  std::printf("%6s %9s %8s %14s %14s %14s %12s\n", "nodes", "observed", "threads", "slice [ms]",
              "projection", "of the limit", "resident MB");
  for (const FactorizerFigure& f : figures)
    std::printf("%6d %8d%% %8d %14.3f %14.3f %13.0f%% %12.0f\n", f.at.nodes, f.at.observed_percent,
                f.at.threads, f.seconds * 1e3, f.projection_seconds * 1e3,
                f.fraction_of_limit * 100, f.resident_megabytes);
}

bool write_json(const std::string& file, const std::vector<FactorizerFigure>& figures,
                const std::map<int, Limits>& limits) {
  std::ofstream out(file);
  const char* separator = "";
  out << "[\n";
  for (const auto& [threads, limit] : limits) {
    out << separator << "{\"threads\":" << threads << ",\"gemm_gflops\":" << limit.gemm_gflops
        << ",\"triad_gbs\":" << limit.triad_gbs << "}";
    separator = ",\n";
  }
  for (const FactorizerFigure& f : figures)
    out << separator << "{\"nodes\":" << f.at.nodes
        << ",\"observed\":" << f.at.observed_percent * 0.01 << ",\"threads\":" << f.at.threads
        << ",\"seconds\":" << f.seconds << ",\"projection_seconds\":" << f.projection_seconds
        << ",\"multiply_adds\":" << f.multiply_adds << ",\"bytes\":" << f.bytes
        << ",\"fraction_of_limit\":" << f.fraction_of_limit
        << ",\"resident_mb\":" << f.resident_megabytes << "}";
  out << "\n]\n";
  return bool(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const bool parsed = parse(argc, argv, arguments);
  benchmark::Initialize(&argc, argv);
  if (!parsed || benchmark::ReportUnrecognizedArguments(argc, argv)) {
    std::cerr << "usage: outlierd_bench [--json FILE] [--nodes 11,50,200,...] [--benchmark_...]\n";
    return 2;
  }
  std::map<int, Limits> limits;
  for (int threads : {1, 2}) limits[threads] = measure_limits(threads);
  std::printf("kernels: %s\n", outlierd::model::kernels().name);

  register_factorizer_benchmarks(arguments.nodes);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);

  const auto figures = factorizer_figures(collector.seconds, limits);
  print(figures, limits);
  if (!arguments.json_file.empty() && !write_json(arguments.json_file, figures, limits)) {
    std::cerr << "outlierd_bench: cannot write " << arguments.json_file << '\n';
    return 1;
  }
  return 0;
}
