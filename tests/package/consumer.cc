// SPDX-License-Identifier: Apache-2.0
// tests/package/consumer.cc - fovea from C++17: softmax of a row, a message for an unknown ISA, defaults.
#include <fovea/fovea.h>

#include <cmath>
#include <cstdio>
#include <cstring>

int main()
{
    fovea_engine *engine = nullptr;
    if (fovea_engine_create(nullptr, &engine) != FOVEA_OK)
        return 1;
    const float x[4] = {0, 1, 2, 3};
    float y[4], sum = 0;
    fovea_rowwise_desc desc = FOVEA_ROWWISE_DESC_INIT;
    desc.rows = 1;
    desc.cols = desc.ldx = desc.ldy = 4;
    fovea_rowwise_args args{};
    args.x = x;
    args.y = y;
    args.rows = 1;
    const fovea_status status = fovea_rowwise_once(engine, &desc, &args);
    for (const float value : y)
        sum += value;
    fovea_engine_destroy(engine);

    char message[100] = "";
    fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.isa = "sse9";
    options.message = message;
    options.message_size = sizeof message;
    const fovea_gemm_desc product = FOVEA_GEMM_DESC_INIT;
    const bool defaults = product.alpha == 1 && product.beta == 0 && product.batch == 1;
    const bool refused = fovea_engine_create(&options, &engine) == FOVEA_ERR_CONFIG && std::strstr(message, "sse9");
    std::printf("C++: fovea %s, %s, %g, %s\n", fovea_version(), fovea_status_string(status), double(sum), message);
    return status == FOVEA_OK && std::fabs(sum - 1) < 1e-6 && refused && defaults ? 0 : 1;
}
