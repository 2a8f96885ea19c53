#include <cuda_runtime.h>

#include "base/status.h"
#include "device/cuda_loop.h"
#include "device/status.h"

namespace hlo::device {

#if CUDART_VERSION >= 12040

namespace {

__global__ void GoOn(cudaGraphConditionalHandle loop, const bool* goes_on) {
  cudaGraphSetConditional(loop, *goes_on ? 1 : 0);
}

class CudaLoop : public GpuLoop {
 public:
  explicit CudaLoop(cudaStream_t stream) : stream_(stream) {}
  CudaLoop(const CudaLoop&) = delete;
  CudaLoop& operator=(const CudaLoop&) = delete;
  ~CudaLoop() override {
    if (runnable_ != nullptr) {
      cudaStreamSynchronize(stream_);  // It may still run.
      cudaGraphExecDestroy(runnable_);
    }
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  absl::Status Record(const bool* goes_on, const std::function<absl::Status()>& turn) {
    cudaGraphConditionalHandle again{};
    cudaGraph_t body = nullptr;
    if (const absl::Status made = MakeLoop(&again, &body); !made.ok()) {
      cudaGetLastError();  // Or the next launch would report it.
      return absl::UnimplementedError(made.message());
    }
    HLO_RETURN_IF_ERROR(CudaStatus(
        cudaStreamBeginCaptureToGraph(stream_, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed),
        "recording a loop"));
    absl::Status recorded = turn();
    if (recorded.ok()) {
      GoOn<<<1, 1, 0, stream_>>>(again, goes_on);
      recorded.Update(CudaStatus(cudaGetLastError(), "recording the end of a loop's turn"));
    }
    const cudaError_t ended = cudaStreamEndCapture(stream_, &body);
    HLO_RETURN_IF_ERROR(recorded);
    HLO_RETURN_IF_ERROR(CudaStatus(ended, "recording a loop"));
    return CudaStatus(cudaGraphInstantiate(&runnable_, graph_, 0), "making a graph of a loop");
  }

  absl::Status Run() override { return CudaStatus(cudaGraphLaunch(runnable_, stream_), "starting a loop"); }

 private:
  // A graph of one loop that is still empty.
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
#if CUDART_VERSION >= 13000
    const cudaError_t error = cudaGraphAddNode(&added, graph_, nullptr, nullptr, 0, &node);
#else
    const cudaError_t error = cudaGraphAddNode(&added, graph_, nullptr, 0, &node);
#endif
    if (error == cudaSuccess) *body = node.conditional.phGraph_out[0];
    return CudaStatus(error, "making a loop of a graph");
  }

  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GpuLoop>> RecordCudaLoop(Stream stream, const bool* goes_on,
                                                        const std::function<absl::Status()>& turn) {
  auto loop = std::make_unique<CudaLoop>(stream.handle);
  HLO_RETURN_IF_ERROR(loop->Record(goes_on, turn));
  return loop;
}

#else

absl::StatusOr<std::unique_ptr<GpuLoop>> RecordCudaLoop(Stream, const bool*,
                                                        const std::function<absl::Status()>&) {
  return absl::UnimplementedError("loops on the GPU need CUDA 12.4");
}

#endif

}  // namespace hlo::device
