// SPDX-License-Identifier: Apache-2.0
// kernels/common/each_row.h - X(1) to X(most): the instantiations of a kernel for each number of rows, and their table.
#ifndef FOVEA_KERNELS_COMMON_EACH_ROW_H
#define FOVEA_KERNELS_COMMON_EACH_ROW_H

#define FV_EACH_ROW_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define FV_EACH_ROW_16(X) FV_EACH_ROW_6(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define FV_EACH_ROW_TO(most, X) FV_EACH_ROW_##most(X)
/// most: 6 or 16, or a macro that is one of them.
#define FV_EACH_ROW(most, X) FV_EACH_ROW_TO(most, X)

#endif
