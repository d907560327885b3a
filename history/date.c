// SPDX-License-Identifier: Apache-2.0
// history/date.c - dates as Google Benchmark and git write them (RFC 3339).
#include "history/report.h"

#include <stdio.h>
#include <string.h>

// Days since 1970-01-01 of a date of the Gregorian calendar: years begin in March, so that leap days end them.
static int64_t days(int64_t year, int month, int day)
{
    const int64_t y = year - (month <= 2), m = month + (month <= 2 ? 9 : -3);
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int days_of(int year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return lengths[month - 1] + (month == 2 && leap);
}

bool report_date(const char *text, int64_t *seconds)
{
    int year, month, day, hour = 0, minute = 0, second = 0, zone_hour = 0, zone_minute = 0, used = 0;
    char sign = '+';
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10 || year < 1970 || month < 1 ||
        month > 12 || day < 1 || day > days_of(year, month))
        return false;
    text += used;
    if (*text) {
        used = 0;
        if (sscanf(text, "%*1[T ]%2d:%2d:%2d%n", &hour, &minute, &second, &used) != 3 || used != 9 || hour < 0 ||
            hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
            return false;
        text += used;
        used = 0;
        if (strcmp(text, "Z") != 0 &&
            (sscanf(text, "%c%2d:%2d%n", &sign, &zone_hour, &zone_minute, &used) != 3 || used != 6 || text[used] ||
             (sign != '+' && sign != '-') || zone_hour < 0 || zone_hour > 23 || zone_minute < 0 || zone_minute > 59))
            return false;
    }
    const int64_t zone = (sign == '-' ? -1 : 1) * (3600 * zone_hour + 60 * zone_minute);
    *seconds = 86400 * days(year, month, day) + 3600 * hour + 60 * minute + second - zone;
    return true;
}
