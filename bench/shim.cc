// SPDX-License-Identifier: Apache-2.0
// bench/shim.cc - Google Benchmark behind bench/shim.h. The only C++ of the project.
#include "bench/shim.h"

#include <benchmark/benchmark.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

bool left_out; // the line that ran last, and so all after it

// Says nothing: the table is printed by the suites, a line as soon as it is known.
class SilentReporter : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context &) override { return true; }
    void ReportRuns(const std::vector<Run> &) override {}
};

// Names as the suites gave them, without the suffixes "/iterations:1/manual_time"; null for what is no number, where
// Google Benchmark writes a NaN that JSON does not have.
class PlainNames : public benchmark::JSONReporter {
public:
    // The build type is fovea's: Debian's libbenchmark says of itself that it is a debug build.
    bool ReportContext(const Context &context) override
    {
#ifdef NDEBUG
        const char *const build = "$1\"release\"";
#else
        const char *const build = "$1\"debug\"";
#endif
        std::ostream &out = GetOutputStream();
        std::ostringstream text;
        SetOutputStream(&text);
        const bool goes_on = benchmark::JSONReporter::ReportContext(context);
        SetOutputStream(&out);
        out << std::regex_replace(text.str(), std::regex("(\"library_build_type\": )\"[a-z]*\""), build);
        return goes_on;
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        if (left_out)
            return;
        std::vector<Run> plain = runs;
        for (Run &run : plain) {
            run.run_name.iterations.clear();
            run.run_name.time_type.clear();
            run.cpu_accumulated_time = run.real_accumulated_time; // that of reporting calls that are over says nothing
        }
        std::ostream &out = GetOutputStream();
        std::ostringstream text;
        SetOutputStream(&text);
        benchmark::JSONReporter::ReportRuns(plain);
        SetOutputStream(&out);
        out << std::regex_replace(text.str(), std::regex("\": -?(NaN|Infinity)"), "\": null");
    }
};

void run_line(benchmark::State &state, bench_measure *measure, void *arg)
{
    bench_result result = {};
    measure(arg, &result);
    left_out = result.left_out;
    if (result.error || left_out) {
        state.SkipWithError(left_out ? "left out" : result.error);
        return;
    }
    // The calls have been made: one batch reports them, with the time the suite found.
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(result.calls)))
        state.SetIterationTime(result.seconds * static_cast<double>(result.calls));
    for (uint32_t i = 0; i < result.counter_count; i++)
        state.counters[result.counters[i].name] = result.counters[i].value;
    if (result.label)
        state.SetLabel(result.label);
}

} // namespace

void bench_register(const char *name, bench_measure *measure, void *arg)
{
    benchmark::RegisterBenchmark(name, [=](benchmark::State &state) { run_line(state, measure, arg); })
        ->Iterations(1)
        ->UseManualTime();
}

void bench_context(const char *key, const char *value)
{
    static std::set<std::string> known; // a suite that runs again says the same again
    if (known.insert(key).second)
        benchmark::AddCustomContext(key, value);
}

void bench_run(bool json)
{
    // The environment has defaults for Google Benchmark's own programs: BENCHMARK_REPETITIONS=3 ended this one with
    // SIGABRT, as every line has but one result, and BENCHMARK_LIST_TESTS gave a list for JSON.
    std::string words[] = {"fovea bench",
                           "--benchmark_list_tests=false",
                           "--benchmark_repetitions=1",
                           "--benchmark_report_aggregates_only=false",
                           "--benchmark_display_aggregates_only=false",
                           "--benchmark_enable_random_interleaving=false",
                           "--benchmark_perf_counters=",
                           "--benchmark_out=",
                           "--benchmark_time_unit=ns"};
    std::vector<char *> arguments;
    for (std::string &word : words)
        arguments.push_back(&word[0]);
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    SilentReporter silent;
    PlainNames names;
    benchmark::BenchmarkReporter *const reporter = json ? static_cast<benchmark::BenchmarkReporter *>(&names) : &silent;
    benchmark::RunSpecifiedBenchmarks(reporter, ".");
    benchmark::ClearRegisteredBenchmarks();
}
