// Rules whose family has not landed: they take the declared shape. A row leaves when its family lands.

#include "check/rules.h"

namespace hlo::check {

Inferred BatchNormGrad(RuleContext&) { return AsDeclared(); }
Inferred BatchNormInference(RuleContext&) { return AsDeclared(); }
Inferred BatchNormTraining(RuleContext&) { return AsDeclared(); }
Inferred Cholesky(RuleContext&) { return AsDeclared(); }
Inferred Convolution(RuleContext&) { return AsDeclared(); }
Inferred Dot(RuleContext&) { return AsDeclared(); }
Inferred Fft(RuleContext&) { return AsDeclared(); }
Inferred Gather(RuleContext&) { return AsDeclared(); }
Inferred Map(RuleContext&) { return AsDeclared(); }
Inferred RaggedDot(RuleContext&) { return AsDeclared(); }
Inferred Reduce(RuleContext&) { return AsDeclared(); }
Inferred ReduceWindow(RuleContext&) { return AsDeclared(); }
Inferred ScaledDot(RuleContext&) { return AsDeclared(); }
Inferred Scan(RuleContext&) { return AsDeclared(); }
Inferred Scatter(RuleContext&) { return AsDeclared(); }
Inferred SelectAndScatter(RuleContext&) { return AsDeclared(); }
Inferred Sort(RuleContext&) { return AsDeclared(); }
Inferred Topk(RuleContext&) { return AsDeclared(); }
Inferred TriangularSolve(RuleContext&) { return AsDeclared(); }

Inferred While(RuleContext&) { return AsDeclared(); }
Inferred Conditional(RuleContext&) { return AsDeclared(); }
Inferred Call(RuleContext&) { return AsDeclared(); }
Inferred Fusion(RuleContext&) { return AsDeclared(); }
Inferred AfterAll(RuleContext&) { return AsDeclared(); }
Inferred AddDependency(RuleContext&) { return AsDeclared(); }
Inferred Infeed(RuleContext&) { return AsDeclared(); }
Inferred Outfeed(RuleContext&) { return AsDeclared(); }
Inferred Send(RuleContext&) { return AsDeclared(); }
Inferred SendDone(RuleContext&) { return AsDeclared(); }
Inferred Recv(RuleContext&) { return AsDeclared(); }
Inferred RecvDone(RuleContext&) { return AsDeclared(); }
Inferred Domain(RuleContext&) { return AsDeclared(); }
Inferred CopyStart(RuleContext&) { return AsDeclared(); }
Inferred CopyDone(RuleContext&) { return AsDeclared(); }
Inferred AsyncStart(RuleContext&) { return AsDeclared(); }
Inferred AsyncUpdate(RuleContext&) { return AsDeclared(); }
Inferred AsyncDone(RuleContext&) { return AsDeclared(); }

Inferred AllGather(RuleContext&) { return AsDeclared(); }
Inferred AllGatherDone(RuleContext&) { return AsDeclared(); }
Inferred AllGatherStart(RuleContext&) { return AsDeclared(); }
Inferred AllReduce(RuleContext&) { return AsDeclared(); }
Inferred AllReduceDone(RuleContext&) { return AsDeclared(); }
Inferred AllReduceStart(RuleContext&) { return AsDeclared(); }
Inferred AllToAll(RuleContext&) { return AsDeclared(); }
Inferred CollectiveBroadcast(RuleContext&) { return AsDeclared(); }
Inferred CollectivePermute(RuleContext&) { return AsDeclared(); }
Inferred CollectivePermuteDone(RuleContext&) { return AsDeclared(); }
Inferred CollectivePermuteStart(RuleContext&) { return AsDeclared(); }
Inferred CollectiveReduce(RuleContext&) { return AsDeclared(); }
Inferred RaggedAllToAll(RuleContext&) { return AsDeclared(); }
Inferred ReduceScatter(RuleContext&) { return AsDeclared(); }

}  // namespace hlo::check
