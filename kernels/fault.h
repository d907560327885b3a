// SPDX-License-Identifier: Apache-2.0
// kernels/fault.h - deliberately planted faults, one at a time, that test the tests.
//
// A build with -DFOVEA_FAULT=n has fault n. One with -DFOVEA_FAULTS_AT_RUN can have any: there is a variable for each,
// and `check` sets the one that the environment names. scripts/faults.sh tries each in turn and fails unless `check`
// detects it. In every other build FOVEA_FAULT_IS is the constant 0, so no object contains a trace. A fault is one
// condition in a SIMD kernel; a new one needs a line here and that condition.
#ifndef FOVEA_KERNELS_FAULT_H
#define FOVEA_KERNELS_FAULT_H

#ifndef FOVEA_FAULT
#define FOVEA_FAULT 0
#endif

/// X(number, name, what goes wrong)
#define FOVEA_FAULTS(X)                                                                                                \
    X(1, GEMM_MUL_ADD, "a product is rounded before it is added")                                                      \
    X(2, GEMM_K_SHORT, "the k steps past a multiple of 4 are left out")                                                \
    X(3, GEMM_RESCALE_STORES, "RESCALE does what STORE does")                                                          \
    X(4, GEMM_RESCALE_MUL_ADD, "RESCALE rounds C * scale before it adds")                                              \
    X(5, GEMM_ADD_FROM_ZERO, "ADD begins at zero")                                                                     \
    X(6, GEMM_STORES_PAST_N, "the last vector of a row of C is stored whole")                                          \
    X(7, PACK_B_UNMASKED, "the last panel of a packed B is loaded whole")                                              \
    X(8, PACK_BT_NO_ZERO, "the last panel of a packed transposed B has no zeros past n")                               \
    X(9, TRANSPOSE_TAIL, "a block at the edge of a transpose takes its rows for its columns")                          \
    X(10, EPILOGUE_BETA_0_READS_C, "C is read where beta is 0")                                                        \
    X(11, EPILOGUE_BETA_MUL_ADD, "beta * C is rounded before it is added")                                             \
    X(12, EPILOGUE_BIAS_LATE, "the activation comes before the bias, too")                                             \
    X(13, EPILOGUE_RESIDUAL_FIRST, "the residual is added before the activation")                                      \
    X(14, EPILOGUE_GELU_SWAPPED, "gelu is its tanh form")                                                              \
    X(15, UNARY_TAIL_LANE, "the last element of a tail is not written")                                                \
    X(16, ADD_STORES_PAST_N, "the last vector of a row is stored whole")                                               \
    X(17, ADD_READS_PAST_N, "the last vector of a row is loaded whole")                                                \
    X(18, EXP2_NO_LOW_CLAMP, "exp2 is not clamped at -127")                                                            \
    X(19, EXP2_DEGREE_5, "exp2 has a polynomial of degree 5")                                                          \
    X(20, EXP2_TRUNCATES, "exp2 takes its integer toward zero")                                                        \
    X(21, ERF_NO_CLAMP, "erf is not clamped at 4")                                                                     \
    X(22, RELU_DROPS_NAN, "relu of a NaN is 0")                                                                        \
    X(23, ROW_TREE_ORDER, "the tree of a row sum begins with neighbours")                                              \
    X(24, ROW_TAIL_UNMASKED, "lanes past the end of a row take part in its sum")                                       \
    X(25, ROW_ALL_HIDDEN, "a row of -inf subtracts -inf from itself")                                                  \
    X(26, LAYERNORM_ONE_PASS, "the variance is E[x^2] - E[x]^2")                                                       \
    X(27, NORM_EPS_OUTSIDE, "eps is added to the root")                                                                \
    X(28, ATTENTION_MAX_TAKES_NAN, "the maximum of scores may become NaN")                                             \
    X(29, ATTENTION_SCALE_FOLDED, "log2(e) is folded into the scores by an fma")                                       \
    X(30, ATTENTION_BIAS_INF_SEEN, "a bias of -inf does not hide its key")                                             \
    X(31, PREFILL_MAX_HIDDEN, "the maximum takes hidden scores too")                                                   \
    X(32, PREFILL_L_NO_ALPHA, "l is not rescaled from chunk to chunk")                                                 \
    X(33, PREFILL_O_NO_ALPHA, "O of a partly hidden tile is not rescaled from chunk to chunk")                         \
    X(34, PREFILL_HIDDEN_IS_ZERO, "a hidden key is an fma with weight 0")                                              \
    X(35, PREFILL_LOADS_HIDDEN_V, "V of a key that no row sees is loaded")                                             \
    X(36, PREFILL_EMPTY_TOUCHED, "a row that sees no key has its state rescaled")                                      \
    X(37, DECODE_LOADS_HIDDEN_K, "K of a key that no row sees is loaded")                                              \
    X(38, DECODE_SUM_ORDER, "l adds the weights from the last key to the first")                                       \
    X(39, DECODE_O_NO_ALPHA, "O is not rescaled from chunk to chunk")                                                  \
    X(40, MERGE_NOT_TAKEN, "a state is not merged into an empty one")                                                  \
    X(41, MERGE_EMPTY_MIXED, "an empty state is merged like any other")                                                \
    X(42, MERGE_OPERANDS_SWAPPED, "the other product of a merge is the fused one")                                     \
    X(43, FINISH_MINUS_ZERO, "an output of -0 stays -0")                                                               \
    X(44, FINISH_STORES_PAST_N, "the last vector of the log-sum-exps is stored whole")                                 \
    X(45, SILU_SIGN, "silu divides by 1 + exp(x)")                                                                     \
    X(46, GATED_SWAPPED, "the activation is the value's, not the gate's")                                              \
    X(47, GATED_READS_PAST_2N, "the second vector of pairs is loaded whole")                                           \
    X(48, RMSNORM_MEAN, "rmsnorm subtracts the mean")                                                                  \
    X(49, PHILOX_9_ROUNDS, "Philox has 9 rounds")                                                                      \
    X(50, KEEP_WORD_ORDER, "the words of a Philox block are taken from the last")                                      \
    X(51, FINISH_SINK_ONCE, "l is not rescaled when the sink is added")                                                \
    X(52, ATTENTION_ALIBI_SIGNED, "keys after the query rise with their distance")                                     \
    X(53, ATTENTION_KEPT_UNSCALED, "weights that dropout keeps are not scaled")                                        \
    X(54, ATTENTION_SPREAD_UNSHIFTED, "the sum behind the entropy does not follow the maximum")                        \
    X(55, PREFILL_COPY_DONE_EARLY, "a chunk counts as copied once one tile has seen some of it")                       \
    X(56, DECODE_FEW_ADDS_NOTHING, "one or two rows begin their sums anew after 32 dims")                              \
    X(57, DECODE_FEW_STORES_PAST_N, "one or two rows store whole vectors of scores")                                   \
    X(58, DECODE_FEW_SUMS_TWICE, "one or two rows add their weights for every tile of V")                              \
    X(70, DECODE_RETURNS_HIDDEN, "a returned score is not -inf where it is hidden")                                    \
    X(71, ADDITIVE_MUL_ADD, "a term of an additive score is rounded before it is added")                               \
    X(72, DROPOUT_NO_CARRY, "the number of a Philox block of elements has 32 bits")                                    \
    X(73, DROPOUT_FIRST_WORD, "a row always begins with the first word of a Philox block")                             \
    X(80, GEMM_BELOW_STAYS, "tiles below read the rows of A of the first")                                             \
    X(81, GEMM_BT_MUL_ADD, "a product with a row of B is rounded before it is added")                                  \
    X(82, GEMM_BT_K_SHORT, "the k steps past a multiple of 16 of a row of B are left out")                             \
    X(83, GEMM_B_ENDS_UNMASKED, "the last row of a B that ends is loaded whole")                                       \
    X(84, DECODE_BESIDE_SHORT, "scores made beside the chunk before lack the last dims")                               \
    X(85, PREFILL_TILE_K_SHORT, "a tile of prefill leaves out the steps past a multiple of 8")                         \
    X(86, GEMM_HALF_OF_MORE, "a panel of nine to twelve columns counts as half of one")                                \
    X(87, GEMM_BT_HALVES_SWAPPED, "the first eight rows of B stand for the last eight, and these for them")            \
    X(88, GEMM_BN_MUL_ADD, "a product with an element of a row of B is rounded before it is added")                    \
    X(89, GEMM_BN_FROM_ZERO, "a few steps over rows of B begin at zero where they add to C")                           \
    X(90, GEMM_BN_STORES_PAST_N, "a few steps over rows of B store whole vectors of C")                                \
    X(91, PREFILL_SPAN_SHORT, "the softmax of a panel leaves out the last key that it sees")                           \
    X(92, PREFILL_PANELS_SHORT, "the first of some vectors is left out of the values of sixteen keys")                 \
    X(93, PREFILL_FRESH_KEEPS, "a row that sees no key of its first chunk keeps what lay in O")                        \
    X(94, GEMM_BESIDE_STAYS, "tiles beside another read its columns of B")                                             \
    X(95, DECODE_FRESH_KEEPS, "what keys that not all rows see add to is not cleared")                                 \
    X(96, DECODE_LARGEST_SHORT, "the maximum of a row is that of the keys of the first lane")                          \
    X(97, GEMM_EDGE_MUL_ADD, "a product of the last columns is rounded before it is added")                            \
    X(98, GEMM_EDGE_K_SHORT, "the k steps past a multiple of four of the last columns are left out")                   \
    X(99, GEMM_EDGE_STORES_PAST_N, "the last columns are stored as whole vectors, or as eight")                        \
    X(100, DECODE_SPREADS_FORWARD, "scores of keys copied side by side are overwritten before they move")              \
    X(101, DECODE_JOINS_BLOCKS, "all keys are read as if they lay behind the first block")                             \
    X(102, PREFILL_V_AS_COPIED, "rows of V that are read where they lie are taken to be as close as in a copy")        \
    X(103, GEMM_BT_BESIDE_STAYS, "a block made beside another is not the one that follows")                            \
    X(104, DECODE_HIDDEN_IS_ZERO, "a hidden key of a block of rows is an fma with weight 0")                           \
    X(105, DECODE_HALF_IS_FIRST, "the second half of seven or eight rows has the queries of the first")                \
    X(106, DECODE_PAIR_IS_FIRST, "the second sixteen of two side by side has the keys of the first")                   \
    X(107, DECODE_PARTIAL_SHORT, "the last of fewer than 16 keys in registers is taken for the one before it")         \
    X(108, DECODE_STORES_PAST_KEYS, "scores of fewer than 16 keys in registers are stored as 16")                      \
    X(109, DECODE_PAIR_HALF_AGAIN, "the second eight dims of two sixteens side by side are the first ones")            \
    X(110, GEMM_NATURAL_ANY_A, "a tile over natural rows takes the k steps of any A for adjacent")                     \
    X(111, ROTARY_FMA, "the second of a rotated pair is rounded once less")                                            \
    X(112, ROTARY_STORES_PAST_N, "the last vector of rotated adjacent pairs is stored whole")                          \
    X(113, GEMM_TERMS_STAY, "tiles after the first have its bias and residual")                                        \
    X(114, GEMM_TERMS_PAST_N, "the last vector of a bias and of a row of a residual is loaded whole")                  \
    X(115, GEMM_TERMS_DROP_NAN, "relu of a NaN is 0, before sums are stored")                                          \
    X(116, GEMM_ONE_PAGE, "the k steps after the first page of a B from memory are left out")                          \
    X(117, WIDEN_SHORT, "the last vector of widened elements is left out")                                             \
    X(118, GEMM_FEW_MUL_ADD, "a product of few rows and a packed B is rounded before it is added")                     \
    X(119, GEMM_FEW_STORES_PAST_N, "its last vector of a row of C is stored whole")                                    \
    X(120, NARROW_TIES_AWAY, "half of the last place of a 16-bit element is rounded away from zero")                   \
    X(121, NARROW_STORES_PAST_N, "the last vector of narrowed elements is stored whole")                               \
    X(122, NARROW_FLUSHES, "denormals of the 16-bit type become zeros")                                                \
    X(123, DECODE_HALF_FIRST_ROWS, "later rows of many over 16-bit keys are the first ones again")                     \
    X(124, DECODE_HALF_NO_TAIL, "the last columns of V, less than a panel, are not copied before they are read")       \
    X(125, S8_ZERO_POINT, "what is subtracted for the zero of 8-bit integers is one less")                             \
    X(126, GEMM_PACKS_ONE_PANEL, "a tile that packs the B it reads packs every panel into the first")                  \
    X(127, GEMM_BT_PACKS_NO_ZEROS, "columns that a packed transposed B lacks keep what was there")                     \
    X(128, GEMM_FEW_PACKS_ONE_PANEL, "smaller elements that are packed as f32 are packed into the first panel")        \
    X(129, GEMM_FIRST_ADDS_NOTHING, "rows that pack B while they are computed begin every k block at 0")               \
    X(130, DECODE_BESIDE_FIRST, "scores made beside the chunk before are those of the first row")                      \
    X(131, GEMM_BT_HEAD_STAYS, "the steps after those before a row's first line begin with the same elements of A")    \
    X(132, GEMM_EDGE_ROWS_MUL_ADD, "a product of up to four last columns is rounded before it is added")               \
    X(133, GEMM_EDGE_ROWS_K_SHORT, "the k steps past a multiple of four of up to four last columns are left out")      \
    X(134, GEMM_EDGE_ROWS_PAST_N, "up to four last columns are stored as four")                                        \
    X(135, GEMM_EDGE_ROWS_EARLY, "the last eight rows of some last columns begin one row early")                       \
    X(136, GEMM_TAIL_TWICE, "the last four steps of a tile follow all steps rather than the others")                   \
    X(137, PREFILL_TAIL_SKIPPED, "a whole prefill tile leaves out its last eight steps")                               \
    X(138, DECODE_ALL_MAX_SHORT, "where all keys of a chunk are seen, the maximum leaves out the last 64")             \
    X(139, DECODE_ALL_OF_FIRST, "all rows see all of a chunk of which the first one does")                             \
    X(140, DECODE_RUN_IS_FIRST, "scores of a run of keys replace those of its first 16")

enum fovea_fault {
#define FOVEA_FAULT_NUMBER(number, name, what) FOVEA_FAULT_##name = number,
    FOVEA_FAULTS(FOVEA_FAULT_NUMBER)
#undef FOVEA_FAULT_NUMBER
};

#define FOVEA_FAULT_OR(number, name, what) || FOVEA_FAULT == number
enum { FOVEA_FAULT_EXISTS = FOVEA_FAULT == 0 FOVEA_FAULTS(FOVEA_FAULT_OR) };
#undef FOVEA_FAULT_OR
_Static_assert(FOVEA_FAULT_EXISTS, "FOVEA_FAULT is the number of no fault in kernels/fault.h");

#ifdef FOVEA_FAULTS_AT_RUN
#define FOVEA_FAULT_VARIABLE(number, name, what) extern _Bool fovea_fault_##name;
FOVEA_FAULTS(FOVEA_FAULT_VARIABLE)
#undef FOVEA_FAULT_VARIABLE
#define FOVEA_FAULT_IS(name) fovea_fault_##name
#else
#define FOVEA_FAULT_IS(name) (FOVEA_FAULT == FOVEA_FAULT_##name)
#endif

#endif
