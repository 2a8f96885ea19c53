#include "plan/calls/fused_operations.h"

#include "reference/custom/onednn.h"

namespace hlo::plan::calls {

Op Fused(const CallBuilder& b, const reference::custom::Options& config, int64_t feature, Op x) {
  int64_t next = 2;
  for (const std::string& op : reference::custom::FusedOps(config)) {
    if (reference::custom::TakesOperand(op)) {
      x = BroadcastTo(b.Wide(next++), b.results()[0].dims(), feature) + x;
    } else if (op == "LINEAR") {
      const double beta = config.Group("fusions").Number("beta", 0);
      x = CallBuilder::Scaled(x, reference::custom::Alpha(config));
      if (beta != 0) x = x + build::ScalarLike(x, beta);
    } else {
      x = Activated(*reference::custom::FindOnednnOp(op), x);
    }
  }
  return x;
}

}  // namespace hlo::plan::calls
