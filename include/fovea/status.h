// SPDX-License-Identifier: Apache-2.0
// fovea/status.h - status codes, version, symbol visibility.
#ifndef FOVEA_STATUS_H
#define FOVEA_STATUS_H

#include <stddef.h>
#include <stdint.h>

/// The version of these headers, for #if; fovea_version() returns that of the loaded library. Until 1.0 a new minor
/// version may change any struct or function and has another soname; a patch version changes none.
#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define FOVEA_API __attribute__((visibility("default")))
#else
#define FOVEA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Result of a call. After anything but FOVEA_OK the outputs have not been written, unless an executor breaks its rules
/// (fovea/executor.h), or what fovea_pack_s8, fovea_pack_gated_s8 and fovea_pack_scaled_s8 pack does not fit into 8
/// bits, which leaves a blob that is none.
enum fovea_status {
    FOVEA_OK = 0,
    FOVEA_ERR_NULL = 1,         ///< a required pointer is NULL
    FOVEA_ERR_STRUCT = 2,       ///< struct_size of a descriptor is 0 or unknown, or a plan is not one of this operator
    FOVEA_ERR_ENUM = 3,         ///< an enum field holds a value outside its enum
    FOVEA_ERR_SHAPE = 4,        ///< sizes contradict each other or exceed the plan's capacity
    FOVEA_ERR_OVERFLOW = 5,     ///< a product of sizes overflows
    FOVEA_ERR_STRIDE = 6,       ///< a stride is smaller than the row it separates
    FOVEA_ERR_VALUE = 7,        ///< a number is NaN, infinite or out of range
    FOVEA_ERR_ALIGN = 8,        ///< memory is not aligned as required
    FOVEA_ERR_MEMORY = 9,       ///< a buffer is too short, or the system had no memory (functions that allocate:
                                ///< create, open, _once)
    FOVEA_ERR_CONFIG = 10,      ///< an option or environment variable names something unknown
    FOVEA_ERR_UNSUPPORTED = 11, ///< this CPU or this build cannot do it
    FOVEA_ERR_IO = 12,          ///< a file cannot be opened, read or mapped
    FOVEA_ERR_FORMAT = 13,      ///< a file or blob is damaged, foreign, or lacks something
};

/// Room for a line of fovea_explain_*. They cut it to the size they are given and end it with a NUL, as snprintf does;
/// longer than this it is by numbers of many digits alone.
#define FOVEA_EXPLAIN_BYTES 1024

/// The name of a status, "FOVEA_ERR_SHAPE"; "unknown status" for a number that is none. Never NULL.
FOVEA_API const char *fovea_status_string(enum fovea_status status);

/// The library's version, "0.1.0".
FOVEA_API const char *fovea_version(void);

#ifdef __cplusplus
}
#endif

#endif
