// SPDX-License-Identifier: Apache-2.0
// history/schema.h - the tables, as the steps that made them.
#ifndef FOVEA_HISTORY_SCHEMA_H
#define FOVEA_HISTORY_SCHEMA_H

/// "FOVH" in SQLite's application_id: this database is a history.
enum { HISTORY_APPLICATION = 0x464f5648 };

/// The steps: step i brings a database of user_version i to i + 1. A step that has been released never changes.
extern const char *const history_schema[];
extern const int history_schema_version;

#endif
