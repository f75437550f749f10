#pragma once
// Vectors that start on a cache line, so that no vector load of a kernel straddles two, and large
// ones on huge pages where the system has them: a pass over the ring of a large network touches a
// new page with every row, and with small pages waits for their translation (a fifth of its time
// at 1000 nodes).

#include <cstddef>
#include <new>
#include <vector>

namespace outlierd {

void* allocate_aligned(std::size_t bytes);
void free_aligned(void* p, std::size_t bytes);

template <class T>
struct CacheLineAllocator {
  using value_type = T;

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) { return static_cast<T*>(allocate_aligned(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { free_aligned(p, n * sizeof(T)); }
  bool operator==(const CacheLineAllocator&) const = default;
};

using AlignedDoubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace outlierd
