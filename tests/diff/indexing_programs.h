#pragma once
// Gathers of elements of type {0}, and scatters with combiner c.

namespace hlo::test {

inline constexpr const char* kGathers[] = {
    // Rows of a table.
    "ENTRY e {{ a = {0}[20,37] parameter(0)\n i = s32[1031,1] parameter(1)\n ROOT r = {0}[1031,37] "
    "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
    "index_vector_dim=1, "
    "slice_sizes={{1,37}} }}",
    // Indices without an index vector dimension.
    "ENTRY e {{ a = {0}[20,3] parameter(0)\n i = s32[7,5] parameter(1)\n ROOT r = {0}[7,5,3] "
    "gather(a, i), offset_dims={{2}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
    "index_vector_dim=2, "
    "slice_sizes={{1,3}} }}",
    // Single elements.
    "ENTRY e {{ a = {0}[20,17] parameter(0)\n i = s32[600,2] parameter(1)\n ROOT r = {0}[600] "
    "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{1,0}}, "
    "index_vector_dim=1, slice_sizes={{1,1}} }}",
    // Columns: the slices are strided.
    "ENTRY e {{ a = {0}[31,20] parameter(0)\n i = s32[530] parameter(1)\n ROOT r = {0}[31,530] "
    "gather(a, i), offset_dims={{0}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, "
    "index_vector_dim=1, "
    "slice_sizes={{31,1}} }}",
    // Blocks, with the index vectors along dimension 0 of the indices.
    "ENTRY e {{ a = {0}[20,30,5] parameter(0)\n i = s32[2,11] parameter(1)\n ROOT r = {0}[4,11,7,5] "
    "gather(a, i), offset_dims={{0,2,3}}, collapsed_slice_dims={{}}, start_index_map={{0,1}}, "
    "index_vector_dim=0, slice_sizes={{4,7,5}} }}",
    // Batched.
    "ENTRY e {{ a = {0}[6,20] parameter(0)\n i = s32[6,9,1] parameter(1)\n ROOT r = {0}[6,9] "
    "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, "
    "operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, index_vector_dim=2, "
    "slice_sizes={{1,1}} }}",
    "ENTRY e {{ a = {0}[20,3] parameter(0)\n i = s32[0,1] parameter(1)\n ROOT r = {0}[0,3] "
    "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
    "index_vector_dim=1, "
    "slice_sizes={{1,3}} }}",
};

inline constexpr const char* kRows =
    "ENTRY e {{ a = {0}[20,37] parameter(0)\n i = s32[131,1] parameter(1)\n u = {0}[131,37] parameter(2)\n"
    " ROOT r = {0}[20,37] scatter(a, i, u), update_window_dims={{1}}, inserted_window_dims={{0}}, "
    "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c }}";
inline constexpr const char* kElements =
    "ENTRY e {{ a = {0}[20,19] parameter(0)\n i = s32[1500,2] parameter(1)\n u = {0}[1500] parameter(2)\n"
    " ROOT r = {0}[20,19] scatter(a, i, u), update_window_dims={{}}, inserted_window_dims={{0,1}}, "
    "scatter_dims_to_operand_dims={{1,0}}, index_vector_dim=1, to_apply=c }}";
inline constexpr const char* kColumns =
    "ENTRY e {{ a = {0}[31,20] parameter(0)\n i = s32[57] parameter(1)\n u = {0}[31,57] parameter(2)\n"
    " ROOT r = {0}[31,20] scatter(a, i, u), update_window_dims={{0}}, inserted_window_dims={{1}}, "
    "scatter_dims_to_operand_dims={{1}}, index_vector_dim=1, to_apply=c }}";
inline constexpr const char* kBlocks =
    "ENTRY e {{ a = {0}[24,26,5] parameter(0)\n i = s32[2,11] parameter(1)\n u = {0}[4,11,7,5] parameter(2)\n"
    " ROOT r = {0}[24,26,5] scatter(a, i, u), update_window_dims={{0,2,3}}, inserted_window_dims={{}}, "
    "scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=0, to_apply=c }}";
inline constexpr const char* kBatches =
    "ENTRY e {{ a = {0}[6,20] parameter(0)\n i = s32[6,9,1] parameter(1)\n u = {0}[6,9] parameter(2)\n"
    " ROOT r = {0}[6,20] scatter(a, i, u), update_window_dims={{}}, inserted_window_dims={{1}}, "
    "input_batching_dims={{0}}, scatter_indices_batching_dims={{0}}, scatter_dims_to_operand_dims={{1}}, "
    "index_vector_dim=2, to_apply=c }}";
inline constexpr const char* kScatters[] = {kRows, kElements, kColumns, kBlocks, kBatches};

}  // namespace hlo::test
