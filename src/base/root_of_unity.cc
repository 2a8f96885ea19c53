#include "base/root_of_unity.h"

#include <cmath>
#include <numbers>

namespace hlo {

std::complex<long double> RootOfUnity(uint64_t j, uint64_t n) {
  const auto eighths = static_cast<unsigned __int128>(j % n) * 8;
  const auto octant = static_cast<int>(eighths / n);
  const auto rest =
      static_cast<long double>(static_cast<uint64_t>(eighths % n)) / static_cast<long double>(n);
  // Odd octants are reflected.
  const long double angle = std::numbers::pi_v<long double> / 4 * (octant % 2 == 0 ? rest : 1 - rest);
  const long double c = std::cos(angle), s = std::sin(angle);
  const bool swapped = octant % 4 == 1 || octant % 4 == 2;
  const long double x = swapped ? s : c, y = swapped ? c : s;
  const bool left = octant >= 2 && octant < 6, below = octant >= 4;
  return {left ? -x : x, below ? y : -y};
}

}  // namespace hlo
