#pragma once
// Vectors that start on a cache line, so that no vector load of a kernel straddles two.

#include <cstddef>
#include <new>
#include <vector>

namespace outlierd::model {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const CacheLineAllocator&) const = default;
};

using AlignedDoubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace outlierd::model
