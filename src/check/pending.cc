// Rules whose family has not landed: they take the declared shape. A row leaves when its family lands.

#include "check/rules.h"

namespace hlo::check {

Inferred BatchNormGrad(RuleContext&) { return AsDeclared(); }
Inferred BatchNormInference(RuleContext&) { return AsDeclared(); }
Inferred BatchNormTraining(RuleContext&) { return AsDeclared(); }
Inferred Cholesky(RuleContext&) { return AsDeclared(); }
Inferred Fft(RuleContext&) { return AsDeclared(); }
Inferred Gather(RuleContext&) { return AsDeclared(); }
Inferred Map(RuleContext&) { return AsDeclared(); }
Inferred Scan(RuleContext&) { return AsDeclared(); }
Inferred Scatter(RuleContext&) { return AsDeclared(); }
Inferred Sort(RuleContext&) { return AsDeclared(); }
Inferred Topk(RuleContext&) { return AsDeclared(); }
Inferred TriangularSolve(RuleContext&) { return AsDeclared(); }

}  // namespace hlo::check
