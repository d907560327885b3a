// SPDX-License-Identifier: Apache-2.0
// kernels/classes.h - what can be tuned separately: classes of shapes, and slots; and their numbering.
//
// A class is one line of a tuning profile. Tables and profiles are in the order of the class numbers. Only this file
// knows how a number is computed and what it stands for.
#ifndef FOVEA_KERNELS_CLASSES_H
#define FOVEA_KERNELS_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

/// What a class tunes. FOVEA_TUNED_CACHE is a single class holding one number: the size above which all GEMM classes
/// treat B as far.
enum fovea_tuned_operator { FOVEA_TUNED_GEMM, FOVEA_TUNED_ATTENTION, FOVEA_TUNED_CACHE, FOVEA_TUNED_SLOT };

/// Upper bound on the rows of C: FOVEA_FEW_ROWS, FOVEA_SEVERAL_ROWS, FOVEA_SOME_ROWS, none.
enum fovea_gemm_rows { FOVEA_FEW, FOVEA_SEVERAL, FOVEA_SOME, FOVEA_MANY, FOVEA_ROWS_KINDS };
enum {
    FOVEA_FEW_ROWS = 8,      ///< decoding: reading B dominates
    FOVEA_SEVERAL_ROWS = 32, ///< decoding of several sequences, drafts: a few tiles; about where packing B begins to
                             ///< pay
    FOVEA_SOME_ROWS = 192,   ///< a prompt: all of A stays in L2
};

/// Form of B: a packed blob, rows (k x n), or rows of the transpose (n x k).
enum fovea_gemm_form { FOVEA_FORM_PACKED, FOVEA_FORM_NN, FOVEA_FORM_NT, FOVEA_FORMS };

/// A class of GEMM.
struct fovea_gemm_class {
    enum fovea_gemm_rows rows;
    bool far; ///< B is larger than the near/far border (fovea_gemm_far)
    enum fovea_gemm_form form;
};

/// A class of attention, by its wider head: up to 64, up to 128, wider.
enum fovea_heads { FOVEA_HEADS_64, FOVEA_HEADS_128, FOVEA_HEADS_WIDE, FOVEA_ATTENTION_CLASSES };

/// The slots of kernels/slots.def, each of which has a choice of variants.
enum fovea_slot {
#define FOVEA_SLOT(family, slot) FOVEA_SLOT_##slot,
#include "kernels/slots.def"
#undef FOVEA_SLOT
    FOVEA_SLOTS
};

/// Any class.
struct fovea_class {
    enum fovea_tuned_operator kind;
    union {
        struct fovea_gemm_class gemm;
        enum fovea_heads heads;
        enum fovea_slot slot;
    };
};

/// Class numbers: first GEMM, then attention, then the near/far border, then the slots.
enum {
    FOVEA_GEMM_CLASSES = FOVEA_ROWS_KINDS * 2 * FOVEA_FORMS,
    FOVEA_CLASS_CACHE = FOVEA_GEMM_CLASSES + FOVEA_ATTENTION_CLASSES,
    FOVEA_TUNED_CLASSES = FOVEA_CLASS_CACHE + 1 + FOVEA_SLOTS,
};

/// The number of a GEMM class, both among all classes and among those of GEMM.
static inline uint32_t fovea_gemm_number(struct fovea_gemm_class of)
{
    return ((uint32_t)of.rows * 2 + of.far) * FOVEA_FORMS + (uint32_t)of.form;
}

static inline uint32_t fovea_attention_number(enum fovea_heads heads)
{
    return FOVEA_GEMM_CLASSES + (uint32_t)heads;
}

static inline uint32_t fovea_slot_number(enum fovea_slot slot)
{
    return FOVEA_CLASS_CACHE + 1 + (uint32_t)slot;
}

/// The class with this number.
static inline struct fovea_class fovea_class(uint32_t number)
{
    struct fovea_class of = {.kind = FOVEA_TUNED_GEMM};
    if (number < FOVEA_GEMM_CLASSES) {
        of.gemm.rows = (enum fovea_gemm_rows)(number / FOVEA_FORMS / 2);
        of.gemm.far = number / FOVEA_FORMS % 2 != 0;
        of.gemm.form = (enum fovea_gemm_form)(number % FOVEA_FORMS);
    } else if (number < FOVEA_CLASS_CACHE) {
        of.kind = FOVEA_TUNED_ATTENTION;
        of.heads = (enum fovea_heads)(number - FOVEA_GEMM_CLASSES);
    } else if (number == FOVEA_CLASS_CACHE) {
        of.kind = FOVEA_TUNED_CACHE;
    } else {
        of.kind = FOVEA_TUNED_SLOT;
        of.slot = (enum fovea_slot)(number - FOVEA_CLASS_CACHE - 1);
    }
    return of;
}

/// The slot whose variant a class selects; FOVEA_SLOTS if the class has only numbers.
static inline enum fovea_slot fovea_class_slot(uint32_t number)
{
    const struct fovea_class of = fovea_class(number);
    return of.kind == FOVEA_TUNED_GEMM ? FOVEA_SLOT_gemm : of.kind == FOVEA_TUNED_SLOT ? of.slot : FOVEA_SLOTS;
}

/// Whether a profile may have this class. It may not have slot gemm, since each GEMM class has a micro-kernel of its
/// own.
static inline bool fovea_class_is_tuned(uint32_t number)
{
    return number != fovea_slot_number(FOVEA_SLOT_gemm);
}

#endif
