// A warm slice takes nothing from the heap, whatever is in it. This program counts every
// allocation: its operator new is malloc, and the linker sends malloc and its kin through the
// counters below
// (--wrap, see CMakeLists.txt), Eigen's own calls included.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include "core/aligned.h"
#include "core/model/streaming_factorizer.h"
#include "tests/support/synthetic.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);

void* __wrap_malloc(std::size_t size) {
  ++allocations;
  return __real_malloc(size);
}
void* __wrap_calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __real_calloc(count, size);
}
void* __wrap_realloc(void* memory, std::size_t size) {
  ++allocations;
  return __real_realloc(memory, size);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_posix_memalign(memory, alignment, size);
}
}

namespace {

// Not to be inlined: the compiler would see new and free meet, and warn.
[[gnu::noinline]] void give_back(void* memory) { std::free(memory); }
[[gnu::noinline]] void* taken(std::size_t size) {
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* taken(std::size_t size, std::align_val_t alignment) {
  const auto step = std::size_t(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step + step))
    return memory;
  throw std::bad_alloc();
}

}  // namespace

// All forms: a sanitizer's library does not bring the others down to the first.
void* operator new(std::size_t size) { return taken(size); }
void* operator new[](std::size_t size) { return taken(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return taken(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return taken(size, alignment);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace outlierd::model {
namespace {

long allocations_of(const auto& work) {
  const long before = allocations;
  work();
  return allocations - before;
}

TEST(AllocationCounter, SeesEveryWayToTakeMemory) {
  EXPECT_EQ(allocations_of([] {}), 0);
  EXPECT_EQ(allocations_of([] { std::vector<double> values(100, 1.0); }), 1);
  EXPECT_EQ(allocations_of([] { AlignedDoubles values(100, 1.0); }), 1);
  EXPECT_EQ(allocations_of([] { delete new (std::nothrow) int(3); }), 1);
  EXPECT_EQ(allocations_of([] { delete[] new std::string[3]; }), 1);
  EXPECT_EQ(allocations_of([] {
              void* volatile memory = std::malloc(10);  // or the compiler leaves it out
              std::free(memory);
            }),
            1);
}

struct Setting {
  std::string name;
  SliceShape shape;
  double missing;
  int max_rank;
  int threads;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

constexpr int kWarmUp = 25, kMeasured = 60;

// Three components, a fourth from the middle on (something to seed), 3% outliers, and from slice 30
// on one cell at a new level.
std::vector<Slice> eventful_slices(const Setting& setting) {
  test::SyntheticOptions options{.shape = setting.shape,
                                 .slices = kWarmUp + kMeasured,
                                 .outlier_share = 0.03,
                                 .missing_share = setting.missing,
                                 .smooth = true,
                                 .seed = 5};
  test::SyntheticStream stream = synthetic_stream(options);
  options.rank = 1;
  options.seed = 6;
  const test::SyntheticStream late = synthetic_stream(options);
  for (int t = kWarmUp + kMeasured / 2; t < kWarmUp + kMeasured; ++t)
    for (std::size_t cell = 0; cell < late.low_rank[t].size(); ++cell)
      stream.slices[t].values[cell] += 3.0 * late.low_rank[t][cell];
  for (int t = 30; t < kWarmUp + kMeasured; ++t) stream.slices[t].set(3, 300.0 * stream.sigma);
  return stream.slices;
}

class NoAllocation : public testing::TestWithParam<Setting> {};

TEST_P(NoAllocation, InAWarmSlice) {
  const std::vector<Slice> slices = eventful_slices(GetParam());
  FactorizerOptions options;
  options.max_rank = GetParam().max_rank;
  options.threads = GetParam().threads;
  options.reseed_slices = 1;
  options.level_slices = 3;
  StreamingFactorizer factorizer(GetParam().shape, options);
  for (int t = 0; t < kWarmUp; ++t) factorizer.update(slices[t]);
  ASSERT_TRUE(factorizer.warm());

  int flagged = 0, level_slices = 0, highest_rank = 0;
  for (int t = kWarmUp; t < kWarmUp + kMeasured; ++t) {
    EXPECT_EQ(allocations_of([&] { factorizer.project(slices[t]); }), 0) << "project, slice " << t;
    Learned learned;
    EXPECT_EQ(allocations_of([&] { learned = factorizer.update(slices[t]); }), 0)
        << "update, slice " << t;
    for (double sparse : factorizer.projection().sparse) flagged += sparse != 0.0;
    level_slices += t >= 33 && factorizer.projection().sparse[3] == 0.0;
    highest_rank = std::max(highest_rank, learned.rank);
  }
  // The stream was as eventful as promised.
  EXPECT_GT(flagged, kMeasured);
  EXPECT_GT(level_slices, 5);
  EXPECT_GT(highest_rank, std::min(2, GetParam().max_rank - 1));
}

TEST_P(NoAllocation, InASliceThatIsRefusedOrUnobserved) {
  const std::vector<Slice> slices = eventful_slices(GetParam());
  FactorizerOptions options;
  options.threads = GetParam().threads;
  StreamingFactorizer factorizer(GetParam().shape, options);
  for (int t = 0; t < kWarmUp; ++t) factorizer.update(slices[t]);
  const Slice nothing(GetParam().shape), other_shape(SliceShape{2, 2});
  Slice not_a_number = slices[kWarmUp];
  not_a_number.set(2, std::numeric_limits<double>::quiet_NaN());
  for (const Slice* slice : {&nothing, &other_shape, static_cast<const Slice*>(&not_a_number)})
    EXPECT_EQ(allocations_of([&] { factorizer.update(*slice); }), 0);
}

INSTANTIATE_TEST_SUITE_P(, NoAllocation,
                         testing::Values(Setting{"TwoWay", {11, 12}, 0.0, 10, 1},
                                         Setting{"TwoWayMasked", {11, 12}, 0.3, 10, 1},
                                         Setting{"TwoWayAtRankCap", {11, 12}, 0.0, 2, 1},
                                         Setting{"TwoWayMaskedAtRankCap", {11, 12}, 0.1, 2, 1},
                                         Setting{"ThreeWay", {9, 8, 3}, 0.0, 10, 1},
                                         Setting{"ThreeWayMasked", {9, 8, 3}, 0.3, 10, 1},
                                         Setting{"TwoThreads", {120, 90}, 0.0, 10, 2},
                                         Setting{"TwoThreadsMasked", {120, 90}, 0.3, 10, 2},
                                         Setting{"TwoThreadsThreeWay", {60, 40, 3}, 0.1, 5, 2}),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace outlierd::model
