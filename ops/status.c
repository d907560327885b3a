// SPDX-License-Identifier: Apache-2.0
// ops/status.c - status names and the version.
#include "fovea/status.h"

#define STRING(x) #x
#define VERSION(major, minor, patch) STRING(major) "." STRING(minor) "." STRING(patch)

const char *fovea_status_string(enum fovea_status status)
{
    switch (status) {
#define NAME(status)                                                                                                   \
    case status:                                                                                                       \
        return #status;
        NAME(FOVEA_OK)
        NAME(FOVEA_ERR_NULL)
        NAME(FOVEA_ERR_STRUCT)
        NAME(FOVEA_ERR_ENUM)
        NAME(FOVEA_ERR_SHAPE)
        NAME(FOVEA_ERR_OVERFLOW)
        NAME(FOVEA_ERR_STRIDE)
        NAME(FOVEA_ERR_VALUE)
        NAME(FOVEA_ERR_ALIGN)
        NAME(FOVEA_ERR_MEMORY)
        NAME(FOVEA_ERR_CONFIG)
        NAME(FOVEA_ERR_UNSUPPORTED)
        NAME(FOVEA_ERR_IO)
        NAME(FOVEA_ERR_FORMAT)
#undef NAME
    }
    return "unknown status"; // not one of the enum; without a default the compiler reports a name missing above
}

const char *fovea_version(void)
{
    return VERSION(FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
}
