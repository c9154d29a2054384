/* Tests without a framework. A program RUNs its tests, each of which prints one
 * line, and returns test_result() from main. A test goes on after a CHECK that
 * failed; its line says which was the first. */
#ifndef ZL_TEST_H
#define ZL_TEST_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) test_fail(__FILE__, __LINE__, "%s", #condition);                             \
  } while (0)

#define CHECK_EQUAL(actual, expected)                                                              \
  test_equal(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected))

/* A test, and one of a table's cases as a test of its own. */
#define RUN(name, test) test_run(name, test, NULL)
#define RUN_CASE(name, test, of) test_run(name, test, of)

static char test_why[512];
static int test_failures;

__attribute__((format(printf, 3, 4))) static inline void test_fail(const char *file, int line,
                                                                   const char *format, ...) {
  if (test_why[0]) return;
  int used = snprintf(test_why, sizeof test_why, "%s:%d: ", file, line);
  va_list values;
  va_start(values, format);
  vsnprintf(test_why + used, sizeof test_why - (size_t)used, format, values);
  va_end(values);
}

static inline void test_equal(const char *file, int line, const char *what, int64_t actual,
                              int64_t expected) {
  if (actual != expected)
    test_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, actual, expected);
}

static inline void test_run(const char *name, void (*test)(const void *), const void *of) {
  test_why[0] = 0;
  test(of);
  if (test_why[0]) {
    test_failures++;
    printf("not ok %s: %s\n", name, test_why);
  } else {
    printf("ok %s\n", name);
  }
}

static inline int test_result(void) {
  return test_failures ? 1 : 0;
}

#endif
