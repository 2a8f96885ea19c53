// Counts the allocations of a process, to measure other programs by preloading (LD_PRELOAD). glibc's
// allocator does the work; sizes are those of whole blocks.

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static _Atomic long in_use, peak;

static void* taken(void* block) {
  if (block == NULL) return NULL;
  const long bytes = (long)malloc_usable_size(block);
  const long now = atomic_fetch_add(&in_use, bytes) + bytes;
  long highest = atomic_load(&peak);
  while (now > highest && !atomic_compare_exchange_weak(&peak, &highest, now)) {
  }
  return block;
}
static void given(void* block) {
  if (block != NULL) atomic_fetch_sub(&in_use, (long)malloc_usable_size(block));
}

void* malloc(size_t bytes) { return taken(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return taken(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) { return taken(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* block = memalign(alignment, bytes);
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}
void* realloc(void* block, size_t bytes) {
  given(block);
  void* moved = __libc_realloc(block, bytes);
  if (moved == NULL && bytes != 0) {
    taken(block);  // The block is unchanged.
    return NULL;
  }
  return taken(moved);
}
void free(void* block) {
  given(block);
  __libc_free(block);
}

// Resets the peak. Returns the bytes in use.
long allocation_mark(void) {
  const long now = atomic_load(&in_use);
  atomic_store(&peak, now);
  return now;
}
long allocation_peak(void) { return atomic_load(&peak); }
