#pragma once
// HLO_CHECK aborts on a bug of this program. Errors of users are absl::Status or Diagnostics.

#include <cstdio>
#include <cstdlib>

#define HLO_CHECK(condition)                                                               \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      std::fprintf(stderr, "%s:%d: internal error: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
