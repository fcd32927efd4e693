// SPDX-License-Identifier: Apache-2.0

// Command peerbench measures what users run today: KServe's merge, runtime
// selection and predictor reconcile, and the policy engines embedded by other
// controllers. It prints one line per measure: "name value unit".
package main

import (
	"flag"
	"log"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"perigee/bench/peers/internal/measure"
	"perigee/bench/peers/internal/specs"
)

func main() {
	flag.StringVar(&specs.Dir, "data", specs.Dir, "folder that synth.py filled")
	flag.IntVar(&measure.Batches, "batches", measure.Batches, "timed batches per measure")
	flag.DurationVar(&measure.Window, "window", measure.Window, "least time of a batch")
	only := flag.String("run", "merge,select,reconcile,policy", "groups to run; also: live")
	server := flag.String("server", "https://127.0.0.1:6443", "API server for the live group")
	token := flag.String("token", "", "bearer token for the live group")
	flag.Parse()
	log.SetFlags(0)
	ctrl.SetLogger(logr.Discard())

	groups := strings.Split(*only, ",")
	for _, g := range []struct {
		name string
		run  func()
	}{
		{"merge", benchMerge},
		{"select", benchSelect},
		{"reconcile", benchReconcile},
		{"policy", benchPolicy},
		{"live", func() { benchLive(*server, *token) }},
	} {
		if slices.Contains(groups, g.name) {
			g.run()
		}
	}
}
