// SPDX-License-Identifier: Apache-2.0
// vm.c: a Lua state with a capped allocator, a step budget, a deadline, and a message handler that knows where.
#include "policy/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/sandbox.h"
#include "policy/text.h"

// The address is the error value of a trip: a light userdata that nothing in the sandbox returns.
static const char trip_value;

enum {
    CLOCK_STEPS = 10000, // steps between two looks at the clock: well under a millisecond of work
    DEPTH_LEVELS = 2000, // calls on the stack from which an exhausted memory is told as a recursion
    BIG_BLOCK = 4096,    // allocations from this size on are charged by their size
    MOST_FRONT_BYTES = 8 << 20,
    SHOWN_LEVELS = 50, // levels searched for the place of an error
};

struct prg_policy_limits prg_policy_limits_complete(const struct prg_policy_limits *limits)
{
    struct prg_policy_limits full = limits ? *limits : (struct prg_policy_limits){0};
    if (!full.max_steps)
        full.max_steps = 50000000;
    if (!full.max_memory_bytes)
        full.max_memory_bytes = (size_t)64 << 20;
    if (!full.max_block_bytes)
        full.max_block_bytes = (size_t)4 << 20;
    if (!full.max_result_nodes)
        full.max_result_nodes = 100000;
    if (!full.max_wall_ms)
        full.max_wall_ms = 1000;
    return full;
}

// ---- where ----

static void set_place(struct prg_vm *vm, const lua_Debug *ar)
{
    const char *source = ar->source[0] == '@' || ar->source[0] == '=' ? ar->source + 1 : ar->short_src;
    snprintf(vm->error_file, sizeof(vm->error_file), "%s", source);
    vm->error_line = ar->currentline;
}

// The place of what happens now: the innermost line of the vm's own script, else that of the function it was asked for
// (it has returned, or has called on without coming back), else the innermost line at all (a module of the standard
// library). Allocates nothing, so the allocator may call it. Returns true for a place in the own script.
static bool find_place(struct prg_vm *vm)
{
    lua_Debug ar;
    bool found = false;
    vm->error_file[0] = '\0';
    vm->error_line = 0;
    for (int level = 0; level < SHOWN_LEVELS && lua_getstack(vm->L, level, &ar); level++) {
        if (!lua_getinfo(vm->L, "Sl", &ar) || ar.currentline <= 0)
            continue;
        bool own = strcmp(ar.source, vm->source) == 0;
        if (own || !found)
            set_place(vm, &ar);
        found = true;
        if (own)
            return true;
    }
    if (!vm->function_line)
        return false;
    snprintf(vm->error_file, sizeof(vm->error_file), "%s", vm->source + 1);
    vm->error_line = vm->function_line;
    return true;
}

// Lua puts "FILE:LINE: " before its messages, with a FILE cut to 60 bytes. Where the text begins with the place of a
// level, that level is the place, and the text goes on behind it.
static const char *place_of_text(struct prg_vm *vm, const char *text, size_t *length)
{
    lua_Debug ar;
    char prefix[LUA_IDSIZE + 32];
    bool found_own = find_place(vm);
    for (int level = 0; level < SHOWN_LEVELS && lua_getstack(vm->L, level, &ar); level++) {
        if (!lua_getinfo(vm->L, "Sl", &ar) || ar.currentline <= 0)
            continue;
        int n = snprintf(prefix, sizeof(prefix), "%s:%d: ", ar.short_src, ar.currentline);
        if (n < 0 || (size_t)n > *length || memcmp(text, prefix, (size_t)n) != 0)
            continue;
        if (strcmp(ar.source, vm->source) != 0 && found_own)
            return text; // raised inside the standard library: the caller's line, with the text as it is
        set_place(vm, &ar);
        *length -= (size_t)n;
        return text + n;
    }
    return text;
}

// ---- budgets ----

static void on_count(lua_State *L, lua_Debug *ar);

// Marks the call as over. Does not raise: also called by the allocator.
static void trip(struct prg_vm *vm, enum prg_trip kind)
{
    lua_Debug ar;
    if (vm->trip || !vm->is_running)
        return;
    if (kind >= PRG_TRIP_MEMORY && lua_getstack(vm->L, DEPTH_LEVELS, &ar))
        kind = PRG_TRIP_DEPTH;
    vm->trip = kind;
    find_place(vm);
    lua_sethook(vm->L, on_count, LUA_MASKCOUNT, 1); // whatever catches the error is stopped at its first instruction
}

static void check_budget(struct prg_vm *vm)
{
    if (vm->is_interrupted) {
        trip(vm, PRG_TRIP_INTERRUPT);
    } else if (vm->steps > vm->limits.max_steps) {
        trip(vm, PRG_TRIP_STEPS);
    } else if (vm->steps >= vm->clock_steps) {
        vm->clock_steps = vm->steps + CLOCK_STEPS;
        if (prg_clock_monotonic_ns() > vm->deadline_ns)
            trip(vm, PRG_TRIP_WALL);
    }
}

void prg_vm_pass_trip(lua_State *L)
{
    if (!prg_vm_of(L)->trip)
        return;
    lua_settop(L, 0);
    lua_pushlightuserdata(L, (void *)&trip_value);
    lua_error(L);
}

static void on_count(lua_State *L, lua_Debug *ar)
{
    struct prg_vm *vm = prg_vm_of(L);
    if (ar->event == LUA_HOOKLINE) {
        if (lua_getinfo(L, "Sl", ar))
            prg_coverage_hit(vm->coverage, ar->source, ar->currentline);
        return;
    }
    if (!vm->trip) {
        vm->steps += (uint64_t)lua_gethookcount(L);
        check_budget(vm);
    }
    prg_vm_pass_trip(L);
}

void prg_vm_charge(lua_State *L, uint64_t steps)
{
    struct prg_vm *vm = prg_vm_of(L);
    vm->steps += steps;
    check_budget(vm);
    prg_vm_pass_trip(L);
}

void prg_vm_charge_arena(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    if (vm->arena && vm->arena->used_bytes - vm->arena_start_bytes > vm->limits.max_memory_bytes)
        trip(vm, PRG_TRIP_MEMORY);
    prg_vm_pass_trip(L);
}

// ---- memory ----

// Lua answers a refusal with a full collection and asks once more. The second refusal of the same request is the end;
// so is a collection that frees next to nothing, because each one costs as much as a thousand instructions.
static void *refuse(struct prg_vm *vm, size_t size)
{
    if (size > vm->limits.max_block_bytes)
        trip(vm, PRG_TRIP_BLOCK);
    else if (vm->refused_bytes == size)
        trip(vm, PRG_TRIP_MEMORY);
    vm->refused_bytes = size;
    return NULL;
}

// A refused allocation makes Lua collect everything and ask once more.
static bool is_refused_in_test(struct prg_vm *vm)
{
    if (!vm->is_running || (!vm->stress.collect_every && !vm->stress.fail_at))
        return false;
    if (vm->stress.is_refused) {
        vm->stress.is_refused = false;
        if (vm->stress.count != vm->stress.fail_at)
            return false;
        trip(vm, PRG_TRIP_MEMORY);
        return true;
    }
    vm->stress.count++;
    vm->stress.is_refused = vm->stress.count == vm->stress.fail_at ||
                            (vm->stress.collect_every && vm->stress.count % vm->stress.collect_every == 0);
    return vm->stress.is_refused;
}

static void *allocate(void *ud, void *block, size_t old_size, size_t new_size)
{
    struct prg_vm *vm = ud;
    if (!block)
        old_size = 0; // Lua passes the kind of object there
    if (new_size == 0) {
        free(block);
        vm->used_bytes -= old_size;
        return NULL;
    }
    if (new_size > old_size) {
        if (is_refused_in_test(vm))
            return NULL;
        size_t kept = vm->fronts.bytes + vm->fronts.reserved, used = vm->used_bytes + (new_size - old_size);
        size_t grown = used > kept ? used - kept : 0; // of the policy itself
        if (new_size > vm->limits.max_block_bytes || grown > vm->limits.max_memory_bytes)
            return refuse(vm, new_size);
        if (vm->refused_bytes && new_size == vm->refused_bytes) {
            vm->refused_bytes = 0;
            if (grown > vm->limits.max_memory_bytes / 8 * 7)
                trip(vm, PRG_TRIP_MEMORY);
        }
        if (new_size >= BIG_BLOCK && !vm->fronts.reserved)
            vm->steps += new_size / 64; // seen at the next look at the budget
        if (grown > vm->peak_bytes)
            vm->peak_bytes = grown;
    }
    void *moved = prg_xrealloc(block, new_size);
    vm->used_bytes += new_size - old_size;
    if (vm->fronts.reserved && new_size > old_size)
        vm->fronts.making += new_size - old_size;
    return moved;
}

// ---- errors ----

PRG_NORETURN void prg_vm_raise(lua_State *L, int level, const char *format, ...)
{
    char text[PRG_VM_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    lua_checkstack(L, 4);
    luaL_where(L, level);
    lua_pushstring(L, text);
    lua_concat(L, 2);
    lua_error(L);
    abort(); // lua_error does not return
}

// The message handler: keeps what and where while the stack is still there. Never looks into an error value that is
// not a text: a __tostring would run outside the budget.
static int on_error(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    char number[64];
    const char *text = number;
    size_t length = 0;
    if (vm->trip)
        return 1; // kept at the trip
    switch (lua_type(L, 1)) {
    case LUA_TSTRING:
        text = lua_tolstring(L, 1, &length);
        break;
    case LUA_TNUMBER:
        length = lua_isinteger(L, 1) ? (size_t)snprintf(number, sizeof(number), "%lld", (long long)lua_tointeger(L, 1))
                                     : (size_t)snprintf(number, sizeof(number), "%.14g", lua_tonumber(L, 1));
        break;
    default:
        length = (size_t)snprintf(number, sizeof(number), "a %s was raised as error; raise a text",
                                  lua_typename(L, lua_type(L, 1)));
        break;
    }
    text = place_of_text(vm, text, &length);
    prg_text_show(vm->error_text, sizeof(vm->error_text), text, length);
    return 1;
}

int prg_vm_handle_nested(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    if (vm->trip)
        return 1;
    lua_checkstack(L, 4);
    on_error(L);
    lua_pushfstring(L, "%s:%d: ", vm->error_file, vm->error_line);
    lua_pushstring(L, vm->error_text);
    lua_concat(L, 2);
    vm->error_file[0] = vm->error_text[0] = '\0';
    vm->error_line = 0;
    return 1;
}

static const char *trip_text(const struct prg_vm *vm, char *buffer, size_t size)
{
    const struct prg_policy_limits *limits = &vm->limits;
    switch (vm->trip) {
    case PRG_TRIP_STEPS:
        snprintf(buffer, size, "stopped: it took more than %llu steps (limit steps); is there an endless loop?",
                 (unsigned long long)limits->max_steps);
        break;
    case PRG_TRIP_WALL:
        snprintf(buffer, size, "stopped: it ran longer than %u ms (limit wallMs)", limits->max_wall_ms);
        break;
    case PRG_TRIP_INTERRUPT:
        snprintf(buffer, size, "stopped: interrupted");
        break;
    case PRG_TRIP_BLOCK:
        snprintf(buffer, size, "stopped: one text or table grew larger than %zu bytes (limit blockBytes)",
                 limits->max_block_bytes);
        break;
    case PRG_TRIP_DEPTH:
        snprintf(buffer, size, "stopped: the calls are nested too deeply; does a function call itself without end?");
        break;
    default:
        snprintf(buffer, size, "stopped: it needs more than %zu bytes of memory (limit memoryBytes)",
                 limits->max_memory_bytes);
        break;
    }
    return buffer;
}

static void report(struct prg_vm *vm, int status, struct prg_error *err)
{
    char buffer[256];
    const char *text = vm->error_text;
    if (vm->trip)
        text = trip_text(vm, buffer, sizeof(buffer));
    else if (status == LUA_ERRMEM)
        text = "not enough memory (limit memoryBytes)";
    else if (status == LUA_ERRERR)
        text = "an error was raised while another one was handled";
    if (vm->error_line)
        prg_fail(err, PRG_POLICY, "%s:%d: %s", vm->error_file, vm->error_line, text);
    else if (vm->error_file[0])
        prg_fail(err, PRG_POLICY, "%s: %s", vm->error_file, text);
    else
        prg_fail(err, PRG_POLICY, "%s", text);
}

// ---- calls ----

static void begin_call(struct prg_vm *vm)
{
    vm->is_running = true;
    vm->at_top_level = false;
    vm->steps = 0;
    vm->clock_steps = CLOCK_STEPS;
    vm->fronts.reserved = 0;
    vm->deadline_ns = prg_clock_monotonic_ns() + (int64_t)vm->limits.max_wall_ms * 1000000;
    vm->trip = PRG_TRIP_NONE;
    vm->is_interrupted = 0;
    vm->has_looked = false;
    vm->refused_bytes = 0;
    vm->stress.count = 0;
    vm->stress.is_refused = false;
    vm->arena_start_bytes = vm->arena ? vm->arena->used_bytes : 0;
    vm->error_file[0] = vm->error_text[0] = '\0';
    vm->error_line = vm->function_line = 0;
    prg_strbuf_clear(&vm->printed);
    uint64_t interval = vm->limits.max_steps < PRG_VM_HOOK_INTERVAL ? vm->limits.max_steps : PRG_VM_HOOK_INTERVAL;
    lua_sethook(vm->L, on_count, vm->coverage ? LUA_MASKCOUNT | LUA_MASKLINE : LUA_MASKCOUNT, (int)interval);
}

static size_t most_front_bytes(const struct prg_vm *vm)
{
    size_t share = vm->limits.max_memory_bytes / 4;
    return share < MOST_FRONT_BYTES ? share : MOST_FRONT_BYTES;
}

// Between two calls, when nobody has one. Their numbers do not come again, so one that was held back is of no use.
// All at once: most are of runtimes that are gone or were edited, their trees share an arena, and those that are asked
// for again are made once for 8 MiB of others.
static void drop_fronts(struct prg_vm *vm)
{
    struct prg_vm_fronts *fronts = &vm->fronts;
    if (fronts->table)
        luaL_unref(vm->L, LUA_REGISTRYINDEX, fronts->table);
    fronts->table = 0;
    fronts->gone += (uint32_t)fronts->count;
    fronts->count = 0;
    prg_map_clear(&fronts->by_key);
    lua_gc(vm->L, LUA_GCCOLLECT);
    prg_arena_reset(&fronts->arena);
    fronts->bytes = 0;
}

int prg_vm_call(struct prg_vm *vm, lua_CFunction body, void *arg, struct prg_error *err)
{
    lua_State *L = vm->L;
    if (vm->is_running)
        return prg_fail(err, PRG_POLICY, "a policy was asked while it is still deciding");
    int base = lua_gettop(L);
    if (vm->fronts.bytes + vm->fronts.arena.used_bytes > most_front_bytes(vm))
        drop_fronts(vm);
    begin_call(vm);
    lua_pushcfunction(L, on_error); // light pushes only: nothing out here may allocate or raise
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, arg);
    int status = lua_pcall(L, 1, 0, base + 1);
    lua_sethook(L, NULL, 0, 0);
    vm->is_running = false;
    // A script that caught the trip in the last instructions of its call has still tripped.
    bool failed = status != LUA_OK || vm->trip;
    if (failed)
        report(vm, status, err);
    lua_settop(L, base);
    if (vm->trip >= PRG_TRIP_MEMORY)
        lua_gc(L, LUA_GCCOLLECT);
    return failed ? PRG_POLICY : PRG_OK;
}

void prg_vm_expire(struct prg_vm *vm)
{
    vm->generation++;
}

static int on_panic(lua_State *L)
{
    (void)L;
    prg_require(!"Lua raised an error outside a protected call");
    return 0;
}

static int open_protected(lua_State *L)
{
    prg_sandbox_open(L);
    return 0;
}

struct prg_vm *prg_vm_new(const struct prg_policy_limits *limits, struct prg_error *err)
{
    struct prg_vm *vm = prg_xcalloc(1, sizeof(*vm));
    vm->limits = prg_policy_limits_complete(limits);
    vm->source = "";
    vm->generation = 1;
    prg_strbuf_init(&vm->printed);
    prg_strbuf_init(&vm->scratch);
    prg_map_init(&vm->fronts.by_key);
    prg_arena_init(&vm->fronts.arena);
    vm->L = lua_newstate(allocate, vm);
    if (!vm->L) {
        prg_fail(err, PRG_LIMIT, "memoryBytes %zu leaves no room for a Lua state; give it more",
                 vm->limits.max_memory_bytes);
        prg_vm_free(vm);
        return NULL;
    }
    *(struct prg_vm **)lua_getextraspace(vm->L) = vm;
    lua_atpanic(vm->L, on_panic);
    if (prg_vm_call(vm, open_protected, NULL, err) != PRG_OK) {
        prg_wrap(err, "opening the sandbox");
        prg_vm_free(vm);
        return NULL;
    }
    return vm;
}

void prg_vm_free(struct prg_vm *vm)
{
    if (!vm)
        return;
    if (vm->L)
        lua_close(vm->L);
    prg_strbuf_release(&vm->printed);
    prg_strbuf_release(&vm->scratch);
    prg_map_release(&vm->fronts.by_key);
    prg_arena_release(&vm->fronts.arena);
    free(vm->fronts.given);
    free(vm);
}
