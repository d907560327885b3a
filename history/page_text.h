// SPDX-License-Identifier: Apache-2.0
// history/page_text.h - how text and figures are written into the page.
#ifndef FOVEA_HISTORY_PAGE_TEXT_H
#define FOVEA_HISTORY_PAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// What a metric's figures mean, and so how they are shown. The page's script has the same four.
enum page_kind {
    PAGE_TIME,     ///< seconds: "3.021 ms"
    PAGE_FRACTION, ///< 0.912: "91.2 %"
    PAGE_COUNT,    ///< whole things: "1,234,567"
    PAGE_NUMBER,   ///< anything else: four digits and the unit
};

struct page_metric {
    const char *label;
    enum page_kind kind;
    int rank;    ///< the order in which a benchmark's metrics are shown; the first one leads its row
    bool judged; ///< a change of it speaks for its benchmark, as it does in fovea history check
    int peer;    ///< a peer's figure from ours and vs_best_peer: 1 their product, -1 the quotient, 0 it has none
};

/// What is known of a metric by its name and unit; any other is a plain number under its own name.
struct page_metric page_metric(const char *name, const char *unit);

enum { PAGE_TEXT = 48 };
/// A figure in words: at most PAGE_TEXT - 1 characters, UTF-8. Returns `text`.
const char *page_figure(char text[PAGE_TEXT], enum page_kind kind, const char *unit, double value);
/// A relative change, signed: "+10.3 %", with a true minus sign.
const char *page_effect(char text[PAGE_TEXT], double effect);
/// How sure a change is, 0 to 1: "99.9 %", never more than is known: "> 99.9 %".
const char *page_confidence(char text[PAGE_TEXT], double confidence);
/// "2026-11-21", UTC.
const char *page_date(char text[PAGE_TEXT], int64_t seconds);
/// The part of a commit's name that is shown: a hash is cut to nine digits, any other name stays whole.
size_t page_commit_width(const char *commit);

/// Text as HTML, in content or in a quoted attribute.
void page_html(FILE *file, const char *text);
void page_html_part(FILE *file, const char *text, size_t length);
/// Text as a JSON string that may stand in a script element.
void page_json(FILE *file, const char *text);

#endif
