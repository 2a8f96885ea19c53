#include "ir/combiners.h"

namespace hlo {

bool IsOnTwoParameters(const Instruction& root) {
  return root.operand_count() == 2 && root.operand(0)->opcode() == Opcode::kParameter &&
         root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
}

}  // namespace hlo
