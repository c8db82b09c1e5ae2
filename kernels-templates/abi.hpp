// The binary interface between packed storage, generated kernels and whoever calls them. Plain C structs;
// this text is included by the library and copied into every emitted kernel. No heavy headers: it is compiled
// often.
#ifndef WACO_ABI_HPP
#define WACO_ABI_HPP

#include <stdint.h>

#define WACO_MAX_LEVELS 6
/* Every array of a waco_storage is followed by this many readable bytes, so that vector loads and look-ahead
   reads of coordinates may run over the end; what they read there is never used. */
#define WACO_PADDING_BYTES 512

/* What functions return; the same in interface.hpp. */
#define WACO_OK 0
#define WACO_BAD_ARGUMENT 1
#define WACO_OUT_OF_MEMORY 2
#define WACO_UNFIT 3

/* Level kinds, in the order of waco::schedule::LevelKind. */
enum waco_level_kind { WACO_U = 0, WACO_C = 1, WACO_S = 2, WACO_E = 3, WACO_L = 4 };

/* How nonzeros are arranged, in the order of waco::schedule::Arrangement. Only matrices are. WACO_CLUSTERED:
   rows that share columns follow each other. WACO_SKEWED: k - i + rows - 1 takes the place of column k, so
   that diagonals become columns. */
enum waco_arrangement { WACO_GIVEN = 0, WACO_CLUSTERED = 1, WACO_SKEWED = 2 };

/* What a format schedule asks for (docs/superschedule.md). */
struct waco_format {
  int32_t order; /* modes of A: 2 or 3 */
  int32_t num_levels;
  int64_t split[3];       /* per mode, 1 = not split */
  int64_t sort_window;    /* 1 = rows stay in order */
  int64_t cluster_window; /* WACO_CLUSTERED: rows stay in windows of so many; 0 = anywhere */
  int32_t arrangement;    /* enum waco_arrangement */
  struct {
    int32_t mode;
    int32_t inner; /* 1: index % split, 0: index / split */
    int32_t kind;
  } level[WACO_MAX_LEVELS];
};

/* One packed level. `pos` holds int32_t or int64_t (waco_storage.pos_bytes), `crd` uint8_t .. int64_t. */
struct waco_level {
  int64_t extent;        /* coordinates of this level: 0 .. extent-1 */
  int64_t num_positions; /* positions of this level, fill included */
  int64_t width;         /* E: slots of a slice; otherwise 0 */
  void* pos;             /* C: [parent positions + 1]; L: [slices + 1], in slots; otherwise null */
  void* crd;             /* C, S, E, L: [num_positions]; otherwise null */
  int32_t crd_bytes;     /* 1, 2, 4, 8, or 0 without crd */
  int32_t reserved;
};

/* A packed operand. Owned by whoever packed it; released by waco_free. */
struct waco_storage {
  struct waco_format format;
  int64_t dim[3];
  int64_t num_nonzeros; /* of the input */
  int64_t num_stored;   /* values stored, fill included: positions of the last level */
  int32_t value_bytes;  /* 4 or 8 */
  int32_t pos_bytes;    /* 4 or 8, the same for every level */
  struct waco_level level[WACO_MAX_LEVELS];
  void* values;    /* [num_stored] */
  int32_t* row_of; /* sort_window > 1 or WACO_CLUSTERED: stored row -> row, for whole groups of split[0] rows,
                      -1 beyond the last one; else null */
  void* source; /* [num_nonzeros]: position in `values` of the n-th nonzero of the input, int32_t or int64_t;
                   null: n itself */
  int32_t source_bytes; /* 4 or 8, or 0 without source */
  int32_t reserved;
};

/* One call of a kernel. Spmv: dense[0] = B. Spmm: B. Sddmm: B, C. Mttkrp: B, C. */
struct waco_call {
  const void* dense[2];
  void* out;   /* overwritten */
  int64_t rhs; /* size of the dense index; 1 for spmv */
  int32_t threads;
  int32_t chunk;    /* dynamic: iterations a chunk */
  int32_t prefetch; /* nonzeros ahead */
  int32_t reserved;
  const int64_t* partition; /* balanced: see waco_partition; else null */
  void* scratch;            /* for threads' own results; null where none are needed */
};

/* The entry point of a compiled kernel. */
typedef int (*waco_kernel_function)(const struct waco_storage* a, const struct waco_call* call);

#endif
