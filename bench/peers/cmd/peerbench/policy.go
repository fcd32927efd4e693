// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"embed"
	"fmt"
	"log"
	"reflect"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"perigee/bench/peers/internal/measure"
	"perigee/bench/peers/internal/specs"
)

//go:embed policies
var policies embed.FS

func policyText(name string) string {
	return string(must(policies.ReadFile("policies/" + name)))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// toLua converts a decoded JSON value into Lua tables, value by value.
func toLua(L *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case []any:
		t := L.CreateTable(len(v), 0)
		for _, item := range v {
			t.Append(toLua(L, item))
		}
		return t
	case map[string]any:
		t := L.CreateTable(0, len(v))
		for key, item := range v {
			t.RawSetString(key, toLua(L, item))
		}
		return t
	case nil:
		return lua.LNil
	}
	// Scalars by reflection, as Karmada's interpreter does.
	v := reflect.ValueOf(value)
	switch {
	case v.CanInt():
		return lua.LNumber(v.Int())
	case v.CanFloat():
		return lua.LNumber(v.Float())
	case v.Kind() == reflect.String:
		return lua.LString(v.String())
	case v.Kind() == reflect.Bool:
		return lua.LBool(v.Bool())
	}
	log.Fatalf("unexpected %T", value)
	return nil
}

func newLua() *lua.LState {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath},
	} {
		if err := L.CallByParam(lua.P{Fn: L.NewFunction(lib.open), Protect: true}, lua.LString(lib.name)); err != nil {
			log.Fatal(err)
		}
	}
	return L
}

func callSelect(L *lua.LState, isvc, runtimes lua.LValue) string {
	if err := L.CallByParam(lua.P{Fn: L.GetGlobal("Select"), NRet: 2, Protect: true}, isvc, runtimes); err != nil {
		log.Fatal(err)
	}
	out := fmt.Sprintf("%v %v", L.Get(-2), L.Get(-1))
	L.Pop(2)
	return out
}

func benchPolicy() {
	isvc := specs.Object("isvc.json")
	script := policyText("select.lua")
	for _, n := range []int{15, 100} {
		runtimes := specs.Object(fmt.Sprintf("runtimes-%d.json", n))["items"].([]any)
		name := fmt.Sprintf("policy.%d", n)
		answers := map[string]string{}

		// As Karmada runs a customization: a pooled state, the script text
		// executed and the arguments converted on every call, a one-second limit.
		L := newLua()
		measure.Func(name+".gopherlua.karmada", func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			L.SetContext(ctx)
			if err := L.DoString(script); err != nil {
				log.Fatal(err)
			}
			answers["gopherlua.karmada"] = callSelect(L, toLua(L, isvc), toLua(L, runtimes))
			cancel()
		})

		// As Argo CD runs a health check: a new state for every call.
		measure.Func(name+".gopherlua.argocd", func() {
			L := newLua()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			L.SetContext(ctx)
			i, r := toLua(L, isvc), toLua(L, runtimes)
			if err := L.DoString(script); err != nil {
				log.Fatal(err)
			}
			answers["gopherlua.argocd"] = callSelect(L, i, r)
			cancel()
			L.Close()
		})

		// The best gopher-lua can do: compiled once, and either converted per
		// call or converted ahead.
		L = newLua()
		proto := must(lua.Compile(must(parse.Parse(strings.NewReader(script), "select")), "select"))
		L.Push(L.NewFunctionFromProto(proto))
		if err := L.PCall(0, 0, nil); err != nil {
			log.Fatal(err)
		}
		measure.Func(name+".gopherlua.compiled", func() {
			answers["gopherlua.compiled"] = callSelect(L, toLua(L, isvc), toLua(L, runtimes))
		})
		luaIsvc, luaRuntimes := toLua(L, isvc), toLua(L, runtimes)
		measure.Func(name+".gopherlua.execute", func() {
			answers["gopherlua.execute"] = callSelect(L, luaIsvc, luaRuntimes)
		})

		// OPA, prepared query: input converted on every call, or parsed ahead.
		ctx := context.Background()
		query := must(rego.New(rego.Query("data.selection.result"), rego.Module("select.rego", policyText("select.rego"))).PrepareForEval(ctx))
		input := map[string]any{"isvc": isvc, "runtimes": runtimes}
		answer := func(rs rego.ResultSet) string {
			m := rs[0].Expressions[0].Value.(map[string]any)
			return fmt.Sprintf("%v %v", m["name"], m["count"])
		}
		measure.Func(name+".opa.input", func() {
			answers["opa.input"] = answer(must(query.Eval(ctx, rego.EvalInput(input))))
		})
		parsed := must(ast.InterfaceToValue(input))
		measure.Func(name+".opa.parsed", func() {
			answers["opa.parsed"] = answer(must(query.Eval(ctx, rego.EvalParsedInput(parsed))))
		})

		// CEL over plain maps; it adapts values lazily.
		env := must(cel.NewEnv(cel.Variable("isvc", cel.DynType), cel.Variable("runtimes", cel.ListType(cel.DynType)),
			ext.Lists(), ext.Strings()))
		checked, issues := env.Compile(policyText("select.cel"))
		if issues.Err() != nil {
			log.Fatal(issues.Err())
		}
		program := must(env.Program(checked, cel.EvalOptions(cel.OptOptimize)))
		measure.Func(name+".cel", func() {
			out, _, err := program.Eval(input)
			if err != nil {
				log.Fatal(err)
			}
			list := must(out.ConvertToNative(reflect.TypeOf([]string{}))).([]string)
			answers["cel"] = fmt.Sprintf("%s %d", list[0], len(list))
		})

		for engine, got := range answers {
			if got != answers["gopherlua.execute"] {
				log.Fatalf("%s: %s answered %q, gopher-lua %q", name, engine, got, answers["gopherlua.execute"])
			}
		}
		fmt.Printf("%s.answer %s answer\n", name, strings.ReplaceAll(answers["gopherlua.execute"], " ", ":"))
	}

	// What loading a policy costs: the peers' hot reload.
	measure.Func("load.gopherlua", func() {
		L := newLua()
		if err := L.DoString(script); err != nil {
			log.Fatal(err)
		}
		L.Close()
	})
	module := policyText("select.rego")
	measure.Func("load.opa", func() {
		must(rego.New(rego.Query("data.selection.result"), rego.Module("select.rego", module)).PrepareForEval(context.Background()))
	})
	env := must(cel.NewEnv(cel.Variable("isvc", cel.DynType), cel.Variable("runtimes", cel.ListType(cel.DynType)), ext.Lists(), ext.Strings()))
	expr := policyText("select.cel")
	measure.Func("load.cel", func() {
		checked, _ := env.Compile(expr)
		must(env.Program(checked, cel.EvalOptions(cel.OptOptimize)))
	})
}
