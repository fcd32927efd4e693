// SPDX-License-Identifier: Apache-2.0

// Command protobuf writes the bodies that synth.py made in JSON again in
// protobuf, as an API server sends them to a typed client: <resource>.list.pb
// and pods.watch.pb beside the JSON files.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"io"
	"log"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Every protobuf body begins with these four bytes.
const magic = "k8s\x00"

type object interface {
	Marshal() ([]byte, error)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func envelope(apiVersion, kind string, raw []byte) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	return append([]byte(magic), must(unknown.Marshal())...)
}

// appendField appends field number of a message whose value is bytes.
func appendField(out []byte, number uint64, value []byte) []byte {
	out = binary.AppendUvarint(out, number<<3|2)
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(out, value...)
}

// replaceFile writes a file beside its place and renames it, so that a run that
// is stopped leaves no half file.
func replaceFile(path string, write func(w io.Writer)) {
	f := must(os.Create(path + ".new"))
	w := bufio.NewWriterSize(f, 1<<20)
	write(w)
	check(w.Flush())
	check(f.Close())
	check(os.Rename(path+".new", path))
}

// list converts an items list item by item: the list as a whole would take
// gigabytes.
func list(dir, resource, apiVersion, kind string, item func() object) {
	f := must(os.Open(filepath.Join(dir, resource+".list.json")))
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	for must(dec.Token()) != json.Token("items") {
	}
	must(dec.Token())
	meta := metav1.ListMeta{ResourceVersion: "500000"}
	raw := appendField(nil, 1, must(meta.Marshal()))
	for dec.More() {
		obj := item()
		check(dec.Decode(obj))
		raw = appendField(raw, 2, must(obj.Marshal()))
	}
	replaceFile(filepath.Join(dir, resource+".list.pb"), func(w io.Writer) {
		must(w.Write(envelope(apiVersion, kind, raw)))
	})
}

func watch(dir string) {
	f := must(os.Open(filepath.Join(dir, "pods.watch.json")))
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	replaceFile(filepath.Join(dir, "pods.watch.pb"), func(w io.Writer) {
		for {
			var in struct {
				Type   string
				Object corev1.Pod
			}
			if err := dec.Decode(&in); err == io.EOF {
				return
			} else {
				check(err)
			}
			event := metav1.WatchEvent{Type: in.Type}
			event.Object.Raw = envelope("v1", "Pod", must(in.Object.Marshal()))
			data := must(event.Marshal())
			check(binary.Write(w, binary.BigEndian, uint32(len(data))))
			must(w.Write(data))
		}
	})
}

func main() {
	dir := flag.String("data", ".", "folder that synth.py filled")
	flag.Parse()
	log.SetFlags(0)
	list(*dir, "deployments", "apps/v1", "DeploymentList", func() object { return &appsv1.Deployment{} })
	list(*dir, "pods", "v1", "PodList", func() object { return &corev1.Pod{} })
	watch(*dir)
}
