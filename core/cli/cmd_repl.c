// SPDX-License-Identifier: Apache-2.0
// cmd_repl.c: `perigee repl`: Lua lines in the policies' sandbox over the objects of a store, and commands around them.
// Reads the store, never writes to it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/repl_line.h"
#include "cli/replaying.h"
#include "controller/planner.h"
#include "explain/report.h"
#include "explain/why.h"
#include "kube/snapshot.h"
#include "learning/names.h"
#include "object/meta.h"
#include "policy/portable.h"
#include "policy/source.h"
#include "store/store_mem.h"
#include "yaml/dump.h"

static const char group[] = "serving.kserve.io";

struct repl {
    const struct prg_cli_options *options;
    struct prg_settings settings;
    struct prg_arena arena; // of the store and of everything that globals show
    struct prg_store *store;
    const struct prg_reader *reader; // of the store, or of the decision that is open
    struct prg_inputs decision;      // of a recording; recorded.head NULL: none is open
    struct prg_policy_set *set;
    struct prg_planner *planner;
    struct prg_console *console;
    struct prg_repl_lines lines;
    struct prg_key subject; // of the selected service; name NULL: none
    bool has_own_set;       // reloaded; decisions of a recording leave it alone
    bool has_failed, is_over;
};

struct command {
    const char *name, *arguments, *help;
    int (*run)(struct repl *repl, const char *arguments, struct prg_error *err);
};
static const struct command commands[];

// ---- Ctrl-C ----

static struct prg_console *interrupted; // of the process's one session

static void on_interrupt(int number)
{
    (void)number;
    if (interrupted)
        prg_console_interrupt(interrupted);
}

static void catch_interrupts(struct repl *repl)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    interrupted = repl->console;
    sigaction(SIGINT, &action, NULL);
}

// ---- opening ----

static void ignore_change(const struct prg_key *key, void *ctx)
{
    (void)key;
    (void)ctx;
}

// A set by name, as it is now: a cluster is asked again, a folder store read again.
static int load_set(struct repl *repl, const char *name, struct prg_policy_set **ret, struct prg_error *err)
{
    struct prg_store *store = prg_snapshot_is(repl->store) ? NULL : repl->store;
    if (store && repl->options->store && name && prg_text_has_prefix(name, "configmap:") &&
        store->ops->refresh(store, ignore_change, NULL, err) != PRG_OK)
        return err->code;
    return prg_cli_set_load(repl->options, name, store, &repl->settings.limits, true, ret, err);
}

static int define_surroundings(struct repl *repl, struct prg_error *err)
{
    int rc = prg_console_define(repl->console, "config", prg_planner_config(repl->planner, &repl->arena), err);
    if (rc == PRG_OK)
        rc = prg_console_define(repl->console, "compat", prg_compat_to_json(&repl->arena, repl->settings.compat), err);
    return rc;
}

// A cluster that nobody asked for by name and that does not answer is no reason not to start.
static int open_store(struct repl *repl, struct prg_error *err)
{
    const struct prg_cli_options *options = repl->options;
    bool is_asked_for = !prg_source_is_cluster(options) || options->kubeconfig || options->context;
    char text[PRG_ERROR_LINE];
    int rc = prg_source_open(options, &repl->arena, &repl->store, err);
    if (rc == PRG_OK) {
        prg_reader_get(&repl->store->reader, "", "ConfigMap", repl->settings.config_namespace,
                       "inferenceservice-config"); // what the planner begins with
        rc = prg_reader_trouble(&repl->store->reader, err);
    }
    if (rc == PRG_OK || is_asked_for)
        return rc;
    if (repl->store)
        fprintf(stderr, "note: %s; starting without objects\n", prg_error_text(err, text, sizeof(text)));
    prg_error_clear(err);
    prg_store_free(repl->store);
    repl->store = prg_store_mem_new();
    return PRG_OK;
}

static void make_planner(struct repl *repl)
{
    prg_planner_free(repl->planner);
    repl->planner = prg_planner_new(repl->set, repl->settings.compat, repl->settings.config_namespace);
    prg_planner_load_config(repl->planner, repl->reader);
}

// The policies of a recording are those of its latest decision.
static int open_policies(struct repl *repl, struct prg_error *err)
{
    struct prg_inputs inputs = {0};
    if (!prg_replaying_recording(repl->store) || prg_inputs_has_own_policies(repl->options, &repl->settings))
        return load_set(repl, repl->settings.policies, &repl->set, err);
    int rc = prg_inputs_open(repl->options, repl->store, NULL, &repl->settings, &inputs, err);
    if (rc == PRG_OK)
        repl->set = prg_policy_set_ref(inputs.policies);
    prg_inputs_close(&inputs);
    return rc;
}

static int open_repl(struct repl *repl, struct prg_error *err)
{
    int rc = open_store(repl, err);
    if (rc == PRG_OK)
        rc = open_policies(repl, err);
    if (rc != PRG_OK)
        return rc;
    repl->reader = &repl->store->reader;
    make_planner(repl);
    rc = prg_console_new(&repl->settings.limits, &repl->console, err);
    if (rc != PRG_OK)
        return rc;
    prg_console_set_policies(repl->console, repl->set);
    return define_surroundings(repl, err);
}

// ---- services ----

struct listing {
    struct repl *repl;
    struct prg_table *table;
    const char *kind, *prefix; // "il/": how one is named to select it
    size_t count;
};

static void list_subject(const cJSON *object, void *ctx)
{
    struct listing *listing = ctx;
    const struct prg_key *subject = &listing->repl->subject;
    const char *ns = prg_meta_namespace(object), *name = prg_meta_name(object);
    prg_auto_arena arena = {0};
    bool is_selected = subject->name && strcmp(subject->name, name) == 0 && strcmp(subject->ns, ns) == 0 &&
                       strcmp(subject->kind, listing->kind) == 0;
    const char *cells[] = {is_selected ? "*" : "-", ns, prg_arena_printf(&arena, "%s%s", listing->prefix, name)};
    prg_table_row(listing->table, cells);
    listing->count++;
}

static int list_subjects(struct repl *repl, struct prg_error *err)
{
    static const char *const head[] = {"SELECTED", "NAMESPACE", "NAME"};
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    struct listing listing = {.repl = repl, .table = prg_table_new(PRG_COUNT(head))};
    const struct prg_reader *reader = &repl->store->reader;
    const char *ns = prg_source_namespace(repl->options, repl->store);
    prg_table_row(listing.table, head);
    listing.kind = "InferenceService";
    listing.prefix = "";
    reader->list(reader, group, listing.kind, ns, list_subject, &listing);
    listing.kind = PRG_KIND_JOB;
    listing.prefix = "il/";
    reader->list(reader, PRG_SEDNA_GROUP, listing.kind, ns, list_subject, &listing);
    prg_table_print(listing.table, &out);
    if (prg_reader_trouble(&repl->store->reader, err) != PRG_OK)
        return err->code;
    if (!listing.count)
        prg_strbuf_puts(
            &out,
            "no InferenceService or IncrementalLearningJob; start with -f FILE, --store dir:PATH or a kubeconfig\n");
    prg_cli_write(&out);
    return PRG_OK;
}

// Of the flags, or of the decision that is open.
static int read_clock(struct repl *repl, int64_t *ret_now_ns, uint64_t *ret_seed, struct prg_error *err)
{
    if (prg_cli_clock_and_seed(repl->options, ret_now_ns, ret_seed, err) != PRG_OK)
        return err->code;
    if (repl->decision.recorded.head) {
        *ret_now_ns = repl->decision.now_ns;
        *ret_seed = repl->decision.seed;
    }
    return PRG_OK;
}

static int plan_with(struct repl *repl, struct prg_planner *planner, const struct prg_key *key, struct prg_plan *plan,
                     struct prg_error *err)
{
    int64_t now_ns;
    uint64_t seed;
    if (read_clock(repl, &now_ns, &seed, err) != PRG_OK)
        return err->code;
    return prg_planner_plan(planner, repl->reader, key, now_ns, seed, plan, err);
}

struct collecting {
    struct prg_arena *arena;
    cJSON *list;
};

static void collect(const cJSON *object, void *ctx)
{
    struct collecting *collecting = ctx;
    prg_json_append(collecting->list, prg_json_copy(collecting->arena, object));
}

// Globals: service (as defaulted), namespace, runtimes (of the namespace, then of the cluster).
static int define_subject(struct repl *repl, struct prg_error *err)
{
    struct prg_arena *arena = &repl->arena;
    const struct prg_reader *reader = repl->reader;
    struct prg_plan *plan = prg_plan_new(arena);
    struct collecting runtimes = {arena, prg_json_array(arena)};
    int rc = plan_with(repl, repl->planner, &repl->subject, plan, err);
    if (rc != PRG_OK)
        return rc;
    reader->list(reader, group, "ServingRuntime", repl->subject.ns, collect, &runtimes);
    reader->list(reader, group, "ClusterServingRuntime", NULL, collect, &runtimes);
    const cJSON *ns = prg_reader_get(reader, "", "Namespace", "", repl->subject.ns);
    // Copies: what they came from may go, the globals stay.
    rc = prg_console_define(repl->console, "service", prg_json_copy(arena, plan->resource), err);
    if (rc == PRG_OK)
        rc = prg_console_define(repl->console, "runtimes", runtimes.list, err);
    if (rc == PRG_OK)
        rc = prg_console_define(repl->console, "namespace", ns ? prg_json_copy(arena, ns) : NULL, err);
    return rc;
}

// ---- decisions of a recording ----

static const struct prg_recording *recording_of(const struct repl *repl, struct prg_error *err)
{
    const struct prg_recording *recording = prg_replaying_recording(repl->store);
    if (!recording)
        prg_fail(err, PRG_INVALID, "there are decisions only in a recording; start with --replay FILE");
    return recording;
}

static int run_decisions(struct repl *repl, const char *arguments, struct prg_error *err)
{
    static const char *const head[] = {"DECISION", "TIME", "KIND", "NAMESPACE", "NAME", "LINE"};
    const struct prg_recording *recording = recording_of(repl, err);
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_auto_arena arena = {0};
    if (!recording)
        return err->code;
    struct prg_table *table = prg_table_new(PRG_COUNT(head));
    prg_table_row(table, head);
    for (size_t i = 0; i < prg_recording_count(recording); i++) {
        const struct prg_recorded_head *decision = prg_recording_head(recording, i);
        char now[PRG_CLOCK_TEXT];
        const char *cells[] = {prg_arena_printf(&arena, "%zu", i + 1),
                               prg_clock_format(decision->now_ns, now),
                               decision->key.kind,
                               decision->key.ns,
                               decision->key.name,
                               prg_arena_printf(&arena, "%u", decision->line)};
        if (!*arguments || strcmp(arguments, decision->key.name) == 0)
            prg_table_row(table, cells);
    }
    prg_table_print(table, &out);
    prg_cli_write(&out);
    return PRG_OK;
}

// Back to the newest state of everything.
static void leave_decision(struct repl *repl)
{
    if (!repl->decision.recorded.head)
        return;
    repl->reader = &repl->store->reader;
    make_planner(repl);
    prg_inputs_close(&repl->decision);
}

// The set of the decision, unless flags or a reload chose another one.
static int take_recorded_set(struct repl *repl, struct prg_error *err)
{
    struct prg_policy_set *set;
    if (repl->has_own_set || prg_inputs_has_own_policies(repl->options, &repl->settings))
        return PRG_OK;
    if (prg_policy_set_from_json(repl->decision.recorded.policies, &repl->settings.limits, &set, err) != PRG_OK)
        return err->code;
    prg_planner_set_policies(repl->planner, set);
    prg_console_set_policies(repl->console, set);
    prg_policy_set_unref(repl->set);
    repl->set = set;
    return PRG_OK;
}

static int run_decision(struct repl *repl, const char *arguments, struct prg_error *err)
{
    const struct prg_recording *recording = recording_of(repl, err);
    char *end;
    if (!recording)
        return err->code;
    size_t count = prg_recording_count(recording);
    unsigned long long number = strtoull(arguments, &end, 10);
    if (end == arguments || *end || number < 1 || number > count)
        return prg_fail(err, PRG_INVALID, "decision N: a number from 1 to %zu; decisions lists them", count);
    leave_decision(repl);
    int rc =
        prg_inputs_read_decision(repl->options, recording, (size_t)number - 1, &repl->settings, &repl->decision, err);
    if (rc == PRG_OK)
        rc = take_recorded_set(repl, err);
    if (rc != PRG_OK) {
        prg_inputs_close(&repl->decision);
        return rc;
    }
    repl->reader = repl->decision.reader;
    repl->subject = repl->decision.recorded.head->key;
    make_planner(repl);
    prg_planner_set_lc_server(repl->planner, prg_json_get_text(repl->decision.recorded.settings, "lcServer"));
    if (define_surroundings(repl, err) != PRG_OK || define_subject(repl, err) != PRG_OK)
        return err->code;
    printf("decision %llu: %s %s/%s: service, runtimes, namespace, config, compat\n", number, repl->subject.kind,
           repl->subject.ns, repl->subject.name);
    return PRG_OK;
}

// ---- the subject ----

static int run_select(struct repl *repl, const char *arguments, struct prg_error *err)
{
    struct prg_cli_options named = *repl->options;
    struct prg_key *keys;
    size_t count;
    if (!*arguments)
        return list_subjects(repl, err);
    leave_decision(repl);
    char *argument = prg_arena_printf(&repl->arena, "%s%s", strchr(arguments, '/') ? "" : "isvc/", arguments);
    named.args = &argument;
    named.arg_count = 1;
    if (!prg_source_namespace(&named, repl->store))
        named.all_namespaces = true;
    if (prg_source_subjects(&named, repl->store, &repl->arena, &keys, &count, err) != PRG_OK)
        return err->code;
    if (count > 1)
        return prg_fail(err, PRG_CONFLICT, "%s: in namespaces %s and %s; start with -n NAMESPACE", arguments,
                        keys[0].ns, keys[1].ns);
    repl->subject = keys[0];
    if (define_subject(repl, err) != PRG_OK)
        return err->code;
    printf("selected %s/%s: service, runtimes, namespace, config, compat\n", repl->subject.ns, repl->subject.name);
    return PRG_OK;
}

static int plan_subject(struct repl *repl, struct prg_plan *plan, struct prg_error *err)
{
    if (!repl->subject.name)
        return prg_fail(err, PRG_INVALID, "nothing is selected; select NAME comes first");
    return plan_with(repl, repl->planner, &repl->subject, plan, err);
}

// The first word of *text; *text goes behind it.
static const char *take_word(struct prg_arena *arena, const char **text)
{
    *text += strspn(*text, " \t");
    size_t length = strcspn(*text, " \t");
    const char *word = prg_arena_strndup(arena, *text, length);
    *text += length;
    *text += strspn(*text, " \t");
    return word;
}

static bool is_field(const char *text)
{
    return *text == '.' || *text == '[' || *text == '/';
}

// why [NAME] [FIELD]: the record that `perigee why` prints.
static int run_why(struct repl *repl, const char *arguments, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    cJSON *document = NULL;
    struct prg_why_input in = {0};
    prg_arena_init(&arena);
    struct prg_plan *plan = prg_plan_new(&arena);
    const char *name = is_field(arguments) ? "" : take_word(&arena, &arguments);
    if (*name && run_select(repl, name, err) != PRG_OK)
        return err->code;
    if (plan_subject(repl, plan, err) != PRG_OK || read_clock(repl, &in.now_ns, &in.seed, err) != PRG_OK)
        return err->code;
    in.planner = repl->planner;
    in.compat = repl->settings.compat;
    in.store = repl->reader; // that of the subject: in a recording a choice opens another one
    in.subject = repl->subject;
    if (!*arguments) {
        prg_why_text(prg_why_document(&arena, &in, plan), &out);
    } else {
        int rc = prg_why_field(&arena, &in, plan, NULL, arguments, &document, err);
        if (rc != PRG_OK)
            return rc;
        prg_why_field_text(document, &out);
    }
    prg_cli_write(&out);
    return PRG_OK;
}

static int run_plan(struct repl *repl, const char *arguments, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const cJSON *object;
    prg_arena_init(&arena);
    struct prg_plan *plan = prg_plan_new(&arena);
    if (*arguments && run_select(repl, arguments, err) != PRG_OK)
        return err->code;
    if (plan_subject(repl, plan, err) != PRG_OK)
        return err->code;
    prg_json_each (object, plan->objects) {
        prg_strbuf_puts(&out, "---\n");
        prg_yaml_dump(&out, object);
    }
    prg_cli_write(&out);
    return plan->error ? prg_fail(err, PRG_INVALID, "%s", plan->error) : PRG_OK;
}

// ---- calls ----

static int run_call(struct repl *repl, const char *arguments, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_arena_init(&arena);
    const char *policy = take_word(&arena, &arguments), *function = take_word(&arena, &arguments);
    if (!*function)
        return prg_fail(err, PRG_INVALID, "call POLICY FUNCTION ARGUMENT, ...: which function of which policy");
    int rc = prg_console_call(repl->console, policy, function, arguments, &out, err);
    prg_cli_write(&out);
    return rc;
}

static int write_new(const char *path, const char *text, size_t length, struct prg_error *err)
{
    FILE *file = fopen(path, "wbx");
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", path,
                        errno == EEXIST ? "it is there already; save-spec FILE names another one" : strerror(errno));
    bool good = fwrite(text, 1, length, file) == length;
    int saved = errno;
    good = fclose(file) == 0 && good;
    if (!good)
        unlink(path); // half of it would be in the way of the next try
    return good ? PRG_OK : prg_fail(err, PRG_IO, "%s: %s", path, strerror(saved));
}

// NULL: it is none.
static const char *folder_of_set(const struct repl *repl)
{
    struct stat info;
    const char *policies = repl->settings.policies;
    return policies && stat(policies, &info) == 0 && S_ISDIR(info.st_mode) ? policies : NULL;
}

static int run_save_spec(struct repl *repl, const char *arguments, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT, policy = PRG_STRBUF_INIT, path = PRG_STRBUF_INIT;
    if (prg_console_spec(repl->console, &text, &policy, err) != PRG_OK)
        return err->code;
    if (*arguments)
        prg_strbuf_puts(&path, arguments);
    else
        prg_strbuf_printf(&path, "%s/%s_spec.lua", folder_of_set(repl) ? folder_of_set(repl) : ".", policy.text);
    if (!prg_text_has_suffix(path.text, "_spec.lua"))
        return prg_fail(err, PRG_INVALID, "%s: the name of a spec ends in _spec.lua", path.text);
    if (write_new(path.text, text.text, text.length, err) != PRG_OK)
        return err->code;
    printf("written: %s\n", path.text);
    return PRG_OK;
}

// ---- policies ----

static int run_reload(struct repl *repl, const char *arguments, struct prg_error *err)
{
    struct prg_policy_set *set = NULL;
    (void)arguments;
    if (load_set(repl, repl->settings.policies, &set, err) != PRG_OK)
        return prg_wrap(err, "the set in use stays, revision %s", prg_policy_set_revision(repl->set));
    bool is_other = strcmp(prg_policy_set_revision(set), prg_policy_set_revision(repl->set)) != 0;
    prg_planner_set_policies(repl->planner, set);
    prg_console_set_policies(repl->console, set);
    prg_policy_set_unref(repl->set);
    repl->set = set;
    repl->has_own_set = true;
    printf("revision %s%s\n", prg_policy_set_revision(set), is_other ? "" : ", as before");
    return PRG_OK;
}

struct exporting {
    const char *name, *path;
    bool is_found;
    int rc;
    struct prg_error *err;
};

static void export_one(const char *name, const char *text, size_t length, void *ctx)
{
    struct exporting *exporting = ctx;
    if (strcmp(name, exporting->name) != 0)
        return;
    exporting->is_found = true;
    exporting->rc = write_new(exporting->path, text, length, exporting->err);
}

// Runs $EDITOR (a shell command) on the file and waits for it.
static int run_editor(const struct repl *repl, const char *path, struct prg_error *err)
{
    const char *editor = getenv("EDITOR");
    int status = 0;
    prg_auto_strbuf script = PRG_STRBUF_INIT;
    if (!repl->lines.is_terminal && !(editor && *editor)) // vi would take the lines that follow
        return prg_fail(err, PRG_INVALID, "edit: without a terminal $EDITOR has to name a program");
    prg_strbuf_printf(&script, "%s \"$1\"", editor && *editor ? editor : "vi");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        execl("/bin/sh", "sh", "-c", script.text, "sh", path, (char *)NULL);
        _exit(127);
    }
    if (child < 0)
        return prg_fail(err, PRG_IO, "editor: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return prg_fail(err, PRG_IO, "the editor (%s) ended with an error; nothing is reloaded", script.text);
    return PRG_OK;
}

static int run_edit(struct repl *repl, const char *arguments, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    const char *folder = folder_of_set(repl);
    if (!folder)
        return prg_fail(
            err, PRG_INVALID,
            "edit needs a set in a folder: start with --policies DIR (perigee policies export DIR makes one)");
    if (!*arguments || strchr(arguments, '/'))
        return prg_fail(err, PRG_INVALID, "edit NAME: a file of %s, without .lua", folder);
    prg_strbuf_printf(&path, "%s/%s.lua", folder, arguments);
    if (access(path.text, F_OK) != 0) {
        struct exporting exporting = {.name = arguments, .path = path.text, .err = err};
        prg_policy_each_shipped(export_one, &exporting);
        if (exporting.is_found && exporting.rc != PRG_OK)
            return exporting.rc;
        if (!exporting.is_found && !strstr(arguments, "_spec"))
            return prg_fail(err, PRG_NOTFOUND, "there is no policy '%s', in the set or shipped", arguments);
    }
    if (run_editor(repl, path.text, err) != PRG_OK)
        return err->code;
    return run_reload(repl, "", err);
}

// ---- diff ----

enum { DIFF_SHOWN = 20 };

// The subject of the decision that is open, else all services and jobs.
static int subjects_of_diff(struct repl *repl, struct prg_arena *arena, struct prg_key **ret, size_t *ret_count,
                            struct prg_error *err)
{
    struct prg_cli_options all = *repl->options;
    all.arg_count = 0;
    *ret = &repl->subject;
    *ret_count = 1;
    return repl->decision.recorded.head ? PRG_OK : prg_source_subjects(&all, repl->store, arena, ret, ret_count, err);
}

static const char *describe_set(struct prg_arena *arena, const struct prg_policy_set *set, const char *name)
{
    return prg_arena_printf(arena, "policies %s (revision %s)", name, prg_policy_set_revision(set));
}

// What `perigee diff` prints, about the set in use and another one.
static int compare_sets(struct repl *repl, struct prg_policy_set *set, const char *name, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    struct prg_key *keys;
    struct prg_fleet *fleet = NULL;
    prg_arena_init(&arena);
    struct prg_planner *other = prg_planner_new(set, repl->settings.compat, repl->settings.config_namespace);
    prg_planner_load_config(other, repl->reader);
    struct prg_fleet_input in = {
        .planners = {&repl->planner, &other}, .thread_count = 1, .stores = {repl->reader, repl->reader}};
    int rc = subjects_of_diff(repl, &arena, &keys, &in.key_count, err);
    in.keys = keys;
    if (rc == PRG_OK)
        rc = read_clock(repl, &in.now_ns, &in.seed, err);
    if (rc == PRG_OK)
        rc = prg_fleet_compare(&in, &fleet, err);
    if (rc == PRG_OK) {
        struct prg_report report = {
            .fleet = fleet, .base = describe_set(&arena, repl->set, "in use"), .new = describe_set(&arena, set, name)};
        prg_report_summary(&report, &out);
        prg_report_details(&report, DIFF_SHOWN, &out);
        prg_cli_write(&out);
    }
    prg_fleet_free(fleet);
    prg_planner_free(other);
    return rc;
}

static int run_diff(struct repl *repl, const char *arguments, struct prg_error *err)
{
    struct prg_policy_set *set = NULL;
    if (!*arguments)
        return prg_fail(err, PRG_INVALID,
                        "diff SET: the other policy set; diff shipped compares with the program's own");
    if (load_set(repl, strcmp(arguments, "shipped") == 0 ? NULL : arguments, &set, err) != PRG_OK)
        return err->code;
    int rc = compare_sets(repl, set, arguments, err);
    prg_policy_set_unref(set);
    return rc;
}

// ---- commands ----

static int run_help(struct repl *repl, const char *arguments, struct prg_error *err)
{
    (void)repl;
    (void)arguments;
    (void)err;
    for (const struct command *command = commands; command->name; command++) {
        char left[64];
        snprintf(left, sizeof(left), "%s %s", command->name, command->arguments);
        printf("%-34s %s\n", left, command->help);
    }
    printf("anything else is Lua: an expression is shown as YAML; policy(NAME), view(TABLE), yaml(TEXT) are there\n");
    return PRG_OK;
}

static int run_quit(struct repl *repl, const char *arguments, struct prg_error *err)
{
    (void)arguments;
    (void)err;
    repl->is_over = true;
    return PRG_OK;
}

static const struct command commands[] = {
    {"select", "[NAME]", "list the services and jobs, or make one of them the subject", run_select},
    {"decisions", "[NAME]", "list the decisions of a recording", run_decisions},
    {"decision", "N", "open one of them: its objects, policies and clock", run_decision},
    {"why", "[NAME] [FIELD]", "the decision record; with a field, who set it", run_why},
    {"plan", "[NAME]", "the objects that would be made, as YAML", run_plan},
    {"call", "POLICY FUNCTION ARGUMENT, ...", "ask a policy; the arguments are Lua", run_call},
    {"save-spec", "[FILE]", "write the latest call as a spec", run_save_spec},
    {"edit", "NAME", "open a file of the set in $EDITOR, then reload", run_edit},
    {"reload", "", "load the set again; a bad one is refused", run_reload},
    {"diff", "SET|shipped", "what another set would change for all services", run_diff},
    {"help", "", "this list", run_help},
    {"quit", "", "leave (also Ctrl-D)", run_quit},
    {NULL, NULL, NULL, NULL},
};

// A line is a command when its first word is one and what follows does not make it Lua ("select('#', x)", "plan = 1").
static const struct command *find_command(const char *line, const char **ret_arguments)
{
    for (const struct command *command = commands; command->name; command++) {
        size_t length = strlen(command->name);
        if (strncmp(line, command->name, length) != 0 || (line[length] && !strchr(" \t", line[length])))
            continue;
        const char *rest = line + length + strspn(line + length, " \t");
        bool is_apart = rest > line + length; // "why .spec" asks for a field, "why.spec" is Lua
        if (*rest && (strchr("=(:,", *rest) || (*rest == '.' && !is_apart)))
            return NULL;
        *ret_arguments = rest;
        return command;
    }
    return NULL;
}

static void add_if_begins(struct prg_strbuf *out, const char *name, const char *word)
{
    if (prg_text_has_prefix(name, word)) {
        prg_strbuf_puts(out, name);
        prg_strbuf_putc(out, '\n');
    }
}

static void add_command(struct prg_strbuf *out, const struct command *command, const char *word)
{
    if (prg_text_has_prefix(command->name, word))
        prg_strbuf_printf(out, "%s%s\n", command->name, *command->arguments ? " " : "");
}

static bool is_command_name(const char *text, size_t length)
{
    for (const struct command *command = commands; command->name; command++)
        if (strlen(command->name) == length && memcmp(command->name, text, length) == 0)
            return true;
    return false;
}

// At the start of a line a name that is a command's too (select) is offered once, as the command.
static void complete_lua(struct repl *repl, const char *word, bool at_start, struct prg_strbuf *out)
{
    prg_auto_strbuf found = PRG_STRBUF_INIT;
    prg_console_complete(repl->console, word, &found);
    for (const char *p = found.text; *p;) {
        size_t length = strcspn(p, "\n");
        if (!at_start || !is_command_name(p, length)) {
            prg_strbuf_add(out, p, length);
            prg_strbuf_putc(out, '\n');
        }
        p += length + (p[length] == '\n');
    }
}

struct completing {
    const char *word;
    struct prg_strbuf *out;
};

static void complete_service(const cJSON *object, void *ctx)
{
    const struct completing *completing = ctx;
    add_if_begins(completing->out, prg_meta_name(object), completing->word);
}

static void complete_policy(const char *name, const char *text, size_t length, void *ctx)
{
    const struct completing *completing = ctx;
    (void)text;
    (void)length;
    add_if_begins(completing->out, name, completing->word);
}

static void complete(const char *line, const char *word, size_t start, struct prg_strbuf *out, void *ctx)
{
    struct repl *repl = ctx;
    struct completing completing = {word, out};
    const char *arguments;
    const struct command *command = start ? find_command(line, &arguments) : NULL;
    if (!start)
        for (command = commands; command->name; command++)
            add_command(out, command, word);
    else if (command && (command->run == run_select || command->run == run_why || command->run == run_plan))
        repl->store->reader.list(&repl->store->reader, group, "InferenceService",
                                 prg_source_namespace(repl->options, repl->store), complete_service, &completing);
    else if (command && (command->run == run_call || command->run == run_edit) && (size_t)(arguments - line) == start)
        prg_policy_each_shipped(complete_policy, &completing);
    if (!start || !command || command->run == run_call)
        complete_lua(repl, word, start == 0, out);
}

// ---- lines ----

static void report(struct repl *repl, const struct prg_error *err)
{
    repl->has_failed = true;
    prg_cli_error(err, PRG_EXIT_FAILED);
}

// Runs Lua text; more lines are asked for until it is whole.
static void run_lua(struct repl *repl, struct prg_strbuf *text)
{
    bool is_incomplete = false;
    struct prg_error err = {0};
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    int rc = prg_console_run(repl->console, text->text, &out, &is_incomplete, &err);
    while (is_incomplete && rc == PRG_OK) {
        char *more = prg_repl_lines_next(&repl->lines, "      .. ");
        if (!more) {
            prg_fail(&err, PRG_INVALID, "the input ends in the middle of a statement");
            rc = PRG_INVALID;
            break;
        }
        if (repl->lines.is_abandoned) {
            free(more);
            break;
        }
        prg_strbuf_putc(text, '\n');
        prg_strbuf_puts(text, more);
        free(more);
        if (repl->lines.trouble || text->length > PRG_SOURCE_BYTES) {
            rc = prg_fail(&err, PRG_LIMIT, "%s",
                          repl->lines.trouble ? repl->lines.trouble : "the statement is longer than 256 KiB");
            break;
        }
        rc = prg_console_run(repl->console, text->text, &out, &is_incomplete, &err);
    }
    prg_cli_write(&out);
    if (rc != PRG_OK)
        report(repl, &err);
}

static int run_command(struct repl *repl, const struct command *command, const char *arguments, struct prg_error *err)
{
    if (*arguments && !*command->arguments)
        return prg_fail(err, PRG_INVALID, "%s takes no arguments", command->name);
    return command->run(repl, arguments, err);
}

static void run_line(struct repl *repl, const char *line)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const char *arguments;
    struct prg_error err = {0};
    line += strspn(line, " \t");
    prg_strbuf_puts(&text, line);
    while (text.length && strchr(" \t", text.text[text.length - 1]))
        prg_strbuf_truncate(&text, text.length - 1);
    if (!text.length)
        return;
    if (prg_snapshot_is(repl->store))
        prg_snapshot_retry(repl->store); // what failed for one line may work for the next
    const struct command *command = find_command(text.text, &arguments);
    if (!command)
        run_lua(repl, &text);
    else if (run_command(repl, command, arguments, &err) != PRG_OK)
        report(repl, &err);
    prg_repl_lines_remember(&repl->lines, text.text);
    fflush(stdout);
}

static void run_lines(struct repl *repl)
{
    prg_repl_lines_open(&repl->lines, complete, repl);
    if (repl->lines.is_terminal)
        printf("help lists the commands; Ctrl-D leaves\n");
    while (!repl->is_over) {
        char *line = prg_repl_lines_next(&repl->lines, "perigee> ");
        struct prg_error err = {0};
        if (!line)
            break;
        if (repl->lines.trouble) {
            prg_fail(&err, PRG_LIMIT, "%s", repl->lines.trouble);
            report(repl, &err);
        }
        run_line(repl, line);
        free(line);
    }
    if (repl->lines.is_terminal && !repl->is_over)
        putchar('\n');
    prg_repl_lines_close(&repl->lines);
}

static int run(struct prg_cli_options *options)
{
    struct repl repl = {.options = options};
    struct prg_error err = {0};
    int code;
    if (prg_settings_load(options, &repl.settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    prg_arena_init(&repl.arena);
    if (open_repl(&repl, &err) == PRG_OK) {
        catch_interrupts(&repl);
        run_lines(&repl);
        code = repl.has_failed && !repl.lines.is_terminal ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
    } else {
        code = prg_cli_error(&err, PRG_EXIT_TROUBLE);
    }
    interrupted = NULL;
    prg_console_free(repl.console);
    prg_planner_free(repl.planner);
    prg_inputs_close(&repl.decision);
    prg_store_free(repl.store);
    prg_policy_set_unref(repl.set);
    prg_arena_release(&repl.arena);
    prg_arena_release(&repl.settings.arena);
    return code;
}

static const struct prg_option options[] = {
    PRG_OPTIONS_SOURCE, {"now", 0, PRG_OPTION_TEXT, PRG_AT(now), "TIME", "the clock of plans, RFC 3339", NULL},
    PRG_OPTIONS_POLICY, PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_repl = {
    .name = "repl",
    .summary = "Try policies by hand on the objects of files, a folder store or a cluster",
    .usage = "repl [-f FILE...] [--store dir:PATH] [--policies SET]",
    .text =
        "Lines are Lua in the policies' sandbox and limits (views print as YAML), or commands: select, "
        "decisions,\n"
        "decision, why, plan, call, save-spec, edit, reload, diff, help, quit. Ctrl-C stops a line, Ctrl-D leaves.\n"
        "The store is never written to.\n"
        "Without a terminal lines come from standard input, and the exit status is 1 when one of them failed.\n",
    .options = options,
    .run = run,
};
