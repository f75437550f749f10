// The bodies of kernels.h, written once with the compiler's vector types and compiled twice
// (kernels_avx2.cpp, kernels_baseline.cpp). No include guard and no standard library templates: an
// inline function shared with other files could be linked in from here, with instructions that the
// machine at hand does not have.

namespace {

using Vector = double __attribute__((vector_size(32), aligned(8), may_alias));

constexpr int kLanes = kColumnStep;
constexpr int kTileColumns = 256;  // 10 rows of k in 20 KB, within the first-level cache
constexpr int kLongTile = 1024;    // where k is read once a row and the second-level cache will do
constexpr int kTransposedRows = 16;  // rows folded in before z is written back
constexpr int kRowsAhead = 4;        // rows to fetch ahead of the two at work
constexpr int kAhead = 512;          // bytes to fetch ahead of a stream
constexpr int kBlockRows = 8;        // rows that share a word's moments while they are in cache
constexpr int kMaxSumVectors = 14;   // accumulators beside two working registers

inline Vector load(const double* p) { return *reinterpret_cast<const Vector*>(p); }
inline void store(double* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }
inline Vector spread(double x) { return Vector{x, x, x, x}; }
inline double sum(Vector v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline int smaller(int a, int b) { return a < b ? a : b; }

// Dot products of Rows rows of d with Rank rows of k over one tile. ahead, where it is not null, is
// fetched on the way, a line at a time.
template <int Rows, int Rank>
inline void dot_tile(const double* d, std::ptrdiff_t ldd, int columns, const double* k,
                     std::ptrdiff_t ldk, const double* ahead, bool first, double* out,
                     std::ptrdiff_t ldo) {
  Vector acc[Rows][Rank] = {};
  const auto add = [&](int j) {
    Vector dv[Rows];
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) dv[i] = load(d + i * ldd + j);
#pragma GCC unroll 8
    for (int r = 0; r < Rank; ++r) {
      const Vector kv = load(k + r * ldk + j);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) acc[i][r] += dv[i] * kv;
    }
  };
  int j = 0;
  for (; j + 2 * kLanes <= columns; j += 2 * kLanes) {
    if (ahead)
      for (int i = 0; i < Rows; ++i) __builtin_prefetch(ahead + i * ldd + j);
    add(j);
    add(j + kLanes);
  }
  if (j < columns) add(j);
  for (int i = 0; i < Rows; ++i)
    for (int r = 0; r < Rank; ++r) {
      double& cell = out[i * ldo + r];
      cell = (first ? 0.0 : cell) + sum(acc[i][r]);
    }
}

template <int Rows>
inline void dot_rows(const double* d, std::ptrdiff_t ldd, int columns, const double* k,
                     std::ptrdiff_t ldk, int rank, bool first, double* out, std::ptrdiff_t ldo) {
  int r = 0;
  while (r < rank) {
    const int left = rank - r;
    const int take = left == 6 ? 3 : left > 4 && left != 8 ? smaller(left, 5) : smaller(left, 4);
    const double* kr = k + r * ldk;
    const double* ahead = r == 0 ? d + kRowsAhead * ldd : nullptr;
    switch (take) {
      case 1:
        dot_tile<Rows, 1>(d, ldd, columns, kr, ldk, ahead, first, out + r, ldo);
        break;
      case 2:
        dot_tile<Rows, 2>(d, ldd, columns, kr, ldk, ahead, first, out + r, ldo);
        break;
      case 3:
        dot_tile<Rows, 3>(d, ldd, columns, kr, ldk, ahead, first, out + r, ldo);
        break;
      case 4:
        dot_tile<Rows, 4>(d, ldd, columns, kr, ldk, ahead, first, out + r, ldo);
        break;
      default:
        dot_tile<Rows, 5>(d, ldd, columns, kr, ldk, ahead, first, out + r, ldo);
        break;
    }
    r += take;
  }
}

void multiply(const double* d, std::ptrdiff_t ldd, int rows, int columns, const double* k,
              std::ptrdiff_t ldk, int rank, double* out, std::ptrdiff_t ldo) {
  for (int j = 0; j < columns; j += kTileColumns) {
    const int width = smaller(kTileColumns, columns - j);
    int i = 0;
    for (; i + 2 <= rows; i += 2) {
      dot_rows<2>(d + i * ldd + j, ldd, width, k + j, ldk, rank, j == 0, out + i * ldo, ldo);
    }
    if (i < rows)
      dot_rows<1>(d + i * ldd + j, ldd, width, k + j, ldk, rank, j == 0, out + i * ldo, ldo);
  }
}

// Rows rows of d times Vectors vectors of k's columns. With one accumulator a row and vector, and
// no sum across lanes at the end, d streams through once.
template <int Rows, int Vectors>
inline void thin_tile(const double* d, std::ptrdiff_t ldd, int columns, const double* k,
                      std::ptrdiff_t ldk, bool first, double* out, std::ptrdiff_t ldo) {
  constexpr int kLine = 2 * kLanes;
  Vector acc[Rows][Vectors];
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < Vectors; ++v)
      acc[i][v] = first ? spread(0.0) : load(out + i * ldo + v * kLanes);
  const auto add = [&](int j) {
    Vector kv[Vectors];
    for (int v = 0; v < Vectors; ++v) kv[v] = load(k + j * ldk + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Vector dv = spread(d[i * ldd + j]);
      for (int v = 0; v < Vectors; ++v) acc[i][v] += dv * kv[v];
    }
  };
  int j = 0;
  for (; j + kLine <= columns; j += kLine) {
    for (int i = 0; i < Rows; ++i) __builtin_prefetch(d + (i + Rows) * ldd + j);
#pragma GCC unroll 8
    for (int h = 0; h < kLine; ++h) add(j + h);
  }
  for (; j < columns; ++j) add(j);
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < Vectors; ++v) store(out + i * ldo + v * kLanes, acc[i][v]);
}

// As many rows at once as give each of the two multipliers work while others finish.
template <int Vectors>
inline void thin_rows(const double* d, std::ptrdiff_t ldd, int rows, int columns, const double* k,
                      std::ptrdiff_t ldk, bool first, double* out, std::ptrdiff_t ldo) {
  constexpr int kRows = Vectors == 1 ? 8 : Vectors == 2 ? 6 : 4;
  int i = 0;
  for (; i + kRows <= rows; i += kRows)
    thin_tile<kRows, Vectors>(d + i * ldd, ldd, columns, k, ldk, first, out + i * ldo, ldo);
  for (; i < rows; ++i)
    thin_tile<1, Vectors>(d + i * ldd, ldd, columns, k, ldk, first, out + i * ldo, ldo);
}

void multiply_thin(const double* d, std::ptrdiff_t ldd, int rows, int columns, const double* k,
                   std::ptrdiff_t ldk, int rank, double* out, std::ptrdiff_t ldo) {
  const int vectors = (rank + kLanes - 1) / kLanes;
  for (int j = 0; j < columns; j += kLongTile) {
    const int width = smaller(kLongTile, columns - j);
    for (int v = 0; v < vectors;) {
      const int take = vectors - v == 4 ? 2 : smaller(vectors - v, 3);
      const double* kv = k + j * ldk + v * kLanes;
      double* to = out + v * kLanes;
      if (take == 1) thin_rows<1>(d + j, ldd, rows, width, kv, ldk, j == 0, to, ldo);
      if (take == 2) thin_rows<2>(d + j, ldd, rows, width, kv, ldk, j == 0, to, ldo);
      if (take == 3) thin_rows<3>(d + j, ldd, rows, width, kv, ldk, j == 0, to, ldo);
      v += take;
    }
  }
}

// Vectors columns of z for Rank components, folding in `rows` rows of d.
template <int Vectors, int Rank>
inline void fold_tile(const double* d, std::ptrdiff_t ldd, int rows, const double* x,
                      std::ptrdiff_t ldx, double* z, std::ptrdiff_t ldz) {
  Vector acc[Rank][Vectors];
  for (int r = 0; r < Rank; ++r)
    for (int v = 0; v < Vectors; ++v) acc[r][v] = load(z + r * ldz + v * kLanes);
  for (int i = 0; i < rows; ++i) {
    Vector dv[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) dv[v] = load(d + i * ldd + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rank; ++r) {
      const Vector xv = spread(x[i * ldx + r]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) acc[r][v] += dv[v] * xv;
    }
  }
  for (int r = 0; r < Rank; ++r)
    for (int v = 0; v < Vectors; ++v) store(z + r * ldz + v * kLanes, acc[r][v]);
}

template <int Vectors>
inline void fold_ranks(const double* d, std::ptrdiff_t ldd, int rows, const double* x,
                       std::ptrdiff_t ldx, int rank, double* z, std::ptrdiff_t ldz) {
  int r = 0;
  while (r < rank) {
    const int left = rank - r;
    const int take = left == 6 ? 3 : left > 4 && left != 8 ? smaller(left, 5) : smaller(left, 4);
    switch (take) {
      case 1:
        fold_tile<Vectors, 1>(d, ldd, rows, x + r, ldx, z + r * ldz, ldz);
        break;
      case 2:
        fold_tile<Vectors, 2>(d, ldd, rows, x + r, ldx, z + r * ldz, ldz);
        break;
      case 3:
        fold_tile<Vectors, 3>(d, ldd, rows, x + r, ldx, z + r * ldz, ldz);
        break;
      case 4:
        fold_tile<Vectors, 4>(d, ldd, rows, x + r, ldx, z + r * ldz, ldz);
        break;
      default:
        fold_tile<Vectors, 5>(d, ldd, rows, x + r, ldx, z + r * ldz, ldz);
        break;
    }
    r += take;
  }
}

void multiply_transposed(const double* d, std::ptrdiff_t ldd, int rows, int columns,
                         const double* x, std::ptrdiff_t ldx, int rank, double* z,
                         std::ptrdiff_t ldz) {
  for (int i = 0; i < rows; i += kTransposedRows) {
    const int height = smaller(kTransposedRows, rows - i);
    const double* di = d + i * ldd;
    const double* xi = x + i * ldx;
    int j = 0;
    for (; j + 2 * kLanes <= columns; j += 2 * kLanes) {
      for (int row = 0; row < height; ++row)
        __builtin_prefetch(reinterpret_cast<const char*>(di + row * ldd + j) + kAhead);
      fold_ranks<2>(di + j, ldd, height, xi, ldx, rank, z + j, ldz);
    }
    if (j < columns) fold_ranks<1>(di + j, ldd, height, xi, ldx, rank, z + j, ldz);
  }
}

template <int Vectors>
inline void subtract_tile(const double* base, const double* x, const double* k, std::ptrdiff_t ldk,
                          int rank, double* out) {
  Vector acc[Vectors];
  for (int v = 0; v < Vectors; ++v) acc[v] = base ? load(base + v * kLanes) : spread(0.0);
  for (int r = 0; r < rank; ++r) {
    const Vector xv = spread(x[r]);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) acc[v] -= xv * load(k + r * ldk + v * kLanes);
  }
  for (int v = 0; v < Vectors; ++v) store(out + v * kLanes, acc[v]);
}

void subtract_low_rank(const double* base, std::ptrdiff_t ldb, int rows, int columns,
                       const double* x, std::ptrdiff_t ldx, const double* k, std::ptrdiff_t ldk,
                       int rank, double* out, std::ptrdiff_t ldo) {
  constexpr int kWide = 8;
  for (int tile = 0; tile < columns; tile += kLongTile) {
    const int end = tile + smaller(kLongTile, columns - tile);
    for (int i = 0; i < rows; ++i) {
      const double* b = base ? base + i * ldb : nullptr;
      int j = tile;
      for (; j + kWide * kLanes <= end; j += kWide * kLanes)
        subtract_tile<kWide>(b ? b + j : nullptr, x + i * ldx, k + j, ldk, rank, out + i * ldo + j);
      for (; j < end; j += kLanes)
        subtract_tile<1>(b ? b + j : nullptr, x + i * ldx, k + j, ldk, rank, out + i * ldo + j);
    }
  }
}

double square_peaks(const double* x, std::ptrdiff_t n, double* peaks) {
  Vector total = spread(0.0);
  for (std::ptrdiff_t first = 0; first < n; first += kPeakBlock) {
    const std::ptrdiff_t last = first + kPeakBlock < n ? first + kPeakBlock : n;
    Vector sums[2] = {}, most[2] = {};
    std::ptrdiff_t i = first;
    for (; i + 2 * kLanes <= last; i += 2 * kLanes)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const Vector value = load(x + i + v * kLanes);
        const Vector square = value * value;
        sums[v] += square;
        most[v] = square > most[v] ? square : most[v];
      }
    double peak = 0.0, rest = 0.0;
    for (; i < last; ++i) {
      const double square = x[i] * x[i];
      rest += square;
      peak = square > peak ? square : peak;
    }
    for (int v = 0; v < 2; ++v)
      for (int lane = 0; lane < kLanes; ++lane) peak = most[v][lane] > peak ? most[v][lane] : peak;
    peaks[first / kPeakBlock] = peak;
    total += sums[0] + sums[1];
    total[0] += rest;
  }
  return sum(total);
}

// One word of one row: adds the moments of its set bits to acc.
template <int Vectors>
inline void add_word(std::uint64_t word, std::uint64_t valid, const double* moments,
                     std::ptrdiff_t ldm, const double* word_sum, double* out) {
  Vector acc[Vectors];
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) acc[v] = load(out + v * kLanes);
  const bool few_missing = 2 * __builtin_popcountll(word) > __builtin_popcountll(valid);
  if (few_missing) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) acc[v] += load(word_sum + v * kLanes);
    for (std::uint64_t rest = valid & ~word; rest; rest &= rest - 1) {
      const double* m = moments + __builtin_ctzll(rest) * ldm;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[v] -= load(m + v * kLanes);
    }
  } else {
    for (std::uint64_t rest = word; rest; rest &= rest - 1) {
      const double* m = moments + __builtin_ctzll(rest) * ldm;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[v] += load(m + v * kLanes);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) store(out + v * kLanes, acc[v]);
}

template <int Vectors>
void masked_chunk(const std::uint64_t* const* bits, std::ptrdiff_t ldbits, int slices,
                  int row_begin, int row_end, int columns, const double* moments,
                  std::ptrdiff_t ldm, const double* word_sums, std::ptrdiff_t ldw,
                  double* const* out, std::ptrdiff_t ldo, int offset) {
  for (int block = row_begin; block < row_end; block += kBlockRows) {
    const int block_end = smaller(block + kBlockRows, row_end);
    for (int s = 0; s < slices; ++s) {
      if (!out[s]) continue;
      for (int i = block; i < block_end; ++i)
        for (int v = 0; v < Vectors; ++v)
          store(out[s] + (i - row_begin) * ldo + offset + v * kLanes, spread(0.0));
    }
    for (int word = 0; word * kBitsInWord < columns; ++word) {
      const int width = smaller(kBitsInWord, columns - word * kBitsInWord);
      const std::uint64_t valid =
          width == kBitsInWord ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
      for (int s = 0; s < slices; ++s) {
        if (!out[s]) continue;
        for (int i = block; i < block_end; ++i)
          add_word<Vectors>(
              bits[s][i * ldbits + word], valid, moments + word * kBitsInWord * ldm + offset, ldm,
              word_sums + word * ldw + offset, out[s] + (i - row_begin) * ldo + offset);
      }
    }
  }
}

using MaskedChunk = void (*)(const std::uint64_t* const*, std::ptrdiff_t, int, int, int, int,
                             const double*, std::ptrdiff_t, const double*, std::ptrdiff_t,
                             double* const*, std::ptrdiff_t, int);
constexpr MaskedChunk kMaskedChunks[kMaxSumVectors + 1] = {
    nullptr,          masked_chunk<1>,  masked_chunk<2>,  masked_chunk<3>,  masked_chunk<4>,
    masked_chunk<5>,  masked_chunk<6>,  masked_chunk<7>,  masked_chunk<8>,  masked_chunk<9>,
    masked_chunk<10>, masked_chunk<11>, masked_chunk<12>, masked_chunk<13>, masked_chunk<14>};

void masked_sums(const std::uint64_t* const* bits, std::ptrdiff_t ldbits, int slices, int row_begin,
                 int row_end, int columns, const double* moments, std::ptrdiff_t ldm,
                 const double* word_sums, std::ptrdiff_t ldw, int packed, double* const* out,
                 std::ptrdiff_t ldo) {
  const int vectors = packed / kLanes;
  const int chunks = (vectors + kMaxSumVectors - 1) / kMaxSumVectors;
  for (int chunk = 0, done = 0; chunk < chunks; ++chunk) {
    const int take = (vectors - done + (chunks - chunk) - 1) / (chunks - chunk);
    kMaskedChunks[take](bits, ldbits, slices, row_begin, row_end, columns, moments, ldm, word_sums,
                        ldw, out, ldo, done * kLanes);
    done += take;
  }
}

// Four rows at once, one in each lane. l holds P, then its Cholesky factor, then the factor's
// inverse.
inline bool invert_lanes(int rank, Vector* l) {
  bool positive = true;
  for (int r = 0; r < rank; ++r) {
    Vector* lr = l + r * (r + 1) / 2;
    for (int s = 0; s <= r; ++s) {
      const Vector* ls = l + s * (s + 1) / 2;
      Vector value = lr[s];
      for (int q = 0; q < s; ++q) value -= lr[q] * ls[q];
      if (s < r) {
        lr[s] = value * ls[s];  // the diagonal already holds its reciprocal
      } else {
        for (int lane = 0; lane < kLanes; ++lane) {
          positive = positive && value[lane] > 0.0 && value[lane] < __builtin_inf();
          value[lane] = __builtin_sqrt(value[lane] > 0.0 ? value[lane] : 1.0);
        }
        lr[r] = spread(1.0) / value;
      }
    }
  }
  for (int r = 1; r < rank; ++r) {
    Vector* lr = l + r * (r + 1) / 2;
    for (int s = 0; s < r; ++s) {
      Vector value = lr[s] * l[s * (s + 1) / 2 + s];
      for (int q = s + 1; q < r; ++q) value += lr[q] * l[q * (q + 1) / 2 + s];
      lr[s] = -value * lr[r];
    }
  }
  return positive;
}

bool solve_rows(int n, int rank, const double* precision, std::ptrdiff_t ldp, const double* rhs,
                std::ptrdiff_t ldr, double* mean, std::ptrdiff_t ldmean, double* moment,
                std::ptrdiff_t ldm) {
  const int packed = rank * (rank + 1) / 2;
  Vector l[kMaxRank * (kMaxRank + 1) / 2];
  Vector y[kMaxRank];
  Vector m[kMaxRank];
  bool ok = true;
  for (int first = 0; first < n; first += kLanes) {
    int row[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) row[lane] = smaller(first + lane, n - 1);
    for (int p = 0; p < packed; ++p)
      for (int lane = 0; lane < kLanes; ++lane) l[p][lane] = precision[row[lane] * ldp + p];
    ok = invert_lanes(rank, l) && ok;

    // V = L^-T L^-1, mean = L^-T (L^-1 rhs)
    for (int r = 0; r < rank; ++r) {
      Vector value = spread(0.0);
      for (int s = 0; s <= r; ++s) {
        Vector b;
        for (int lane = 0; lane < kLanes; ++lane) b[lane] = rhs[row[lane] * ldr + s];
        value += l[r * (r + 1) / 2 + s] * b;
      }
      y[r] = value;
    }
    for (int r = 0; r < rank; ++r) {
      Vector value = spread(0.0);
      for (int q = r; q < rank; ++q) value += l[q * (q + 1) / 2 + r] * y[q];
      m[r] = value;
      for (int lane = 0; lane < kLanes; ++lane) mean[row[lane] * ldmean + r] = value[lane];
    }
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s <= r; ++s) {
        Vector value = m[r] * m[s];
        for (int q = r; q < rank; ++q) value += l[q * (q + 1) / 2 + r] * l[q * (q + 1) / 2 + s];
        for (int lane = 0; lane < kLanes; ++lane)
          moment[row[lane] * ldm + r * (r + 1) / 2 + s] = value[lane];
      }
  }
  return ok;
}

}  // namespace
