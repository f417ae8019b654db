// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

// Each import is into a new zone, then again without a write.
func BenchmarkImport(b *testing.B) {
	const path, sets = "../../../test/testdata/root-2018031200.zone", 10854
	text := must.Get(os.ReadFile(path))(b)
	up := standalone.Start(b)
	client := must.Get(clientcmd.BuildConfigFromFlags("", up.Kubeconfig))(b)
	importRoot := func(b *testing.B, i int) load.Result {
		loader := must.Get(load.New(load.Config{Client: client}))(b)
		zone := types.NamespacedName{Namespace: fmt.Sprint("n", i), Name: "root"}
		return must.Get(loader.Import(b.Context(), path, text, load.Target{Zone: zone, Namespace: zone.Namespace,
			View: fmt.Sprint("v", i), CreateZone: true}))(b)
	}
	zones := 0
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if got := importRoot(b, zones); got.Written != sets+1 {
				b.Fatal(got)
			}
			zones++
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if got := importRoot(b, zones-1); got.Present != sets+1 || got.Written > 0 {
				b.Fatal(got)
			}
		}
	})
}
