// SPDX-License-Identifier: Apache-2.0
// policy.h: policy sets: loading, overlaying the shipped defaults, and the decider over them. Lua stays inside
// core/policy.
#pragma once
#include "base/vec.h"
#include "policy/decision.h"

struct prg_policy_limits {   // per policy and call; 0: the default in parentheses
    uint64_t max_steps;      // VM instructions and charged work (50 million)
    size_t max_memory_bytes; // per policy state (64 MiB)
    size_t max_block_bytes;  // largest single allocation (4 MiB)
    size_t max_result_nodes; // JSON nodes in one answer (100000)
    unsigned max_wall_ms;    // (1000)
};

// A file of a set whose text is at hand (the entry of a ConfigMap).
struct prg_policy_text {
    const char *name; // "image.lua"
    const char *path; // as errors and traces show it: "configmap team-a/rules:image.lua"
    const char *text;
    size_t length;
};

struct prg_policy_options {
    const char *folder;          // overlay folder or NULL: shipped policies only
    const struct prg_vec *texts; // instead of a folder: struct prg_policy_text *, names are unlike; copied
    // The texts are those of a namespace and lie over this set, whose files they share; it must not be asked meanwhile.
    // They may be about the policies in `allowed` only (see prg_policy_names_read).
    struct prg_policy_set *base;
    uint32_t allowed;
    struct prg_policy_limits limits;
    void (*report)(const char *text, void *ctx); // each error of the set, "file:line:column: what"; may be NULL
    void *report_ctx;
    const struct prg_vec *shipped; // in place of the shipped files, as texts; NULL: those of this program
    bool without_specs; // leave the specs of the set unasked: the caller runs them (perigee test, perigee check)
};

struct prg_policy_set; // refcounted, immutable once loaded

// Loads, checks contracts (api line, function types, unknown functions, options of policies.yaml) and runs the specs
// that the folder carries. Every error of the set is in err or, when `report` is given, reported one by one
// (file:line:column: what). A set with an error is not returned.
int prg_policy_set_load(const struct prg_policy_options *options, struct prg_policy_set **ret,
                        struct prg_error *err) PRG_MUST_USE;
// Appends the entries of a ConfigMap, in arena; a key that stands in texts already is an error. Errors name the object
// and the JSON pointer; err has the first.
int prg_policy_config_map_read(struct prg_arena *arena, const cJSON *map, struct prg_vec *texts,
                               void (*report)(const char *text, void *ctx), void *ctx,
                               struct prg_error *err) PRG_MUST_USE;
// The namespace's part of `set` (loaded with a base) over another base. Fails when its settings do not fit that one.
int prg_policy_set_rebase(const struct prg_policy_set *set, struct prg_policy_set *base, struct prg_policy_set **ret,
                          struct prg_error *err) PRG_MUST_USE;
// A set that decides nothing: every plan fails with `why`, as with a policy that fails.
struct prg_policy_set *prg_policy_set_refused(const struct prg_policy_set *base, const char *why);
// The same set with states of its own, for another thread: the original may be asked meanwhile, but not released.
int prg_policy_set_copy(const struct prg_policy_set *set, const struct prg_policy_limits *limits,
                        struct prg_policy_set **ret, struct prg_error *err) PRG_MUST_USE;
// "image,runtime_selection" as `allowed`. PRG_INVALID: no such policy, with the nearest name.
int prg_policy_names_read(const char *text, uint32_t *ret, struct prg_error *err) PRG_MUST_USE;
// A digest of what the folder's files are (names, and inode, size and time behind each; links are followed), found
// without reading them: another value means that the set may have changed. 0: no such folder.
uint64_t prg_policy_folder_stamp(const char *folder);
// The bytes of a file of a set, in arena, with a NUL behind them. PRG_IO: it cannot be read; PRG_INVALID: it is no
// regular file of at most `most` bytes. Never waits, as for the writer of a pipe.
int prg_policy_read_file(struct prg_arena *arena, const char *path, size_t most, const char **ret, size_t *ret_length,
                         struct prg_error *err) PRG_MUST_USE;
struct prg_policy_set *prg_policy_set_ref(struct prg_policy_set *set);
void prg_policy_set_unref(struct prg_policy_set *set); // NULL is fine
// Answers that are looked at only, perhaps on another thread, are not counted (base/meters.h).
void prg_policy_set_trial(struct prg_policy_set *set, bool is_trial);
const struct prg_decider *prg_policy_set_decider(struct prg_policy_set *set);
// 16 hex digits: the texts and options of the files that decide.
const char *prg_policy_set_revision(const struct prg_policy_set *set);
// The policy is decided otherwise than by the file that is shipped for it: another text, other options, or one that was
// shipped with another version.
bool prg_policy_set_differs(const struct prg_policy_set *set, const char *policy);
void prg_policy_set_each_file(const struct prg_policy_set *set,
                              void (*visit)(const char *policy, const char *file, bool shipped, void *ctx), void *ctx);

// Asks `before` of runtime_selection about every pair: ret[i * count + j] is whether candidates[i] comes before
// candidates[j]. In a plan (between begin and end of the decider), about accepted candidates; for `perigee check`.
int prg_policy_set_before(struct prg_policy_set *set, const struct prg_runtime_request *request,
                          struct prg_candidate *const *candidates, size_t count, bool *ret,
                          struct prg_policy_source *source, struct prg_error *err) PRG_MUST_USE;

// The shipped policies, built into the binary. Writes them to folder (made when missing); refuses to overwrite a file
// that differs unless force.
int prg_policy_export(const char *folder, bool force, struct prg_error *err) PRG_MUST_USE;
void prg_policy_each_shipped(void (*visit)(const char *name, const char *text, size_t length, void *ctx), void *ctx);

// The texts of lua/stdlib, built into the binary: "meta/contracts.lua" … (declarations), "perigee/labels.lua" …
// (modules).
void prg_policy_each_library(void (*visit)(const char *path, const char *text, size_t length, void *ctx), void *ctx);

// ---- eval: one script in the sandbox (perigee eval) ----
struct prg_script;
int prg_script_load(const char *name, const char *text, size_t length, const struct prg_policy_limits *limits,
                    struct prg_script **ret, struct prg_error *err) PRG_MUST_USE;
void prg_script_free(struct prg_script *script);
struct prg_script_call {
    const char *as;       // global that holds the input; NULL: none
    const char *function; // its result is the value; NULL: that of the script
    bool is_spread;       // input is a list of arguments of the function, which gets them as tables that it may change
    bool wants_all;       // the value is the list of all results of the function
};
// Runs the script with global `as` (may be NULL) set to input (may be NULL) as a read-only view; returns the script's
// value, or what its global or returned-table function `call` (may be NULL) returns for input.
int prg_script_run(struct prg_script *script, struct prg_arena *arena, const char *as, const cJSON *input,
                   const char *call, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// The same with everything that can be asked for.
int prg_script_call(struct prg_script *script, struct prg_arena *arena, const struct prg_script_call *call,
                    const cJSON *input, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// What `print` wrote in the last run (the first 64 KiB), or "". Until the next run.
const char *prg_script_printed(const struct prg_script *script, size_t *ret_length);

// ---- specs: NAME_spec.lua files in the sandbox (perigee test, and the gate of a set) ----
enum prg_spec_outcome { PRG_SPEC_PASSED, PRG_SPEC_PENDING, PRG_SPEC_FAILED, PRG_SPEC_ERROR };

struct prg_spec_result { // one test; borrowed, valid during the callback
    const char *file, *name;
    int line; // of its `it`; 0: the file itself, when it does not load
    enum prg_spec_outcome outcome;
    const char *message; // "FILE:LINE: what"; the reason of a pending one; NULL when it passed
    const char *detail;  // more lines about a failure, or NULL
    const char *printed; // what it wrote with print, or ""
    uint64_t steps;
    int64_t duration_ns;
};

struct prg_coverage; // lines that ran, over several files and states
struct prg_coverage_line {
    unsigned line;
    uint64_t hits;
};
struct prg_coverage *prg_coverage_new(void);
void prg_coverage_free(struct prg_coverage *coverage); // NULL is fine
// Visits each policy file that a spec used, by path, with the lines that hold code.
void prg_coverage_each(const struct prg_coverage *coverage,
                       void (*visit)(const char *path, const struct prg_coverage_line *lines, size_t count, void *ctx),
                       void *ctx);

struct prg_spec_options {
    const char *fixtures;            // folder that support.read, lines and objects read below; NULL: none
    const char *filter;              // Lua pattern in the full name of the tests to run; NULL: all
    struct prg_policy_limits limits; // per test; max_wall_ms 0: 10000
    uint64_t max_total_steps;        // of all tests of a file; 0: no limit
    struct prg_coverage *coverage;   // or NULL
    void (*visit)(const struct prg_spec_result *result, void *ctx); // each test, in order
    void *ctx;
};
// Runs a spec file, in a fresh state, against the policies of the set. PRG_IO when the file cannot be read.
int prg_spec_run(const struct prg_policy_set *set, const char *path, const struct prg_spec_options *options,
                 struct prg_error *err) PRG_MUST_USE;
// The same of one whose text is at hand.
void prg_spec_run_text(const struct prg_policy_set *set, const struct prg_policy_text *text,
                       const struct prg_spec_options *options);

// ---- a console: one state in the sandbox that remembers its globals from line to line (perigee repl) ----
struct prg_console;
int prg_console_new(const struct prg_policy_limits *limits, struct prg_console **ret,
                    struct prg_error *err) PRG_MUST_USE;
void prg_console_free(struct prg_console *console); // NULL is fine
// The set whose policies `policy` and prg_console_call ask. Takes a reference.
void prg_console_set_policies(struct prg_console *console, struct prg_policy_set *set);
// A global that shows a tree, which must live as long as the console; NULL: the global goes.
int prg_console_define(struct prg_console *console, const char *name, const cJSON *value,
                       struct prg_error *err) PRG_MUST_USE;
// Runs an expression or statements and appends what was printed, then the values as YAML, to out. *ret_incomplete: the
// text ends in the middle of a statement (nothing ran, and there is no error).
int prg_console_run(struct prg_console *console, const char *text, struct prg_strbuf *out, bool *ret_incomplete,
                    struct prg_error *err) PRG_MUST_USE;
// Asks a function of a policy of the set, in a new run of its file; arguments: Lua expressions, comma between them. The
// globals config and compat are what the policy sees.
int prg_console_call(struct prg_console *console, const char *policy, const char *function, const char *arguments,
                     struct prg_strbuf *out, struct prg_error *err) PRG_MUST_USE;
// Appends the latest prg_console_call as the text of a spec, and its policy's name.
int prg_console_spec(struct prg_console *console, struct prg_strbuf *text, struct prg_strbuf *policy,
                     struct prg_error *err) PRG_MUST_USE;
// Appends the ways in which text, the last word of a line, can go on, one a line. Nothing on an error.
void prg_console_complete(struct prg_console *console, const char *text, struct prg_strbuf *out);
// Ends the line that runs. May be called from a signal handler.
void prg_console_interrupt(struct prg_console *console);

// Visits every name a script can use, sorted ("assert", "math.abs", …, "perigee", "string.byte" …).
void prg_policy_each_global(void (*visit)(const char *name, void *ctx), void *ctx);

// ---- C functions for policies, added by core/stdlib ----
// A library is a table of functions on JSON trees, so that binding code needs no Lua: arguments converted, result
// converted back. A missing or nil argument is NULL. PRG_CONFLICT and PRG_NOTFOUND are answers: the script gets nil and
// the text of err; any other error code is a mistake of the caller and raises there. Trees in args are not to be
// changed; *ret may share their nodes.
typedef int (*prg_native_fn)(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                             struct prg_error *err);
struct prg_native {
    const char *name; // "gpu.ray": perigee.gpu.ray
    prg_native_fn fn;
};
// Process-wide table, set once before any set is loaded; borrowed.
void prg_policy_set_natives(const struct prg_native *natives, size_t count);
