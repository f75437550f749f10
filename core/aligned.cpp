#include "core/aligned.h"

#include <sys/mman.h>  // advice about memory, the one system call of core

namespace outlierd {
namespace {

constexpr std::align_val_t kCacheLine{64};
constexpr std::align_val_t kHugePage{std::size_t{2} << 20};

// From here on the unused end of the last huge page is small beside the rest.
bool is_large(std::size_t bytes) { return bytes >= std::size_t(kHugePage) * 15 / 16; }

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = std::size_t(kHugePage);
  return (bytes + page - 1) / page * page;
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  if (!is_large(bytes)) return ::operator new(bytes, kCacheLine);
  void* p = ::operator new(whole_pages(bytes), kHugePage);
  // A wish: where it is not granted, small pages do the same work.
  static_cast<void>(::madvise(p, whole_pages(bytes), MADV_HUGEPAGE));
  return p;
}

void free_aligned(void* p, std::size_t bytes) {
  ::operator delete(p, is_large(bytes) ? kHugePage : kCacheLine);
}

}  // namespace outlierd
