// SPDX-License-Identifier: Apache-2.0
// clock.c: wall and monotonic time, and RFC 3339 text by the proleptic Gregorian calendar.
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t prg_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t prg_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

const char *prg_clock_format(int64_t wall_ns, char buffer[PRG_CLOCK_TEXT])
{
    int64_t seconds = wall_ns / NS_PER_S;
    if (wall_ns % NS_PER_S < 0)
        seconds--; // before 1970, round towards the past as after it
    time_t when = (time_t)seconds;
    struct tm utc;
    gmtime_r(&when, &utc);
    snprintf(buffer, PRG_CLOCK_TEXT, "%04d-%02d-%02dT%02d:%02d:%02dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
             utc.tm_hour, utc.tm_min, utc.tm_sec);
    return buffer;
}

// Reads exactly `digits` decimal digits.
static bool read_digits(const char **at, int digits, int *ret)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return true;
}

static bool read_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && is_leap ? 29 : days[month - 1];
}

// Days since 1970-01-01. Years are counted from March so that the leap day comes last.
static int64_t days_since_epoch(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

// ".123": digits beyond the ninth are read and dropped.
static bool read_fraction(const char **at, int64_t *ret_ns)
{
    *ret_ns = 0;
    if (!read_char(at, '.'))
        return true;
    int digits = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++, digits++)
        if (digits < 9)
            *ret_ns = *ret_ns * 10 + (**at - '0');
    for (int i = digits; i < 9; i++)
        *ret_ns *= 10;
    return digits > 0;
}

static bool read_offset(const char **at, int64_t *ret_s)
{
    *ret_s = 0;
    if (read_char(at, 'Z'))
        return true;
    bool is_west = **at == '-';
    if (!is_west && **at != '+')
        return false;
    (*at)++;
    int hours, minutes;
    if (!read_digits(at, 2, &hours) || !read_char(at, ':') || !read_digits(at, 2, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *ret_s = (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

bool prg_clock_parse(const char *text, int64_t *ret_wall_ns)
{
    const char *at = text;
    int year, month, day, hour, minute, second;
    int64_t fraction, offset, wall_ns;
    if (!at || !read_digits(&at, 4, &year) || !read_char(&at, '-') || !read_digits(&at, 2, &month) ||
        !read_char(&at, '-') || !read_digits(&at, 2, &day) || !read_char(&at, 'T') || !read_digits(&at, 2, &hour) ||
        !read_char(&at, ':') || !read_digits(&at, 2, &minute) || !read_char(&at, ':') ||
        !read_digits(&at, 2, &second) || !read_fraction(&at, &fraction) || !read_offset(&at, &offset) || *at)
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 ||
        second > 59)
        return false;
    int64_t seconds = days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    // Years before 1678 and after 2262 do not fit into nanoseconds.
    if (__builtin_mul_overflow(seconds, NS_PER_S, &wall_ns) || __builtin_add_overflow(wall_ns, fraction, &wall_ns))
        return false;
    *ret_wall_ns = wall_ns;
    return true;
}

const char *prg_clock_plain(const char *text, char buffer[PRG_CLOCK_TEXT])
{
    int64_t ns;
    if (!text || (strlen(text) == 20 && text[19] == 'Z') || !prg_clock_parse(text, &ns))
        return text ? text : "";
    return prg_clock_format(ns, buffer);
}
