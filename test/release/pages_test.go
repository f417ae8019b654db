// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"regexp"
	"strings"
	"testing"
)

// What is said to be supported is what the tests run.
func TestPages_nameTheVersionsOfTheTests(t *testing.T) {
	for _, tested := range []struct {
		file, version, row string
	}{
		{"../../hack/build-kube.sh", `(?m)^version=v(\S+)$`, "| Kubernetes | VERSION |"},
		{"../../go.mod", `go\.etcd\.io/etcd/server/v3 v(\d+\.\d+)\.`, "| etcd of yours (`external-etcd`) | VERSION |"},
	} {
		found := regexp.MustCompile(tested.version).FindSubmatch(readFile(t, tested.file))
		if found == nil {
			t.Fatalf("%s names no version", tested.file)
		}
		if row := strings.Replace(tested.row, "VERSION", string(found[1]), 1); !strings.Contains(string(readFile(t, "../../docs/support.md")), row) {
			t.Errorf("docs/support.md is without %q", row)
		}
	}
}
