// SPDX-License-Identifier: Apache-2.0

// Command informerbench starts a controller-runtime manager with informers on
// InferenceServices, Deployments and Pods and measures what a controller pays
// before it does any work: time and CPU until synced, memory, and CPU per
// watch event. It prints one line per measure: "name value unit".
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/kserve/kserve/pkg/apis/serving/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"perigee/bench/peers/internal/measure"
)

func main() {
	server := flag.String("server", "https://127.0.0.1:6443", "API server")
	token := flag.String("token", "", "bearer token")
	mode := flag.String("mode", "typed", "typed, stripped (typed without managedFields) or unstructured")
	kinds := flag.String("kinds", "isvc,deployment,pod", "kinds to watch")
	events := flag.Int64("events", 0, "after syncing, wait for this many update events")
	heap := flag.Bool("heap", true, "report live heap after a forced collection")
	flag.Parse()
	log.SetFlags(0)
	ctrl.SetLogger(logr.Discard())

	start := time.Now()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			log.Fatal(err)
		}
	}
	cfg := &rest.Config{Host: *server, BearerToken: *token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if strings.HasPrefix(*server, "http:") {
		cfg.TLSClientConfig = rest.TLSClientConfig{}
	}
	gvks := map[string]schema.GroupVersionKind{
		"isvc":       {Group: "serving.kserve.io", Version: "v1beta1", Kind: "InferenceService"},
		"deployment": {Group: "apps", Version: "v1", Kind: "Deployment"},
		"pod":        {Version: "v1", Kind: "Pod"},
	}
	// The kinds are known, so the server needs no discovery.
	mapper := func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		m := meta.NewDefaultRESTMapper(nil)
		for _, gvk := range gvks {
			m.Add(gvk, meta.RESTScopeNamespace)
		}
		return m, nil
	}
	opts := manager.Options{MapperProvider: mapper, Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}}
	if *mode == "stripped" {
		opts.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}
	mgr, err := ctrl.NewManager(cfg, opts)
	if err != nil {
		log.Fatal(err)
	}
	objs := map[string]client.Object{"isvc": &v1beta1.InferenceService{}, "deployment": &appsv1.Deployment{}, "pod": &corev1.Pod{}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var added, updated atomic.Int64
	var firstUpdate, lastUpdate atomic.Int64
	var cpuAtFirst atomic.Int64
	done := make(chan struct{})
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) },
		UpdateFunc: func(any, any) {
			n := updated.Add(1)
			if n == 1 {
				firstUpdate.Store(time.Now().UnixNano())
				cpuAtFirst.Store(int64(measure.CPU()))
			}
			if n == *events {
				lastUpdate.Store(time.Now().UnixNano())
				close(done)
			}
		},
	}
	var synced []toolscache.InformerSynced
	go func() { _ = mgr.Start(ctx) }()
	for _, kind := range strings.Split(*kinds, ",") {
		obj := objs[kind]
		if *mode == "unstructured" {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(gvks[kind])
			obj = u
		}
		informer, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			log.Fatal(err)
		}
		reg, err := informer.AddEventHandler(handler)
		if err != nil {
			log.Fatal(err)
		}
		synced = append(synced, reg.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		log.Fatal("not synced")
	}
	name := "informer." + *mode
	measure.Print(name+".sync", float64(time.Since(start).Milliseconds()), "ms")
	measure.Print(name+".sync.cpu", float64(measure.CPU().Milliseconds()), "ms")
	measure.Print(name+".objects", float64(added.Load()), "objects")
	time.Sleep(3 * time.Second)
	measure.Print(name+".rss", measure.Memory("VmRSS")/1e6, "MB")
	measure.Print(name+".rss.peak", measure.Memory("VmHWM")/1e6, "MB")
	if *events > 0 {
		// Tells the replay server that its watch events may come now.
		resp, err := http.Get(*server + "/start")
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		<-done
		cpu := measure.CPU() - time.Duration(cpuAtFirst.Load())
		took := time.Duration(lastUpdate.Load() - firstUpdate.Load())
		measure.Print(name+".watch.rate", float64(int64(float64(*events)/took.Seconds())), "events/s")
		measure.Print(name+".watch.cpu", float64(cpu.Milliseconds())/float64(*events)*1e4, "ms/10k-events")
		measure.Print(name+".watch.rss", measure.Memory("VmRSS")/1e6, "MB")
		measure.Print(name+".watch.rss.peak", measure.Memory("VmHWM")/1e6, "MB")
	}
	if *heap {
		debug.FreeOSMemory()
		measure.Print(name+".rss.afterfree", measure.Memory("VmRSS")/1e6, "MB")
	}
	os.Exit(0)
}
