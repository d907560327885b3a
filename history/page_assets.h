// SPDX-License-Identifier: Apache-2.0
// history/page_assets.h - what the build puts into the program: template, style and script (cmake/page.cmake).
#ifndef FOVEA_HISTORY_PAGE_ASSETS_H
#define FOVEA_HISTORY_PAGE_ASSETS_H

#include <stddef.h>

/// Text with no NUL at its end. The hashes are those of the content-security policy: "sha256-" and base64.
extern const unsigned char page_template[], page_style[], page_early[], page_script[];
extern const size_t page_template_size, page_style_size, page_early_size, page_script_size;
extern const char page_style_hash[], page_early_hash[], page_script_hash[];
/// The version of uPlot in the script, or "" without it.
extern const char page_uplot[];

#endif
