// SPDX-License-Identifier: Apache-2.0
// tune/order.c - in which order classes are searched, and with how much of the time.
#include "tune/order.h"
#include "tune/shapes.h"
#include "tune/space.h"
#include "tune/tune.h"

#include <stdio.h>
#include <string.h>

uint32_t tune_order(const char *only, uint32_t classes[FOVEA_TUNED_CLASSES])
{
    static const struct {
        enum fovea_gemm_rows rows;
        bool far;
    } places[] = {{FOVEA_SOME, true},  {FOVEA_MANY, true},  {FOVEA_FEW, true},      {FOVEA_SEVERAL, true},
                  {FOVEA_SOME, false}, {FOVEA_MANY, false}, {FOVEA_SEVERAL, false}, {FOVEA_FEW, false}};
    static const enum fovea_gemm_form forms[FOVEA_FORMS] = {FOVEA_FORM_PACKED, FOVEA_FORM_NT, FOVEA_FORM_NN};
    uint32_t count = 0, chosen = 0;
    classes[count++] = FOVEA_CLASS_CACHE;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t j = 0; j < FOVEA_FORMS; j++)
            classes[count++] = fovea_gemm_number((struct fovea_gemm_class){places[i].rows, places[i].far, forms[j]});
    for (uint32_t class = FOVEA_GEMM_CLASSES; class < FOVEA_TUNED_CLASSES; class ++)
        if (class != FOVEA_CLASS_CACHE && fovea_class_is_tuned(class))
            classes[count++] = class;
    for (uint32_t i = 0; i < count; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s %s", fovea_class_names[classes[i]].of, fovea_class_names[classes[i]].name);
        if (!only || strstr(name, only))
            classes[chosen++] = classes[i];
    }
    return chosen;
}

uint32_t tune_classes_of(const char *only)
{
    uint32_t classes[FOVEA_TUNED_CLASSES];
    return tune_order(only, classes);
}

double tune_share(const struct fovea_engine *engine, uint32_t class)
{
    static const double rows[] = {[FOVEA_FEW] = 4, [FOVEA_SEVERAL] = 5, [FOVEA_SOME] = 8, [FOVEA_MANY] = 12};
    const struct fovea_class of = fovea_class(class);
    const bool several = of.kind == FOVEA_TUNED_SLOT && tune_slot_shapes_of(of.slot) && tune_has_choice(engine, class);
    return of.kind == FOVEA_TUNED_SLOT        ? (several ? 4 : 0.2)
           : of.kind == FOVEA_TUNED_CACHE     ? 16
           : of.kind == FOVEA_TUNED_ATTENTION ? 6
                                              : rows[of.gemm.rows] * (of.gemm.far ? 1 : 0.6);
}
