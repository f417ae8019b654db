// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// A branch's kustomization makes the job fetch nothing: whatever is not a file or directory of the branch is refused
// before kubectl kustomize begins, also in a base, and also if the branch has a directory of the same name.
func TestCheckLocal_refusesRemoteResources(t *testing.T) {
	for _, test := range []struct{ what, text, want string }{
		{"right", "namespace: a\nresources: [records.yaml, base, ./example.com]\ncommonAnnotations: {page: https://example.com/}\n" +
			"patches:\n- {path: records.yaml}\n- patch: |\n    - {op: add, path: /spec/ttl, value: 60}\n" +
			"configMapGenerator:\n- {name: x, files: [key=records.yaml], literals: ['page=https://example.com']}\n" +
			"images: [{name: a, newName: example.com/b}]\n", ""},
		{"HTTP", "resources: [https://example.com/r.yaml]", `names "https://example.com/r.yaml"`},
		{"a directory of that name", "resources: ['https://example.com']", "which is no file or directory"},
		{"a repository", "resources: ['github.com/a/b?ref=v1']", "names"},
		{"a directory named as a repository", "resources: [github.com/a]", "names"},
		{"SSH", "bases: ['git@example.com:a/b']", "names"},
		{"any case, as kubectl kustomize reads it", "RESOURCES: [https://example.com/r.yaml]", "names"},
		{"components", "components: [https://example.com/c]", "names"},
		{"a patch", "patches: [{path: https://example.com/p.yaml}]", "names"},
		{"an old patch", "patchesStrategicMerge: [https://example.com/p.yaml]", "names"},
		{"a schema", "openapi: {path: https://example.com/s.json}", "names"},
		{"a generated file", "secretGenerator: [{name: x, files: ['k=https://example.com/s']}]", "names"},
		{"environment", "configMapGenerator: [{name: x, envs: [https://example.com/s]}]", "names"},
		{"a file of another host", "resources: [/etc/passwd]", "names"},
		{"a generator", "generators: [records.yaml]", "review them by -f"},
		{"a chart", "helmCharts: [{name: x, repo: https://example.com}]", "review them by -f"},
		{"no YAML", "a: [", "yaml"},
		{"twice, of which kubectl kustomize may read either", "resources: [records.yaml]\nresources: [https://example.com]", "already set"},
	} {
		for _, isBase := range []bool{false, true} {
			root := t.TempDir()
			at := root
			if isBase {
				at = filepath.Join(root, "overlay", "below")
				must.Succeed(t, os.MkdirAll(at, 0o755))
				must.Succeed(t, os.WriteFile(filepath.Join(root, "Kustomization"), []byte("resources: [overlay/below]\n"), 0o600))
			}
			for _, directory := range []string{"base", "example.com", "https:/example.com", "github.com/a"} {
				must.Succeed(t, os.MkdirAll(filepath.Join(at, directory), 0o755))
			}
			must.Succeed(t, os.WriteFile(filepath.Join(at, "records.yaml"), nil, 0o600))
			must.Succeed(t, os.WriteFile(filepath.Join(at, "base", "kustomization.yml"), []byte("resources: [..]\n"), 0o600))
			must.Succeed(t, os.WriteFile(filepath.Join(at, "kustomization.yaml"), []byte(test.text), 0o600))
			err := checkLocal(root)
			if (err == nil) != (test.want == "") ||
				err != nil && (!strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "-k ")) {
				t.Errorf("%s, base %t: %v, want %q", test.what, isBase, err, test.want)
			}
		}
	}
}
