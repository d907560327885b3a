// SPDX-License-Identifier: Apache-2.0
// dispatch/beyond.c - the five sets of numbers; dispatch/beyond.h says what each number was measured to be worth.
#include "dispatch/beyond.h"
#include "kernels/kernel.h"

#include <stdbool.h>

#define ALL UINT32_MAX
#define ANY (1 << 20)

// clang-format off
//    number          narrow   lean   wide  hashed   mesh
#define BEYOND(X) \
    X(many_steps,        4096,  4096,  2048,   1024,  2048) \
    X(slim_steps,           0,  2048,     0,      0,     0) \
    X(slim_rows,            0,   324,     0,      0,     0) \
    X(slim_columns,         0,    48,     0,      0,     0) \
    X(long_rows,          144,   144,   144,    144,     0) \
    X(step_floats,         64,    64,   128,    128,   128) \
    X(packed_steps,      8192,  8192,  1024,   1024,  1024) \
    X(strip_eighths,        8,     8,     8,      3,     3) \
    X(natural_steps,        0,     0,     0,      0,   256) \
    X(few_rows,             0,     0,     8,      0,     8) \
    X(thin_kc,            128,   128,     0,      0,   128) \
    X(alias_kc,             0,     0,   512,      0,     0) \
    X(follow_rows,          4,     4,    16,      0,    14) \
    X(follow_natural,       0,     0,    12,      0,     0) \
    X(follow_near,          0,     0,     0,      0,     6) \
    X(follow_panels[0],     0,     0,     1,      0,     4) \
    X(follow_panels[1],     0,     0,     4,      0,     4) \
    X(lead[0][0],           0,     0,   160,      0,   112) \
    X(lead[0][1],           0,     0,   192,      0,   112) \
    X(lead[1][0],           0,     0,   112,      0,   112) \
    X(lead[1][1],           0,     0,   160,      0,   112) \
    X(fetch_k,            ANY,   ANY,   ANY,    640,     0) \
    X(bt_into_l1,           0,     0,     1,      0,     0) \
    X(spread[0],          ANY,   ANY,   ANY,   1024,   ANY) \
    X(spread[1],            0,     0,   ANY,   1024,   ANY) \
    X(spread[2],            0,     0,     0,   1024,   ANY) \
    X(stream[0],            0,     0,     0,      0,     7) \
    X(stream[1],            0,     0,     0,      0,     7) \
    X(half_rows,            2,     2,     0,      0,     0) \
    X(bn_rows[0],           6,    32,     6,      0,    96) \
    X(bn_rows[1],           6,     6,     2,      0,    64) \
    X(bn_alias[0],          4,    32,     4,      0,    96) \
    X(bn_alias[1],          4,     4,     2,      0,    64) \
    X(alone,                0,     4,     1,      0,     0) \
    X(pack_rows,          216,   216,   144,      0,    72) \
    X(alias_rows,         216,   216,    90,      0,     0) \
    X(direct_of_l2,         2,     2,     4,      1,     1) \
    X(direct_packed,        1,     1,    16,      1,     1) \
    X(along_eighths[0],     0,     0,     0,      0,     4) \
    X(along_eighths[1],     0,     0,     6,      0,     4) \
    X(edge_columns,         0,     0,     8,      0,     0) \
    X(chain_rows,           0,     0,     5,      0,     0) \
    X(pairs,                0,     1,     0,      0,     1) \
    X(split_rows[0],      ANY,   ANY,   ANY,     64,   ANY) \
    X(split_rows[1],      ANY,   ANY,   ANY,     64,    64) \
    X(split_kib,            0,     0,     0,      0,    48) \
    X(bt_near[0],         ALL,   ALL,   ALL,      6,     6) \
    X(bt_near[1],         ALL,   ALL,     0,      6,     6) \
    X(pass_rows,         1024,  1024,  1024,    512,     0) \
    X(pass_natural,         0,   512,     0,      0,     0) \
    X(again,                6,    16,     6,      0,     2) \
    X(whole,                2,     2,     1,      0,     0) \
    X(decode_into,          0,     0,     1,      0,     2) \
    X(beside,               2,     2,     2,      2,     1) \
    X(near_eighths,         8,     8,     8,      8,     4) \
    X(into_l1,              1,     1,     0,      0,     0) \
    X(prefill[0],          16,    16,    14,     16,    12) \
    X(prefill[1],          16,    16,    14,     16,    16) \
    X(copy_k,               2,     2,    17,      2,    17) \
    X(copy_v[0],            1,     1,    17,      1,     6) \
    X(copy_v[1],            1,     1,    17,      1,     3) \
    X(tiles,                8,     8,     8,      8,    16) \
    X(turned_steps,       128,   128,   128,    128,     0) \
    X(set_rows,             5,     5,     5,      5,     9) \
    X(near_columns,       256,   128,     0,      0,     0)
// clang-format on

#define OF_NARROW(number, narrow, lean, wide, hashed, mesh) .number = narrow,
#define OF_LEAN(number, narrow, lean, wide, hashed, mesh) .number = lean,
#define OF_WIDE(number, narrow, lean, wide, hashed, mesh) .number = wide,
#define OF_HASHED(number, narrow, lean, wide, hashed, mesh) .number = hashed,
#define OF_MESH(number, narrow, lean, wide, hashed, mesh) .number = mesh,

enum { NARROW = 0, WIDE = 1, HASHED = 2, MESH = HASHED | WIDE, LEAN, SETS };
static const struct fovea_beyond beyonds[SETS] = {
    [NARROW] = {BEYOND(OF_NARROW)}, [LEAN] = {BEYOND(OF_LEAN)}, [WIDE] = {BEYOND(OF_WIDE)},
    [HASHED] = {BEYOND(OF_HASHED)}, [MESH] = {BEYOND(OF_MESH)},
};

const struct fovea_beyond *fovea_beyond_l2(const struct fovea_machine *machine)
{
    const uint32_t said = (machine->l3_hashed ? HASHED : 0) | (machine->wide512 ? WIDE : 0);
    const bool avx2_alone = (machine->cpu & FOVEA_CPU_AVX2) != 0 && (machine->cpu & FOVEA_CPU_AVX512) == 0;
    return &beyonds[said == NARROW && avx2_alone ? LEAN : said];
}
