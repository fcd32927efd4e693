// SPDX-License-Identifier: Apache-2.0

// Package specs reads the inputs that synth.py makes.
package specs

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"

	"github.com/kserve/kserve/pkg/apis/serving/v1alpha1"
	"github.com/kserve/kserve/pkg/apis/serving/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Dir is the folder that synth.py filled.
var Dir = "."

// Text reads a file of the data folder.
func Text(name string) string {
	data, err := os.ReadFile(filepath.Join(Dir, name))
	if err != nil {
		log.Fatal(err)
	}
	return string(data)
}

// Read decodes a JSON file of the data folder.
func Read[T any](name string) *T {
	out := new(T)
	if err := json.Unmarshal([]byte(Text(name)), out); err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return out
}

// Write encodes v to a JSON file of the data folder.
func Write(name string, v any) {
	data, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(Dir, name), append(data, '\n'), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Object reads a file as an unstructured object, with integers as int64 as a
// Kubernetes client decodes them.
func Object(name string) map[string]any {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(Text(name))); err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return u.Object
}

// InferenceService reads the InferenceService that every decision is about.
func InferenceService() *v1beta1.InferenceService {
	return Read[v1beta1.InferenceService]("isvc.json")
}

// Runtimes reads a runtime list into typed objects.
func Runtimes(name string) []client.Object {
	list := Read[struct{ Items []json.RawMessage }](name)
	var out []client.Object
	for _, raw := range list.Items {
		var head struct{ Kind string }
		var obj client.Object = &v1alpha1.ClusterServingRuntime{}
		if err := json.Unmarshal(raw, &head); err != nil {
			log.Fatal(err)
		}
		if head.Kind == "ServingRuntime" {
			obj = &v1alpha1.ServingRuntime{}
		}
		if err := json.Unmarshal(raw, obj); err != nil {
			log.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}
