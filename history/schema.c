// SPDX-License-Identifier: Apache-2.0
// history/schema.c - the tables: machines and runs, series and their points, every repetition.
#include "history/schema.h"

// A point's samples lie together (WITHOUT ROWID, by series, then run), so that reading a series is one walk. The median
// is kept beside them: a check reads a million fewer rows.
static const char runs_and_series[] =
    "CREATE TABLE machine (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  name TEXT NOT NULL UNIQUE\n"
    ");\n"
    "CREATE TABLE run (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  machine INTEGER NOT NULL REFERENCES machine (id),\n"
    "  branch TEXT NOT NULL,\n"
    "  commit_name TEXT NOT NULL,\n"
    "  time INTEGER NOT NULL,\n"      // the place on the commit axis, seconds since 1970 UTC
    "  measured INTEGER NOT NULL,\n"  // when it was measured, 0: unknown
    "  digest TEXT NOT NULL UNIQUE\n" // of the report and its labels: the same one again is no new run
    ");\n"
    "CREATE INDEX run_axis ON run (machine, branch, time, id);\n"
    "CREATE TABLE fact (\n" // the environment
    "  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,\n"
    "  name TEXT NOT NULL,\n"
    "  value TEXT NOT NULL,\n"
    "  PRIMARY KEY (run, name)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE series (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  benchmark TEXT NOT NULL,\n"
    "  metric TEXT NOT NULL,\n"
    "  machine INTEGER NOT NULL REFERENCES machine (id),\n"
    "  branch TEXT NOT NULL,\n"
    "  unit TEXT NOT NULL,\n"
    "  better INTEGER NOT NULL CHECK (better IN (-1, 0, 1)),\n"
    "  UNIQUE (benchmark, metric, machine, branch)\n"
    ");\n"
    "CREATE TABLE point (\n"
    "  series INTEGER NOT NULL REFERENCES series (id) ON DELETE CASCADE,\n"
    "  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,\n"
    "  median REAL NOT NULL,\n"
    "  count INTEGER NOT NULL CHECK (count > 0),\n"
    "  PRIMARY KEY (series, run)\n"
    ") WITHOUT ROWID;\n"
    "CREATE INDEX point_run ON point (run);\n"
    "CREATE TABLE sample (\n"
    "  series INTEGER NOT NULL,\n"
    "  run INTEGER NOT NULL,\n"
    "  repetition INTEGER NOT NULL,\n"
    "  value REAL NOT NULL,\n"
    "  PRIMARY KEY (series, run, repetition),\n"
    "  FOREIGN KEY (series, run) REFERENCES point (series, run) ON DELETE CASCADE\n"
    ") WITHOUT ROWID;\n";

static const char acknowledgements[] =
    "CREATE TABLE acknowledgement (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  series INTEGER NOT NULL REFERENCES series (id) ON DELETE CASCADE,\n"
    "  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,\n" // the first of the new level
    "  time INTEGER NOT NULL,\n"
    "  note TEXT NOT NULL,\n"
    "  UNIQUE (series, run)\n"
    ");\n";

const char *const history_schema[] = {runs_and_series, acknowledgements};
const int history_schema_version = sizeof history_schema / sizeof *history_schema;
