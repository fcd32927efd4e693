// SPDX-License-Identifier: Apache-2.0
// select.c: runtime_selection: asks accept for each candidate, orders the accepted ones by before, asks choose.
//
// The candidates are first put into the default order (below), in C, then sorted by `before` with a stable merge that
// takes sorted runs as they are. So the answer does not depend on the order in which a store lists its runtimes, those
// that `before` holds equal stay in the default order, and the shipped `before` is asked once per candidate. Whatever
// `before` answers, the merge ends and every candidate comes out once.
//
// Of candidates that are alike (policy/decision.h) the shipped rule is asked about one. Its answer is that of the
// others as well if it looked at nothing in which they differ, since it keeps nothing from one candidate to the next;
// that can be said of the shipped text only, so other files are asked about each. The steps of an answer count for all
// that get it.
//
// One call of a state does as many of the three steps as its file answers.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/builtin.h"
#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/set.h"
#include "policy/tree.h"
#include "policy/view.h"

enum step { STEP_ACCEPT, STEP_BEFORE, STEP_CHOOSE, STEP_COUNT };

struct choosing {
    const struct prg_policy_set *set;
    const struct prg_policy_file *file; // the one under way
    enum step first, last;              // its steps
    enum step step;                     // the one under way, for errors
    cJSON *request;
    struct prg_candidate **candidates; // all, in the default order
    cJSON **views;                     // their trees, NULL: not made yet
    size_t count;
    size_t *order, *spare; // indices of the accepted ones, best first; room for the merge
    size_t accepted;
    bool keeps_fronts;  // the candidates' trees are told apart by their identities
    struct kind *kinds; // by `alike`, or NULL
    size_t kind_count;
    bool has_looked;    // at more than the question says (answers.h)
    size_t asked;       // index of the candidate asked last, for errors; SIZE_MAX: none
    const char *chosen; // what choose answered
    const char *reason;
};

struct kind {                          // candidates that are alike
    const struct prg_candidate *first; // whose answer is that of all; NULL: none
    size_t count;
    uint64_t steps; // of that answer
    bool is_unlike; // the answer came from something in which they may differ
};

// Stack of a call.
enum { SLOT_TABLE = 1, SLOT_REQUEST, SLOT_VIEWS, SLOT_FUNCTION };

// ---- default order ----

static const char *plain_time(struct prg_arena *arena, const char *text)
{
    char buffer[PRG_CLOCK_TEXT];
    const char *plain = prg_clock_plain(text, buffer);
    return plain == buffer ? prg_arena_strdup(arena, buffer) : plain;
}

static int compare_priority(const struct prg_candidate *a, const struct prg_candidate *b)
{
    bool has_a = a->match.present && a->match.has_priority, has_b = b->match.present && b->match.has_priority;
    if (has_a != has_b)
        return has_a ? -1 : 1;
    if (!has_a || a->match.priority == b->match.priority)
        return 0;
    return a->match.priority > b->match.priority ? -1 : 1;
}

// Namespace first; priority high to low, none last; lowest protocol; newest; name.
static int compare_default(const void *x, const void *y)
{
    const struct prg_candidate *a = *(struct prg_candidate *const *)x, *b = *(struct prg_candidate *const *)y;
    if (a->is_cluster != b->is_cluster)
        return a->is_cluster ? 1 : -1;
    int order = compare_priority(a, b);
    if (order == 0)
        order = a->protocol < b->protocol ? -1 : a->protocol > b->protocol;
    if (order == 0)
        order = strcmp(b->created, a->created);
    return order ? order : strcmp(a->name, b->name);
}

// The same where ranks are known: only priorities are left to compare.
static int compare_ranked(const void *x, const void *y)
{
    const struct prg_candidate *a = *(struct prg_candidate *const *)x, *b = *(struct prg_candidate *const *)y;
    if (a->match.priority != b->match.priority)
        return a->match.priority > b->match.priority ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

// Those of one scope, which are in the order of their ranks: the ones with a priority come first.
static void order_scope(struct prg_candidate **candidates, size_t count, struct prg_candidate **spare)
{
    size_t first = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        bool has_priority = candidates[i]->match.present && candidates[i]->match.has_priority;
        if (has_priority)
            candidates[first++] = candidates[i];
        else
            spare[last++] = candidates[i];
    }
    memcpy(candidates + first, spare, last * sizeof(struct prg_candidate *));
    for (size_t i = 1; i < first; i++)
        if (compare_ranked(&candidates[i - 1], &candidates[i]) > 0) { // seldom: most have the same one
            qsort(candidates, first, sizeof(struct prg_candidate *), compare_ranked);
            return;
        }
}

// Puts all of `candidates` in their default order. Ranks, which the one who listed them made once, spare a thousand
// comparisons of names.
static void order_candidates(struct prg_arena *arena, const struct prg_runtime_request *request,
                             struct prg_candidate *candidates, size_t count, struct prg_candidate **ret)
{
    size_t most = 0, at = 0, own = 0;
    for (size_t i = 0; i < count; i++)
        ret[i] = &candidates[i];
    for (size_t i = 0; request->candidates && i < count; i++)
        most = candidates[i].rank > most ? candidates[i].rank : most;
    if (!most) {
        qsort(ret, count, sizeof(struct prg_candidate *), compare_default);
        return;
    }
    struct prg_candidate **by_rank = prg_arena_array(arena, struct prg_candidate *, most + 1);
    for (size_t i = 0; i < count; i++) {
        by_rank[candidates[i].rank] = &candidates[i];
        own += !candidates[i].is_cluster;
    }
    for (size_t i = 1; i <= most; i++) // those that cannot be read have a rank and are not here
        if (by_rank[i])
            ret[at++] = by_rank[i];
    order_scope(ret, own, by_rank);
    order_scope(ret + own, count - own, by_rank);
}

// ---- trees ----

static cJSON *match_tree(struct prg_arena *arena, const struct prg_candidate *candidate)
{
    struct prg_tree match = prg_tree_begin(arena);
    prg_tree_bool(&match, "autoSelect", candidate->match.auto_select);
    prg_tree_text(&match, "name", candidate->match.name);
    if (candidate->match.has_priority)
        prg_tree_int(&match, "priority", candidate->match.priority);
    prg_tree_text(&match, "version", candidate->match.version);
    return match.object;
}

// perigee.Candidate; the object is shared, not copied. What is asked for most comes first: members are searched.
static cJSON *candidate_tree(struct prg_arena *arena, const struct prg_candidate *candidate)
{
    struct prg_tree tree = prg_tree_begin(arena);
    const cJSON *spec = prg_json_get(candidate->object, "spec");
    prg_tree_node(&tree, "spec", spec ? spec : prg_json_object(arena));
    prg_tree_text(&tree, "scope", candidate->is_cluster ? "cluster" : "namespace");
    if (candidate->match.present)
        prg_tree_node(&tree, "match", match_tree(arena, candidate));
    prg_tree_int(&tree, "protocol", candidate->protocol);
    prg_tree_text(&tree, "created", candidate->created);
    prg_tree_text(&tree, "name", candidate->name);
    prg_tree_node(&tree, "object", candidate->object);
    return tree.object;
}

// perigee.RuntimeRequest
static cJSON *request_tree(struct prg_arena *arena, const struct prg_runtime_request *request)
{
    struct prg_tree tree = prg_tree_begin(arena), format = prg_tree_begin(arena);
    prg_tree_text(&format, "name", request->format_name);
    prg_tree_text(&format, "version", request->format_version);
    prg_tree_node(&tree, "format", format.object);
    prg_tree_node(&tree, "model", request->model);
    prg_tree_bool(&tree, "multi_model", request->multi_model);
    prg_tree_bool(&tree, "multi_node", request->multi_node);
    prg_tree_bool(&tree, "named", request->named);
    prg_tree_node(&tree, "namespace", request->namespace_object);
    prg_tree_text(&tree, "protocol", request->protocol);
    prg_tree_bool(&tree, "protocol_given", request->protocol_given);
    prg_tree_node(&tree, "service", request->service);
    return tree.object;
}

// ---- inside the call (all of these raise) ----

static const cJSON *tree_of(struct choosing *c, size_t index)
{
    if (!c->views[index])
        c->views[index] = candidate_tree(c->set->context->arena, c->candidates[index]);
    return c->views[index];
}

// A candidate is what its runtime's tree and the match say.
static void add_front_key(struct prg_strbuf *out, const struct prg_candidate *candidate)
{
    struct {
        uint32_t identity, flags;
        int64_t priority;
    } key = {.identity = candidate->identity};
    key.flags = (uint32_t)(candidate->is_cluster | candidate->match.present << 1 | candidate->match.auto_select << 2 |
                           candidate->match.has_priority << 3 | (candidate->match.version != NULL) << 4);
    key.priority = candidate->match.has_priority ? candidate->match.priority : 0;
    prg_strbuf_add(out, &key, sizeof(key));
    if (!candidate->match.present)
        return;
    prg_strbuf_puts(out, candidate->match.name ? candidate->match.name : "");
    prg_strbuf_putc(out, '\0');
    prg_strbuf_puts(out, candidate->match.version ? candidate->match.version : "");
}

static void push_front(lua_State *L, const struct prg_candidate *candidate)
{
    struct prg_vm *vm = prg_vm_of(L);
    prg_strbuf_clear(&vm->scratch);
    add_front_key(&vm->scratch, candidate);
    if (prg_view_push_front(L, vm->scratch.text, vm->scratch.length))
        return;
    prg_view_make_front(L, vm->scratch.text, vm->scratch.length, candidate_tree(&vm->fronts.arena, candidate));
}

// Charges the same whether its view is made or was kept: whether a policy stays within its limit must not depend on
// what was asked before.
static void push_candidate(lua_State *L, struct choosing *c, size_t index)
{
    enum { STEPS = 20 };
    if (lua_rawgeti(L, SLOT_VIEWS, (lua_Integer)index + 1) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    prg_vm_charge(L, STEPS);
    if (c->keeps_fronts && c->candidates[index]->identity)
        push_front(L, c->candidates[index]);
    else
        prg_view_push(L, tree_of(c, index));
    lua_pushvalue(L, -1);
    lua_rawseti(L, SLOT_VIEWS, (lua_Integer)index + 1);
}

static const char *known_code(lua_State *L, int index)
{
    static const char *const codes[] = {"disabled", "format",      "version",    "auto_select",
                                        "protocol", "multi_model", "multi_node", "other"};
    const char *text = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
    for (size_t i = 0; text && i < PRG_COUNT(codes); i++)
        if (strcmp(text, codes[i]) == 0)
            return codes[i];
    prg_vm_raise(L, 0,
                 "the code of a refusal must be disabled, format, version, auto_select, protocol, multi_model, "
                 "multi_node or other, not %.40s",
                 text ? text : prg_base_answer_name(L, index));
}

// The candidate's view is on top.
static void ask_accept(lua_State *L, struct prg_candidate *candidate)
{
    lua_pushvalue(L, SLOT_REQUEST);
    lua_call(L, 2, 3);
    if (!lua_isboolean(L, SLOT_FUNCTION + 1))
        prg_vm_raise(L, 0, "the answer must be true or false, not %s", prg_base_answer_name(L, SLOT_FUNCTION + 1));
    candidate->accepted = lua_toboolean(L, SLOT_FUNCTION + 1);
    candidate->reason = prg_convert_text(L, SLOT_FUNCTION + 2, "the reason");
    candidate->code = NULL;
    if (!candidate->accepted)
        candidate->code = lua_isnil(L, SLOT_FUNCTION + 3) ? "other" : known_code(L, SLOT_FUNCTION + 3);
}

// The first of several that are alike: whether the others need to be asked about shows while it is.
static void ask_for_kind(lua_State *L, struct choosing *c, struct prg_candidate *candidate, struct kind *kind)
{
    static const char *const members[] = {"match", "spec", NULL}, *const of_spec[] = {PRG_CANDIDATE_ALIKE, NULL};
    static const struct prg_view_watch spec = {of_spec, NULL, NULL}, watch = {members, "spec", &spec};
    struct prg_vm *vm = prg_vm_of(L);
    bool has_looked = vm->has_looked;
    uint64_t steps = vm->steps;
    vm->has_looked = false;
    prg_view_push_noting(L, tree_of(c, c->asked), &watch);
    ask_accept(L, candidate);
    kind->is_unlike = vm->has_looked;
    kind->first = candidate;
    kind->steps = vm->steps - steps + PRG_VM_HOOK_INTERVAL / 2; // they are counted by the hundred
    vm->has_looked = vm->has_looked || has_looked;
}

static void answer_alike(lua_State *L, struct prg_candidate *candidate, const struct kind *kind)
{
    prg_vm_charge(L, kind->steps);
    candidate->accepted = kind->first->accepted;
    candidate->reason = kind->first->reason;
    candidate->code = kind->first->code;
}

static struct kind *kind_of(struct choosing *c, const struct prg_candidate *candidate)
{
    struct kind *kind = c->kinds && candidate->alike < c->kind_count ? &c->kinds[candidate->alike] : NULL;
    return kind && candidate->alike && kind->count > 1 && !kind->is_unlike ? kind : NULL;
}

static void step_accept(lua_State *L, struct choosing *c)
{
    c->step = STEP_ACCEPT;
    prg_policy_file_push_field(L, c->file, SLOT_TABLE, PRG_FN_ACCEPT);
    for (c->asked = 0; c->asked < c->count; c->asked++) {
        struct prg_candidate *candidate = c->candidates[c->asked];
        struct kind *kind = kind_of(c, candidate);
        lua_settop(L, SLOT_FUNCTION);
        if (kind && kind->first) {
            answer_alike(L, candidate, kind);
        } else {
            lua_pushvalue(L, SLOT_FUNCTION);
            if (kind) {
                ask_for_kind(L, c, candidate, kind);
            } else {
                push_candidate(L, c, c->asked);
                ask_accept(L, candidate);
            }
        }
        if (candidate->accepted)
            c->order[c->accepted++] = c->asked;
    }
    c->asked = SIZE_MAX;
    lua_settop(L, SLOT_FUNCTION - 1);
}

static bool is_before(lua_State *L, struct choosing *c, size_t a, size_t b)
{
    prg_vm_charge(L, 1);
    c->asked = a;
    lua_pushvalue(L, SLOT_FUNCTION);
    push_candidate(L, c, a);
    push_candidate(L, c, b);
    lua_pushvalue(L, SLOT_REQUEST);
    lua_call(L, 3, 1);
    if (!lua_isboolean(L, -1))
        prg_vm_raise(L, 0, "the answer must be true or false, not %s", prg_base_answer_name(L, -1));
    bool before = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return before;
}

// End of the run of candidates that begins at `first` and is in order already.
static size_t run_end(lua_State *L, struct choosing *c, size_t first)
{
    size_t end = first + 1;
    while (end < c->accepted && !is_before(L, c, c->order[end], c->order[end - 1]))
        end++;
    return end;
}

// Merges order[first, middle) with order[middle, end) in place.
static void merge(lua_State *L, struct choosing *c, size_t first, size_t middle, size_t end)
{
    size_t a = first, b = middle, to = first;
    memcpy(c->spare + first, c->order + first, (end - first) * sizeof(*c->order));
    while (a < middle && b < end)
        c->order[to++] = is_before(L, c, c->spare[b], c->spare[a]) ? c->spare[b++] : c->spare[a++];
    while (a < middle)
        c->order[to++] = c->spare[a++];
    while (b < end)
        c->order[to++] = c->spare[b++];
}

static void step_before(lua_State *L, struct choosing *c)
{
    c->step = STEP_BEFORE;
    prg_policy_file_push_field(L, c->file, SLOT_TABLE, PRG_FN_BEFORE);
    // Runs are kept on a stack and merged when two neighbours are about as long, so that n log n questions are enough.
    size_t start[64], length[64], runs = 0;
    for (size_t at = 0; at < c->accepted || runs > 1;) {
        if (at < c->accepted) {
            start[runs] = at;
            at = run_end(L, c, at);
            length[runs] = at - start[runs];
            runs++;
        }
        while (runs > 1 &&
               (at == c->accepted || runs == PRG_COUNT(start) || length[runs - 2] <= 2 * length[runs - 1])) {
            size_t first = start[runs - 2], middle = start[runs - 1], end = middle + length[runs - 1];
            merge(L, c, first, middle, end);
            length[runs - 2] += length[runs - 1];
            runs--;
        }
    }
    c->asked = SIZE_MAX;
    lua_settop(L, SLOT_FUNCTION - 1);
}

static void step_choose(lua_State *L, struct choosing *c)
{
    c->step = STEP_CHOOSE;
    prg_policy_file_push_field(L, c->file, SLOT_TABLE, PRG_FN_CHOOSE);
    lua_createtable(L, (int)c->accepted, 0);
    for (size_t i = 0; i < c->accepted; i++) {
        push_candidate(L, c, c->order[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushvalue(L, SLOT_REQUEST);
    lua_call(L, 2, 2);
    c->chosen = prg_convert_text(L, SLOT_FUNCTION, "the name");
    c->reason = prg_convert_text(L, SLOT_FUNCTION + 1, "the reason");
    lua_settop(L, SLOT_FUNCTION - 1);
}

static int choose_protected(lua_State *L)
{
    static void (*const steps[])(lua_State *, struct choosing *) = {step_accept, step_before, step_choose};
    struct choosing *c = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "policy");
    prg_policy_file_push_table(L, c->file);
    prg_view_push_watched(L, c->request, prg_answers_plain_fields);
    lua_createtable(L, (int)c->count, 0);
    for (enum step step = c->first; step <= c->last; step++)
        steps[step](L, c);
    return 0;
}

// ---- outside ----

static int run_steps(struct choosing *c, const struct prg_policy_file *file, enum step first, enum step last,
                     struct prg_error *err)
{
    c->file = file;
    c->first = c->step = first;
    c->last = last;
    c->asked = SIZE_MAX;
    static const bool is_answered = true;
    int rc = prg_set_call(c->set, file, (int)first, choose_protected, c, &is_answered, err);
    c->has_looked = c->has_looked || file->vm->has_looked;
    if (rc == PRG_OK)
        return PRG_OK;
    if (c->asked < c->count)
        prg_wrap(err, "candidate '%s'", c->candidates[c->asked]->name);
    return prg_set_wrap(file, (int)c->step, err);
}

// Asks the layers from `layer` on for a choice, until one has an opinion.
static int ask_choose(struct choosing *c, struct prg_selection *ret, int layer, struct prg_error *err)
{
    const struct prg_policy_file *file;
    int rc = PRG_OK;
    while (rc == PRG_OK && !c->chosen &&
           (file = prg_set_find(c->set, PRG_POLICY_RUNTIME_SELECTION, PRG_FN_CHOOSE, layer, &layer))) {
        rc = run_steps(c, file, STEP_CHOOSE, STEP_CHOOSE, err);
        layer++;
        if (rc == PRG_OK && c->chosen)
            prg_set_fill_source(c->set, file, PRG_FN_CHOOSE, &ret->choose);
    }
    return rc;
}

static int take_choice(struct choosing *c, struct prg_selection *ret, struct prg_error *err)
{
    ret->ordered = prg_arena_array(c->set->context->arena, struct prg_candidate *, c->accepted ? c->accepted : 1);
    ret->count = c->accepted;
    for (size_t i = 0; i < c->accepted; i++)
        ret->ordered[i] = c->candidates[c->order[i]];
    ret->chosen = c->accepted ? ret->ordered[0] : NULL;
    if (!c->chosen)
        return PRG_OK;
    ret->reason = c->reason;
    for (size_t i = 0; i < c->accepted; i++)
        if (strcmp(ret->ordered[i]->name, c->chosen) == 0) {
            ret->chosen = ret->ordered[i];
            return PRG_OK;
        }
    prg_fail(err, PRG_POLICY, "%s:%d: it chose '%s', which is none of the accepted candidates", ret->choose.file,
             ret->choose.line, c->chosen);
    return prg_wrap(err, "policy %s, function %s", ret->choose.policy, ret->choose.function);
}

static void prepare(struct choosing *c, const struct prg_runtime_request *request, struct prg_candidate *candidates)
{
    struct prg_arena *arena = c->set->context->arena;
    size_t room = c->count ? c->count : 1;
    c->request = request_tree(arena, request);
    c->keeps_fronts = request->candidates != 0;
    c->candidates = prg_arena_array(arena, struct prg_candidate *, room);
    c->views = prg_arena_array(arena, cJSON *, room);
    c->order = prg_arena_array(arena, size_t, room);
    c->spare = prg_arena_array(arena, size_t, room);
    order_candidates(arena, request, candidates, c->count, c->candidates);
}

// Is the file's text the shipped one, under whatever name?
static bool is_shipped_rule(const struct prg_policy_file *file)
{
    for (size_t i = 0; i < prg_builtin_policy_count; i++) {
        const struct prg_builtin *builtin = &prg_builtin_policies[i];
        if (strcmp(builtin->name, "runtime_selection") == 0)
            return builtin->length == file->source.length &&
                   memcmp(builtin->text, file->source.text, builtin->length) == 0;
    }
    return false;
}

static void count_kinds(struct choosing *c, const struct prg_policy_file *accept)
{
    size_t most = 0;
    if (accept->vm->coverage || !is_shipped_rule(accept))
        return;
    for (size_t i = 0; i < c->count; i++)
        most = c->candidates[i]->alike > most ? c->candidates[i]->alike : most;
    if (!most || most > 8 * c->count + 64) // numbers of others: not worth a table
        return;
    c->kind_count = most + 1;
    c->kinds = prg_arena_array(c->set->context->arena, struct kind, c->kind_count);
    for (size_t i = 0; i < c->count; i++)
        c->kinds[c->candidates[i]->alike].count++;
}

// Asks the policy.
static int ask(struct choosing *c, const struct prg_runtime_request *request, struct prg_candidate *candidates,
               struct prg_selection *ret, struct prg_error *err)
{
    const struct prg_policy_file *accept, *before;
    prepare(c, request, candidates);
    accept = prg_set_find(c->set, PRG_POLICY_RUNTIME_SELECTION, PRG_FN_ACCEPT, 0, NULL);
    before = prg_set_find(c->set, PRG_POLICY_RUNTIME_SELECTION, PRG_FN_BEFORE, 0, NULL);
    prg_require(accept && before); // the shipped file has both
    count_kinds(c, accept);
    int rc = run_steps(c, accept, STEP_ACCEPT, accept == before ? STEP_BEFORE : STEP_ACCEPT, err);
    if (rc == PRG_OK && accept != before)
        rc = run_steps(c, before, STEP_BEFORE, STEP_BEFORE, err);
    if (rc != PRG_OK)
        return rc;
    prg_set_fill_source(c->set, accept, PRG_FN_ACCEPT, &ret->accept);
    prg_set_fill_source(c->set, before, PRG_FN_BEFORE, &ret->before);
    if (c->accepted && !request->named)
        rc = ask_choose(c, ret, 0, err);
    return rc == PRG_OK ? take_choice(c, ret, err) : rc;
}

int prg_set_select(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count,
                   struct prg_selection *ret, struct prg_error *err)
{
    struct prg_policy_set *set = ctx;
    struct choosing c = {.set = set, .count = count};
    prg_auto_strbuf question = PRG_STRBUF_INIT;
    if (!set->context)
        return prg_fail(err, PRG_POLICY, "policy runtime_selection was asked outside a plan");
    *ret = (struct prg_selection){0};
    for (size_t i = 0; !request->candidates && i < count; i++)
        candidates[i].created = plain_time(set->context->arena, candidates[i].created);
    bool is_kept = !set->is_trial && prg_answers_question(&question, request, candidates, count);
    if (is_kept && prg_answers_find(&set->answers, &question, set->context->arena, candidates, count, ret))
        return PRG_OK;
    int rc = ask(&c, request, candidates, ret, err);
    if (rc == PRG_OK && is_kept && !c.has_looked)
        prg_answers_keep(&set->answers, &question, candidates, count, ret);
    return rc;
}

// ---- every pair, for the check that `before` is an order ----

struct pairs {
    struct choosing choosing; // the views in it are those of the candidates, in their order
    bool *before;
};

static int pairs_protected(lua_State *L)
{
    struct pairs *pairs = lua_touserdata(L, 1);
    struct choosing *c = &pairs->choosing;
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "policy");
    prg_policy_file_push_table(L, c->file);
    prg_view_push_eager(L, c->request);
    lua_createtable(L, (int)c->count, 0);
    prg_policy_file_push_field(L, c->file, SLOT_TABLE, PRG_FN_BEFORE);
    for (size_t i = 0; i < c->count; i++)
        for (size_t j = 0; j < c->count; j++)
            pairs->before[i * c->count + j] = is_before(L, c, i, j);
    return 0;
}

int prg_policy_set_before(struct prg_policy_set *set, const struct prg_runtime_request *request,
                          struct prg_candidate *const *candidates, size_t count, bool *ret,
                          struct prg_policy_source *source, struct prg_error *err)
{
    struct pairs pairs = {.choosing = {.set = set, .count = count, .asked = SIZE_MAX}, .before = ret};
    struct choosing *c = &pairs.choosing;
    if (!set->context)
        return prg_fail(err, PRG_POLICY, "policy runtime_selection was asked outside a plan");
    struct prg_arena *arena = set->context->arena;
    c->file = prg_set_find(set, PRG_POLICY_RUNTIME_SELECTION, PRG_FN_BEFORE, 0, NULL);
    prg_require(c->file);
    c->request = request_tree(arena, request);
    c->views = prg_arena_array(arena, cJSON *, count ? count : 1);
    for (size_t i = 0; i < count; i++)
        c->views[i] = candidate_tree(arena, candidates[i]);
    prg_set_fill_source(set, c->file, PRG_FN_BEFORE, source);
    if (prg_vm_call(prg_set_vm(set, c->file), pairs_protected, &pairs, err) == PRG_OK)
        return PRG_OK;
    if (c->asked < count)
        prg_wrap(err, "candidate '%s'", candidates[c->asked]->name);
    return prg_set_wrap(c->file, PRG_FN_BEFORE, err);
}
