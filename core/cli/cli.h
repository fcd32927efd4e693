// SPDX-License-Identifier: Apache-2.0
// cli.h: what the commands share: options from one table each, reading sources, settings, tables.
#pragma once
#include "base/vec.h"
#include "controller/learning_settings.h"
#include "object/key.h"
#include "policy/policy.h"
#include "serving/plan.h"
#include "store/store.h"

enum prg_exit { PRG_EXIT_DONE = 0, PRG_EXIT_FAILED = 1, PRG_EXIT_TROUBLE = 2 };

// ---- options ----
struct prg_cli_options {          // every option of every command; a command's table says which it takes
    struct prg_vec files;         // const char *
    struct prg_vec limits;        // const char *, "steps=N"
    struct prg_vec with, without; // const char *
    struct prg_vec namespaces;    // const char *
    const char *workers, *leader_elect;
    const char *store, *policies, *namespace_policies, *compat, *config, *config_namespace;
    const char *ns, *output, *selector, *now, *seed, *input, *as, *call, *log_format, *filter, *fixtures;
    const char *random, *faults, *rounds, *object;
    const char *base, *base_compat, *max_restarts, *max_gpus, *jobs;
    const char *kubeconfig, *context, *replay, *record;
    const char *controllers, *edge_listen, *lc_server, *metrics_listen, *log_level;
    bool recursive, all_namespaces, explain, once, play_kubelet, force, verbose, help, no_headers, coverage, globals,
        spread, all_results;
    char **args; // what is left
    int arg_count;
};

enum prg_option_kind { PRG_OPTION_FLAG, PRG_OPTION_TEXT, PRG_OPTION_LIST };
struct prg_option {
    const char *name; // long name
    char letter;      // or 0
    enum prg_option_kind kind;
    size_t offset;       // in struct prg_cli_options
    const char *arg;     // "FILE"; NULL for flags
    const char *help;    // one line
    const char *choices; // "yaml|json" for completion and checking, or NULL
};

struct prg_command {
    const char *name;
    const char *summary;                         // one line of `perigee --help`
    const char *usage;                           // "plan [-f FILE…] [KIND/NAME…]"
    const char *text;                            // paragraphs for --help
    const struct prg_option *options;            // ends with a NULL name
    int (*run)(struct prg_cli_options *options); // returns enum prg_exit
};

// Parses argv (argv[0] is the command's name). false: a note is on stderr (exit 2).
bool prg_options_parse(const struct prg_command *command, int argc, char **argv, struct prg_cli_options *ret);
void prg_options_release(struct prg_cli_options *options);
void prg_command_help(const struct prg_command *command);

// Rows that several commands share, to be put into their tables.
#define PRG_AT(member) offsetof(struct prg_cli_options, member)
#define PRG_OPTIONS_SOURCE                                                                                             \
    {"filename",    'f',    PRG_OPTION_LIST,                                                                           \
     PRG_AT(files), "FILE", "file or folder of manifests, - for standard input; repeatable",                           \
     NULL},                                                                                                            \
        {"recursive", 'R', PRG_OPTION_FLAG, PRG_AT(recursive), NULL, "go into subfolders of -f", NULL},                \
        {"store", 0, PRG_OPTION_TEXT, PRG_AT(store), "dir:PATH", "read a folder store", NULL},                         \
        {"replay", 0, PRG_OPTION_TEXT, PRG_AT(replay), "FILE", "read a recording, see perigee replay", NULL},          \
        {"kubeconfig",                                                                                                 \
         0,                                                                                                            \
         PRG_OPTION_TEXT,                                                                                              \
         PRG_AT(kubeconfig),                                                                                           \
         "FILE",                                                                                                       \
         "how to reach the cluster that is read when no other source is given",                                        \
         NULL},                                                                                                        \
        {"context", 0, PRG_OPTION_TEXT, PRG_AT(context), "NAME", "context of the kubeconfig", NULL},                   \
        {"namespace", 'n',         PRG_OPTION_TEXT,                                                                    \
         PRG_AT(ns),  "NAMESPACE", "namespace of the subject, and of manifests without one",                           \
         NULL},                                                                                                        \
    {                                                                                                                  \
        "all-namespaces", 'A', PRG_OPTION_FLAG, PRG_AT(all_namespaces), NULL, "subjects of all namespaces", NULL       \
    }
#define PRG_OPTION_POLICIES                                                                                            \
    {                                                                                                                  \
        "policies", 0, PRG_OPTION_TEXT, PRG_AT(policies), "SET",                                                       \
            "policy set over the shipped one: a folder, configmap:NS/NAME, or its manifest", NULL                      \
    }
#define PRG_OPTIONS_CLUSTER                                                                                            \
    {"kubeconfig", 0, PRG_OPTION_TEXT, PRG_AT(kubeconfig), "FILE", "how to reach the cluster of configmap:NS/NAME",    \
     NULL},                                                                                                            \
    {                                                                                                                  \
        "context", 0, PRG_OPTION_TEXT, PRG_AT(context), "NAME", "context of the kubeconfig", NULL                      \
    }
#define PRG_OPTIONS_POLICY                                                                                             \
    PRG_OPTION_POLICIES, {"compat",       0,      PRG_OPTION_TEXT,                                                     \
                          PRG_AT(compat), "MODE", "kserve: as the original; fixed (default): with its faults mended",  \
                          "kserve|fixed"},                                                                             \
        {"limit",                                                                                                      \
         0,                                                                                                            \
         PRG_OPTION_LIST,                                                                                              \
         PRG_AT(limits),                                                                                               \
         "NAME=N",                                                                                                     \
         "limit per policy and call: steps, memory, block, result, wall-ms",                                           \
         NULL},                                                                                                        \
        {"config", 0, PRG_OPTION_TEXT, PRG_AT(config), "FILE", "settings of Perigee itself (YAML); flags win over it", \
         NULL},                                                                                                        \
    {                                                                                                                  \
        "config-namespace", 0, PRG_OPTION_TEXT, PRG_AT(config_namespace), "NAMESPACE",                                 \
            "where the ConfigMap inferenceservice-config is (kserve)", NULL                                            \
    }
#define PRG_OPTION_NAMESPACE_POLICIES                                                                                  \
    {                                                                                                                  \
        "namespace-policies", 0, PRG_OPTION_TEXT, PRG_AT(namespace_policies), "NAME,...",                              \
            "policies that ConfigMaps of a namespace may set for it", NULL                                             \
    }
#define PRG_OPTION_HELP                                                                                                \
    {                                                                                                                  \
        "help", 'h', PRG_OPTION_FLAG, PRG_AT(help), NULL, "show this text", NULL                                       \
    }
#define PRG_OPTIONS_END                                                                                                \
    {                                                                                                                  \
        NULL, 0, PRG_OPTION_FLAG, 0, NULL, NULL, NULL                                                                  \
    }

// ---- settings: --config file and flags ----
struct prg_settings {
    struct prg_arena arena;
    const char *policies;        // as prg_cli_set_read takes it, or NULL
    uint32_t namespace_policies; // that namespaces may set; 0: none
    const struct prg_compat *compat;
    const char *config_namespace;
    struct prg_policy_limits limits;
    struct prg_learning_settings learning; // but for where it listens
    const char *edge_listen;               // as prg_learning_parse_listen reads it, or NULL
    const char *metrics_listen;            // likewise
    const char *record;                    // where the controller records its plans, or NULL
};
// PRG_INVALID names file:line and the nearest known key. Release with prg_arena_release(&settings->arena).
int prg_settings_load(const struct prg_cli_options *options, struct prg_settings *ret,
                      struct prg_error *err) PRG_MUST_USE;
// Digits only, from least to most.
bool prg_cli_whole_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret);
// --now (else the wall clock) and --seed (else 1).
int prg_cli_clock_and_seed(const struct prg_cli_options *options, int64_t *ret_now_ns, uint64_t *ret_seed,
                           struct prg_error *err) PRG_MUST_USE;

// ---- sources ----
// The store named by -f, --store or --replay, else the cluster of the kubeconfig, for reading. With -f every object of
// a kind with a schema is checked: unknown fields are warnings on stderr. Objects borrow from arena. A cluster is read
// as it is asked for, so reading it can fail at any time: whoever reads without planning asks
// prg_reader_trouble(&store->reader, err) afterwards (prg_source_subjects and prg_planner_plan do so themselves).
int prg_source_open(const struct prg_cli_options *options, struct prg_arena *arena, struct prg_store **ret,
                    struct prg_error *err) PRG_MUST_USE;
bool prg_source_is_cluster(const struct prg_cli_options *options); // no other source is given
// PRG_INVALID: a file or folder of manifests that holds none.
int prg_source_fail_empty(const char *path, struct prg_error *err);
// "dir:PATH" to PATH.
int prg_source_folder(const char *store, const char **ret_path, struct prg_error *err) PRG_MUST_USE;
// Where subjects are looked for: -n, the namespace of a cluster's context; NULL: in all.
const char *prg_source_namespace(const struct prg_cli_options *options, const struct prg_store *store);
// KIND/NAME arguments (or all services) to keys, sorted.
int prg_source_subjects(const struct prg_cli_options *options, const struct prg_store *store, struct prg_arena *arena,
                        struct prg_key **ret, size_t *ret_count, struct prg_error *err) PRG_MUST_USE;
// The object KIND/NAME of any kind, as prg_kind_named takes it, and its key, of arg, arena and options. PRG_NOTFOUND:
// there is none. Borrowed from the store.
int prg_source_object(const struct prg_cli_options *options, const struct prg_store *store, struct prg_arena *arena,
                      const char *arg, struct prg_key *ret_key, const cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// ---- policy sets ----
// A set that --policies or an argument names: a folder, a file with the manifest of a ConfigMap, or
// configmap:NAMESPACE/NAME.
struct prg_cli_set {
    const char *name;     // as it was given; NULL: the shipped policies alone
    const char *folder;   // or NULL: its files are texts
    struct prg_vec texts; // struct prg_policy_text *, in the arena
};
// Reads its ConfigMap from store; NULL: from the source that the options name, else from the cluster of the kubeconfig.
// A folder is not looked at. Every entry that cannot be taken is told to report (NULL: nobody; the first is in err),
// and PRG_INVALID comes back with the others in texts. Release with prg_vec_release(&ret->texts), also after an error.
int prg_cli_set_read(const struct prg_cli_options *options, const char *name, const struct prg_store *store,
                     struct prg_arena *arena, struct prg_cli_set *ret, void (*report)(const char *text, void *ctx),
                     void *ctx, struct prg_error *err) PRG_MUST_USE;
// Reads and loads it, with its specs as a gate. Errors of the set go to standard error one by one when is_told, with
// their number in err; else they are in err.
int prg_cli_set_load(const struct prg_cli_options *options, const char *name, const struct prg_store *store,
                     const struct prg_policy_limits *limits, bool is_told, struct prg_policy_set **ret,
                     struct prg_error *err) PRG_MUST_USE;
// A note on standard error when nothing in a set decides anything: a wrong folder, or a file with a mistake in its
// name, would pass for a set that changes nothing. name NULL: the shipped policies were asked for.
void prg_cli_note_idle_set(const char *name, const struct prg_policy_set *set);

// ---- output ----
// The text itself, without line ends and what a terminal would obey: names in manifests may hold anything.
char *prg_cli_one_line(char *text);
// Prints "error: …" on stderr and returns exit.
int prg_cli_error(const struct prg_error *err, enum prg_exit exit);
void prg_cli_write(const struct prg_strbuf *text); // to stdout; a closed pipe is not an error
// Last of all: false, with a note on stderr, when something could not be written to stdout (a full disk).
bool prg_cli_finish(void);
// Aligned columns, two spaces apart; cells are copied.
struct prg_table;
struct prg_table *prg_table_new(size_t columns);
void prg_table_row(struct prg_table *table, const char *const *cells);
void prg_table_print(struct prg_table *table, struct prg_strbuf *out); // frees the table
