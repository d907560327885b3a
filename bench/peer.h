// SPDX-License-Identifier: Apache-2.0
// bench/peer.h - other people's libraries: opened at run time, never linked, and none of their headers used.
//
// A peer is one file with a load function and one line in bench/peers.c. It declares the few functions it calls; the
// versions it was written for are named there. What is loaded stays loaded: libraries with threads do not come off.
#ifndef FOVEA_BENCH_PEER_H
#define FOVEA_BENCH_PEER_H

#include "bench/contestant.h"
#include "fovea/engine.h"

#include <stdio.h>

enum { PEER_VARIANTS = 3, PEERS_MAX = 16 };

/// What they are to compute: problems of struct gemm_problem, struct attention_problem or struct layer_problem.
enum peer_event { PEER_GEMM = 1, PEER_ATTENTION = 2, PEER_LAYER = 4 };

/// What peers are asked for.
struct peer_request {
    enum peer_event event;
    const struct fovea_engine *engine; ///< whose softmax those take that have none
    const char *isa;                   ///< nothing wider may be used, where the peer can be told so
    bool widest;                       ///< it is the widest of this machine: peers also run as installed
    uint32_t threads;
};

/// Loads a peer and fills at most PEER_VARIANTS contestants: as installed, and forced to the kernels of this ISA where
/// it chooses others by itself; or one for each of its operators. Returns how many; 0 where it is not installed or,
/// *why then set, cannot be used.
typedef size_t peer_load(const struct peer_request *request, struct contestant *out, const char **why);
peer_load peer_openblas, peer_blis, peer_onednn, peer_libxsmm, peer_onnxruntime, peer_ggml;

/// Loads all peers of the event, writes a line for each to `notes`, and returns how many contestants there are.
size_t peers_load(const struct peer_request *request, struct contestant out[PEERS_MAX], FILE *notes);

/// Opens a library: by name, or below the folder of peers (FOVEA_PEERS_DIR, else ~/.cache/fovea-peers) where pattern
/// (a glob) is not NULL. NULL where it is not there.
void *peer_open(const char *name, const char *pattern);
/// Opens a second copy of it, with variables of its own, so that it may choose its kernels anew.
void *peer_open_again(void *library);

/// A function that is wanted: where its address goes.
struct peer_symbol {
    const char *name;
    void *address; ///< of a function pointer
};
/// Finds all of them; false where one is missing.
bool peer_symbols(void *library, const struct peer_symbol *symbols, size_t count);

/// The value for an ISA in a table of names, or NULL.
struct peer_isa {
    const char *isa, *name;
};
const char *peer_isa_name(const struct peer_isa *table, size_t count, const char *isa);

#endif
