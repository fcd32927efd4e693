// SPDX-License-Identifier: Apache-2.0

// Package measure times functions and prints one line per measure:
// "name value unit".
package measure

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Batches is how many timed batches make one measure; the median is reported.
var Batches = 15

// Window is the least time one batch takes.
var Window = 40 * time.Millisecond

// Print writes one measure.
func Print(name string, value float64, unit string) {
	fmt.Printf("%s %s %s\n", name, strconv.FormatFloat(value, 'f', -1, 64), unit)
}

func round(v float64) float64 {
	if v >= 100 {
		return float64(int64(v + 0.5))
	}
	return float64(int64(v*100+0.5)) / 100
}

// Func times f and prints the median and best time per call, the median CPU
// time per call (all threads, so the collector counts), and the bytes and
// objects one call allocates.
func Func(name string, f func()) {
	f()
	n := 1
	for {
		start := time.Now()
		for range n {
			f()
		}
		if took := time.Since(start); took >= Window || n >= 1<<24 {
			break
		} else if took < Window/16 {
			n *= 8
		} else {
			n *= 2
		}
	}
	times, cpus := make([]float64, Batches), make([]float64, Batches)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range times {
		start, cpu := time.Now(), CPU()
		for range n {
			f()
		}
		cpus[i] = float64((CPU() - cpu).Nanoseconds()) / float64(n)
		times[i] = float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	slices.Sort(cpus)
	total := float64(n * Batches)
	Print(name+".time", round(times[Batches/2]), "ns/op")
	Print(name+".best", round(times[0]), "ns/op")
	Print(name+".cpu", round(cpus[Batches/2]), "ns/op")
	Print(name+".bytes", round(float64(after.TotalAlloc-before.TotalAlloc)/total), "B/op")
	Print(name+".allocs", round(float64(after.Mallocs-before.Mallocs)/total), "allocs/op")
}

// Memory returns a field of /proc/self/status, such as VmRSS, in bytes.
func Memory(field string) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024
		}
	}
	return 0
}

// Samples prints the median and the best of single timings in nanoseconds.
func Samples(name string, ns []float64) {
	slices.Sort(ns)
	Print(name+".time", round(ns[len(ns)/2]), "ns/op")
	Print(name+".best", round(ns[0]), "ns/op")
}

// CPU returns the user and system time this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
