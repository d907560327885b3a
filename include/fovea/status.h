// SPDX-License-Identifier: Apache-2.0
// fovea/status.h - status codes, version, symbol visibility.
#ifndef FOVEA_STATUS_H
#define FOVEA_STATUS_H

#include <stddef.h>
#include <stdint.h>

/// The version of these headers, for #if; fovea_version() is that of the library which was loaded. Until 1.0 a new
/// minor version may change any struct or function, and has another soname; a patch version changes none.
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

/// What a call says. Anything but FOVEA_OK means: nothing was written to the outputs.
enum fovea_status {
    FOVEA_OK = 0,
    FOVEA_ERR_NULL = 1,         ///< a required pointer is NULL
    FOVEA_ERR_STRUCT = 2,       ///< struct_size of a descriptor is 0 or unknown; or a plan is none of this operator
    FOVEA_ERR_ENUM = 3,         ///< an enum field holds no value of its enum
    FOVEA_ERR_SHAPE = 4,        ///< sizes contradict one another or exceed the plan's capacity
    FOVEA_ERR_OVERFLOW = 5,     ///< a size product does not fit
    FOVEA_ERR_STRIDE = 6,       ///< a stride is smaller than the row it separates
    FOVEA_ERR_VALUE = 7,        ///< a number is NaN, infinite or out of range
    FOVEA_ERR_ALIGN = 8,        ///< memory is not aligned as asked
    FOVEA_ERR_MEMORY = 9,       ///< memory is too short, or the system had none (what creates, _once)
    FOVEA_ERR_CONFIG = 10,      ///< an option or environment variable names something unknown
    FOVEA_ERR_UNSUPPORTED = 11, ///< this CPU or this build cannot do it
    FOVEA_ERR_IO = 12,          ///< a file cannot be opened, read or mapped
    FOVEA_ERR_FORMAT = 13,      ///< a file or blob is damaged, foreign, or lacks something
};

/// The name of a status, "FOVEA_ERR_SHAPE"; "unknown status" for a number that is none. Never NULL.
FOVEA_API const char *fovea_status_string(enum fovea_status status);

/// The library's version, "0.1.0".
FOVEA_API const char *fovea_version(void);

#ifdef __cplusplus
}
#endif

#endif
