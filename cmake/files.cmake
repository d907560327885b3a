# SPDX-License-Identifier: Apache-2.0
# The sources, sorted, one list for each ISA. A new kernel is one line here and one in a register.
set(FOVEA_STEMS_COMMON # every ISA has these
    add_f32
    attention_decode_f32
    attention_finish_f32
    attention_keep_f32
    attention_merge_f32
    attention_prefill_f32
    cos_f32
    dropout_f32
    exp2_f32
    gelu_f32
    gelu_tanh_f32
    gemm_bn_f32
    gemm_bt_f32
    gemm_epilogue_f32
    layernorm_f32
    log_softmax_f32
    pack_b_f32
    pack_bt_f32
    relu_f32
    rmsnorm_f32
    silu_f32
    sin_f32
    softmax_f32
    tanh_f32
    transpose_f32
)
set(FOVEA_STEMS_SCALAR gemm_f32_4x16)
set(FOVEA_STEMS_AVX2 gemm_f32_2x48 gemm_f32_6x16)
set(FOVEA_STEMS_AVX512 gemm_f32_16x16 gemm_f32_6x64 gemm_f32_9x48)
set(FOVEA_STEMS_NEON gemm_f32_6x16)

set(FOVEA_FILES_DISPATCH
    dispatch/adopt.c
    dispatch/cache.c
    dispatch/cpu.c
    dispatch/engine.c
    dispatch/model.c
    dispatch/pages.c
    dispatch/profile.c
    dispatch/profile_file.c
    dispatch/resolve.c
    dispatch/tuning.c
)
set(FOVEA_FILES_OPS
    ops/attention.c
    ops/attention_grid.c
    ops/attention_mask.c
    ops/attention_pages.c
    ops/attention_prefill.c
    ops/attention_plan.c
    ops/attention_rows.c
    ops/attention_state.c
    ops/attention_tile.c
    ops/attention_view.c
    ops/attention_weights.c
    ops/check.c
    ops/executor.c
    ops/gemm.c
    ops/gemm_area.c
    ops/gemm_bare.c
    ops/gemm_bn.c
    ops/gemm_bt.c
    ops/gemm_direct.c
    ops/gemm_grid.c
    ops/gemm_plan.c
    ops/kv_cache.c
    ops/once.c
    ops/pack.c
    ops/rowwise.c
    ops/status.c
)
set(FOVEA_FILES_NN
    nn/composite.c
    nn/json.c
    nn/layer.c
    nn/layer_plan.c
    nn/mha.c
    nn/mha_plan.c
    nn/safetensors.c
    nn/search.c
    nn/transformer.c
    nn/transformer_config.c
    nn/transformer_load.c
    nn/transformer_run.c
)
