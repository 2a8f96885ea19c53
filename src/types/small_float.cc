#include "types/small_float.h"

#include "types/small_float_codes.h"

namespace hlo {

double DecodeSmallFloat(const FloatFormat& format, uint32_t code) { return DecodeSmall(format, code); }
uint32_t EncodeSmallFloat(const FloatFormat& format, double value) { return EncodeSmall(format, value); }

}  // namespace hlo
