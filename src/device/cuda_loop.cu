#include <cuda_runtime.h>

#include <vector>

#include "base/status.h"
#include "device/cuda_loop.h"
#include "device/status.h"

namespace hlo::device {

#if CUDART_VERSION >= 12040

namespace {

__global__ void SetLoopCondition(cudaGraphConditionalHandle loop, const bool* predicate) {
  cudaGraphSetConditional(loop, *predicate ? 1 : 0);
}

cudaError_t AddNode(cudaGraphNode_t* added, cudaGraph_t graph, absl::Span<const cudaGraphNode_t> before,
                    cudaGraphNodeParams* node) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(added, graph, before.data(), nullptr, before.size(), node);
#else
  return cudaGraphAddNode(added, graph, before.data(), before.size(), node);
#endif
}

cudaError_t BeginCapture(cudaStream_t stream, cudaGraph_t graph, absl::Span<const cudaGraphNode_t> before) {
  return cudaStreamBeginCaptureToGraph(stream, graph, before.data(), nullptr, before.size(),
                                       cudaStreamCaptureModeRelaxed);
}

class CudaLoop : public GpuGraph {
 public:
  explicit CudaLoop(cudaStream_t stream) : stream_(stream) {}
  CudaLoop(const CudaLoop&) = delete;
  CudaLoop& operator=(const CudaLoop&) = delete;
  ~CudaLoop() override {
    if (runnable_ != nullptr) {
      cudaStreamSynchronize(stream_);  // The graph may still be running.
      cudaGraphExecDestroy(runnable_);
    }
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  // A driver may refuse any part of the graph, until it is instantiated. Errors of the iteration itself recur
  // when the host runs the loop.
  absl::Status Record(const bool* predicate, const std::function<absl::Status()>& iteration) {
    const absl::Status made = MakeGraph(predicate, iteration);
    return made.ok() ? made : absl::UnimplementedError(made.message());
  }

  absl::Status Run() override { return CudaStatus(cudaGraphLaunch(runnable_, stream_), "starting a loop"); }

 private:
  absl::Status MakeGraph(const bool* predicate, const std::function<absl::Status()>& iteration) {
    cudaGraphConditionalHandle again{};
    cudaGraph_t body = nullptr;
    HLO_RETURN_IF_ERROR(MakeLoop(&again, &body));
    HLO_RETURN_IF_ERROR(CudaStatus(BeginCapture(stream_, body, {}), "recording a loop"));
    absl::Status recorded = iteration();
    if (recorded.ok()) {
      SetLoopCondition<<<1, 1, 0, stream_>>>(again, predicate);
      recorded.Update(CudaStatus(cudaGetLastError(), "recording the end of a loop's iteration"));
    }
    const cudaError_t ended = cudaStreamEndCapture(stream_, &body);
    HLO_RETURN_IF_ERROR(recorded);
    HLO_RETURN_IF_ERROR(CudaStatus(ended, "recording a loop"));
    return CudaStatus(cudaGraphInstantiate(&runnable_, graph_, 0), "making a graph of a loop");
  }

  // Creates a graph that consists of one loop with an empty body.
  absl::Status MakeLoop(cudaGraphConditionalHandle* again, cudaGraph_t* body) {
    HLO_RETURN_IF_ERROR(CudaStatus(cudaGraphCreate(&graph_, 0), "making a graph"));
    HLO_RETURN_IF_ERROR(
        CudaStatus(cudaGraphConditionalHandleCreate(again, graph_, 1, cudaGraphCondAssignDefault),
                   "making a condition"));
    cudaGraphNodeParams node = {};
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = *again;
    node.conditional.type = cudaGraphCondTypeWhile;
    node.conditional.size = 1;
    cudaGraphNode_t added;
    const cudaError_t error = AddNode(&added, graph_, {}, &node);
    if (error == cudaSuccess) *body = node.conditional.phGraph_out[0];
    return CudaStatus(error, "making a loop of a graph");
  }

  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GpuGraph>> RecordCudaLoop(Stream stream, const bool* predicate,
                                                         const std::function<absl::Status()>& iteration) {
  auto loop = std::make_unique<CudaLoop>(stream.handle);
  HLO_RETURN_IF_ERROR(loop->Record(predicate, iteration));
  return loop;
}

#if CUDART_VERSION >= 12080

namespace {

__global__ void Choose(cudaGraphConditionalHandle branch, const void* choice, bool is_pred, unsigned count) {
  const int number = is_pred ? (*static_cast<const bool*>(choice) ? 0 : 1) : *static_cast<const int*>(choice);
  cudaGraphSetConditional(branch, static_cast<unsigned>(number) < count ? number : count - 1);
}

// The graph that a stream is capturing, and the dependencies of its next node.
struct Recorded {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> before;

  absl::Status Find(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t error =
        cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &nodes, nullptr, &count);
#else
    const cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, &nodes, &count);
#endif
    HLO_RETURN_IF_ERROR(CudaStatus(error, "looking at what is recorded"));
    if (status != cudaStreamCaptureStatusActive)
      return absl::InternalError("a branch is recorded outside of a loop");
    before.assign(nodes, nodes + count);
    return absl::OkStatus();
  }
};

// Appends a conditional node to the captured graph, with an empty graph per branch.
absl::Status AddBranch(cudaStream_t stream, const void* choice, bool is_pred, unsigned count,
                       cudaGraphNode_t* added, Recorded* recorded, std::vector<cudaGraph_t>* graphs) {
  HLO_RETURN_IF_ERROR(recorded->Find(stream));
  cudaGraphNodeParams node = {};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.type = cudaGraphCondTypeSwitch;
  node.conditional.size = count;
  HLO_RETURN_IF_ERROR(
      CudaStatus(cudaGraphConditionalHandleCreate(&node.conditional.handle, recorded->graph, 0, 0),
                 "making a condition"));
  Choose<<<1, 1, 0, stream>>>(node.conditional.handle, choice, is_pred, count);
  HLO_RETURN_IF_ERROR(CudaStatus(cudaGetLastError(), "recording a choice"));
  HLO_RETURN_IF_ERROR(recorded->Find(stream));
  HLO_RETURN_IF_ERROR(
      CudaStatus(AddNode(added, recorded->graph, recorded->before, &node), "making a branch of a graph"));
  graphs->assign(node.conditional.phGraph_out, node.conditional.phGraph_out + count);
  return absl::OkStatus();
}

}  // namespace

// The stream captures the graphs of the branches in turn and then continues the enclosing capture after the
// conditional node.
absl::Status RecordCudaBranch(Stream stream, const void* choice, bool is_pred,
                              absl::Span<const std::function<absl::Status()>> branches) {
  cudaGraphNode_t added;
  Recorded around;
  std::vector<cudaGraph_t> graphs;
  if (const absl::Status made = AddBranch(stream, choice, is_pred, static_cast<unsigned>(branches.size()),
                                          &added, &around, &graphs);
      !made.ok())
    return absl::UnimplementedError(made.message());
  cudaGraph_t ended = nullptr;
  HLO_RETURN_IF_ERROR(CudaStatus(cudaStreamEndCapture(stream, &ended), "recording a branch"));
  absl::Status recorded;
  for (size_t i = 0; i < branches.size() && recorded.ok(); ++i) {
    recorded.Update(CudaStatus(BeginCapture(stream, graphs[i], {}), "recording a branch"));
    if (!recorded.ok()) break;
    recorded.Update(branches[i]());
    recorded.Update(CudaStatus(cudaStreamEndCapture(stream, &ended), "recording a branch"));
  }
  recorded.Update(
      CudaStatus(BeginCapture(stream, around.graph, {&added, 1}), "recording what follows a branch"));
  return recorded;
}

#endif

#else

absl::StatusOr<std::unique_ptr<GpuGraph>> RecordCudaLoop(Stream, const bool*,
                                                         const std::function<absl::Status()>&) {
  return absl::UnimplementedError("loops on the GPU need CUDA 12.4");
}

#endif

#if CUDART_VERSION < 12080
absl::Status RecordCudaBranch(Stream, const void*, bool, absl::Span<const std::function<absl::Status()>>) {
  return absl::UnimplementedError("branches on the GPU need CUDA 12.8");
}
#endif

}  // namespace hlo::device
