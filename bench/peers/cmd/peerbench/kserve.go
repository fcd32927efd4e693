// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kserve/kserve/pkg/apis/serving/v1alpha1"
	"github.com/kserve/kserve/pkg/apis/serving/v1beta1"
	"github.com/kserve/kserve/pkg/constants"
	"github.com/kserve/kserve/pkg/controller/v1beta1/inferenceservice/components"
	isvcutils "github.com/kserve/kserve/pkg/controller/v1beta1/inferenceservice/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"perigee/bench/peers/internal/measure"
	"perigee/bench/peers/internal/specs"
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(s); err != nil {
			log.Fatal(err)
		}
	}
	return s
}

func benchMerge() {
	isvc := specs.InferenceService()
	rt := specs.Read[v1alpha1.ClusterServingRuntime]("runtime.json")
	pred := &isvc.Spec.Predictor
	var container *corev1.Container
	var pod *corev1.PodSpec
	measure.Func("merge.kserve", func() {
		var err error
		_, container, pod, err = isvcutils.MergeServingRuntimeAndInferenceServiceSpecs(rt.Spec.Containers, pred.Model.Container, isvc,
			constants.InferenceServiceContainerName, rt.Spec.ServingRuntimePodSpec, pred.PodSpec)
		if err != nil {
			log.Fatal(err)
		}
	})
	// What any other implementation has to produce from the same inputs.
	specs.Write("merge-kserve.json", map[string]any{"container": container, "podSpec": pod})
	measure.Func("placeholders.kserve", func() {
		c := *container
		if err := isvcutils.ReplacePlaceholders(&c, isvc.ObjectMeta); err != nil {
			log.Fatal(err)
		}
	})
}

// cachedReader starts a controller-runtime cache over an in-process API that
// serves the given runtimes, so that reads cost what they cost in a manager.
func cachedReader(scheme *runtime.Scheme, objs []client.Object) (client.Reader, func()) {
	lists := map[string][]client.Object{"servingruntimes": {}, "clusterservingruntimes": {}}
	for _, o := range objs {
		if o.GetNamespace() != "" {
			lists["servingruntimes"] = append(lists["servingruntimes"], o)
		} else {
			lists["clusterservingruntimes"] = append(lists["clusterservingruntimes"], o)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plural := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		kind := map[string]string{"servingruntimes": "ServingRuntimeList", "clusterservingruntimes": "ClusterServingRuntimeList"}[plural]
		json.NewEncoder(w).Encode(map[string]any{"apiVersion": "serving.kserve.io/v1alpha1", "kind": kind,
			"metadata": map[string]any{"resourceVersion": "5000"}, "items": lists[plural]})
	}))
	gv := schema.GroupVersion{Group: "serving.kserve.io", Version: "v1alpha1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	mapper.Add(gv.WithKind("ServingRuntime"), meta.RESTScopeNamespace)
	mapper.Add(gv.WithKind("ClusterServingRuntime"), meta.RESTScopeRoot)
	c := must(cache.New(&rest.Config{Host: srv.URL}, cache.Options{Scheme: scheme, Mapper: mapper, HTTPClient: srv.Client()}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = c.Start(ctx) }()
	must(c.GetInformer(ctx, &v1alpha1.ServingRuntime{}))
	must(c.GetInformer(ctx, &v1alpha1.ClusterServingRuntime{}))
	c.WaitForCacheSync(ctx)
	return c, func() { cancel(); srv.CloseClientConnections(); srv.Close() }
}

type readerClient struct {
	client.Client
	reader client.Reader
}

func (c readerClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, list, opts...)
}

func benchSelect() {
	ctx := context.Background()
	scheme := newScheme()
	isvc := specs.InferenceService()
	for _, n := range []int{15, 100, 1000} {
		objs := specs.Runtimes(fmt.Sprintf("runtimes-%d.json", n))
		fakeClient := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
		var found []v1alpha1.SupportedRuntime
		run := func(cl client.Client) func() {
			return func() {
				found = must(isvc.Spec.Predictor.Model.GetSupportingRuntimes(ctx, cl, isvc.Namespace, false, false))
			}
		}
		measure.Func(fmt.Sprintf("select.kserve.fake.%d", n), run(fakeClient))
		reader, stop := cachedReader(scheme, objs)
		measure.Func(fmt.Sprintf("select.kserve.cache.%d", n), run(readerClient{fakeClient, reader}))
		fmt.Printf("select.%d.answer %s:%d answer\n", n, found[0].Name, len(found))
		stop()
	}
}

func predictor(cl client.Client, set kubernetes.Interface, scheme *runtime.Scheme) components.Component {
	cfg := must(v1beta1.NewInferenceServicesConfig(specs.Read[corev1.ConfigMap]("config.json")))
	return components.NewPredictor(cl, set, scheme, cfg, constants.Standard)
}

func benchReconcile() {
	ctx := context.Background()
	scheme := newScheme()
	objs := specs.Runtimes("runtimes-15.json")
	set := clientfake.NewSimpleClientset(specs.Read[corev1.ConfigMap]("config.json"))
	isvc := specs.InferenceService()
	fresh := func() client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
	}
	reconcile := func(cl client.Client) {
		if _, err := predictor(cl, set, scheme).Reconcile(ctx, isvc.DeepCopy()); err != nil {
			log.Fatal(err)
		}
	}

	// The first time: creates the Deployment, the Service and the autoscaler.
	// A fake client is built outside the timed part for each sample.
	var first []float64
	for range 60 {
		cl := fresh()
		start := time.Now()
		reconcile(cl)
		first = append(first, float64(time.Since(start).Nanoseconds()))
	}
	measure.Samples("reconcile.kserve.fake.first", first)

	cl := fresh()
	reconcile(cl)
	measure.Func("reconcile.kserve.fake.noop", func() { reconcile(cl) })
}

type countingTransport struct {
	next   http.RoundTripper
	counts *[4]atomic.Int64
}

const (
	reads = iota
	writes
	sentBytes
)

func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		t.counts[reads].Add(1)
	} else {
		t.counts[writes].Add(1)
		if os.Getenv("BENCH_TRACE") != "" {
			log.Printf("%s %s", r.Method, r.URL)
		}
		t.counts[sentBytes].Add(r.ContentLength)
	}
	return t.next.RoundTrip(r)
}

// benchLive reconciles against a real API server with cached reads, as the
// KServe manager does, and counts the requests a no-op costs.
func benchLive(server, token string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	scheme := newScheme()
	counts := new([4]atomic.Int64)
	base := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: true}
	cfg := &rest.Config{Host: server, BearerToken: token, QPS: -1, Transport: countingTransport{base, counts}}
	direct := must(client.New(cfg, client.Options{Scheme: scheme}))
	ensure := func(o client.Object) {
		o.SetResourceVersion("")
		o.SetUID("")
		err := direct.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) {
			err = direct.Get(ctx, client.ObjectKeyFromObject(o), o)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kserve"}})
	ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench-live"}})
	ensure(specs.Read[corev1.ConfigMap]("config.json"))
	for _, o := range specs.Runtimes("runtimes-15.json") {
		ensure(o)
	}
	isvc := specs.InferenceService()
	isvc.Namespace, isvc.Name = "bench-live", "live"
	ensure(isvc)

	// Only the bench namespace is cached, to keep this process small.
	c := must(cache.New(cfg, cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{"bench-live": {}}}))
	go func() { _ = c.Start(ctx) }()
	c.WaitForCacheSync(ctx)
	cl := must(client.New(cfg, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: c}}))
	set := must(kubernetes.NewForConfig(cfg))
	reconcile := func() {
		copied := isvc.DeepCopy()
		if _, err := predictor(cl, set, scheme).Reconcile(ctx, copied); err != nil {
			log.Fatal(err)
		}
	}
	start := time.Now()
	reconcile()
	measure.Print("reconcile.kserve.live.first.time", float64(time.Since(start).Microseconds()), "us")
	time.Sleep(2 * time.Second)
	reconcile()
	time.Sleep(2 * time.Second)

	const rounds = 200
	var samples []float64
	for i := range counts {
		counts[i].Store(0)
	}
	cpu := measure.CPU()
	for range rounds {
		start := time.Now()
		reconcile()
		samples = append(samples, float64(time.Since(start).Nanoseconds()))
	}
	cpu = measure.CPU() - cpu
	measure.Samples("reconcile.kserve.live.noop", samples)
	measure.Print("reconcile.kserve.live.noop.cpu", float64(cpu.Nanoseconds())/rounds, "ns/op")
	measure.Print("reconcile.kserve.live.noop.reads", float64(counts[reads].Load())/rounds, "requests/op")
	measure.Print("reconcile.kserve.live.noop.writes", float64(counts[writes].Load())/rounds, "requests/op")
	measure.Print("reconcile.kserve.live.noop.sent", float64(counts[sentBytes].Load())/rounds, "B/op")
}
