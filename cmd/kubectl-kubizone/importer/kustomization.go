// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// kustomization has the fields of a kustomization file by which kubectl kustomize reads or fetches something.
type kustomization struct {
	Resources             any `json:"resources"`
	Bases                 any `json:"bases"`
	Components            any `json:"components"`
	Crds                  any `json:"crds"`
	Configurations        any `json:"configurations"`
	Patches               any `json:"patches"`
	PatchesStrategicMerge any `json:"patchesStrategicMerge"`
	PatchesJSON6902       any `json:"patchesJson6902"`
	Replacements          any `json:"replacements"`
	OpenAPI               any `json:"openapi"`
	ConfigMapGenerator    any `json:"configMapGenerator"`
	SecretGenerator       any `json:"secretGenerator"`
	// Files of these fields name further files.
	Generators   any `json:"generators"`
	Transformers any `json:"transformers"`
	Validators   any `json:"validators"`
	// Charts come from a registry.
	HelmCharts                  any `json:"helmCharts"`
	HelmChartInflationGenerator any `json:"helmChartInflationGenerator"`
}

func (k *kustomization) mayHideNames() bool {
	return k.Generators != nil || k.Transformers != nil || k.Validators != nil || k.HelmCharts != nil ||
		k.HelmChartInflationGenerator != nil
}

var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// checkLocal returns an error if a kustomization, or another below it in the tree, names anything but present files
// and directories. kubectl kustomize would fetch such a resource over HTTP or by git, from wherever the author of a
// branch likes, with the network of the job.
func checkLocal(directory string) error {
	seen := map[string]bool{}
	for left := []string{directory}; len(left) > 0; left = left[1:] {
		at, err := filepath.Abs(left[0])
		if err != nil || seen[at] {
			// Kustomizations may name each other in a circle.
			continue
		}
		seen[at] = true
		below, err := checkKustomization(left[0])
		if err != nil {
			return fmt.Errorf("-k %s: %w", directory, err)
		}
		left = append(left, below...)
	}
	return nil
}

// checkKustomization checks one directory, and returns the directories in its kustomization. A directory without a
// kustomization has none; kubectl kustomize refuses it.
func checkKustomization(directory string) (below []string, err error) {
	for _, file := range kustomizationNames {
		path := filepath.Join(directory, file)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		asJSON, err := yaml.YAMLToJSONStrict(text)
		var k kustomization
		if err == nil {
			err = json.Unmarshal(asJSON, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// A generator names files in files, so a check of this file alone would miss a remote resource.
		if k.mayHideNames() {
			return nil, fmt.Errorf("%s has generators, transformers, validators or charts, which may fetch more than the file "+
				"shows, and a review fetches nothing: build the manifests in the job, and review them by -f", path)
		}
		for _, named := range []any{k.Resources, k.Bases, k.Components, k.Crds, k.Configurations, k.Patches, k.PatchesStrategicMerge,
			k.PatchesJSON6902, k.Replacements, k.OpenAPI, k.ConfigMapGenerator, k.SecretGenerator} {
			for _, name := range listPaths(named) {
				target := filepath.Join(directory, name)
				info, err := os.Stat(target)
				// A present path alone is not enough: kubectl kustomize takes some names for hosts even if a branch has
				// such a directory.
				if err != nil || !isLocal(name, info.IsDir()) {
					return nil, fmt.Errorf("%s names %q, which is no file or directory below it, and a review fetches nothing: put the "+
						"file into the repository, or build the manifests in the job, and review them by -f", path, name)
				}
				if info.IsDir() {
					below = append(below, target)
				}
			}
		}
	}
	return below, nil
}

// isLocal reports whether kubectl kustomize takes the name of a present file or directory for a path. It takes
// "https://example.com/x", "git@example.com:x" and "github.com/a/b" for remote resources, even if a branch has such
// directories. Of a directory, "example.com/a" is no path either, but "./example.com/a" is.
func isLocal(name string, isDirectory bool) bool {
	first, _, _ := strings.Cut(name, "/")
	isHost := isDirectory && strings.Contains(first, ".") && !strings.HasPrefix(first, ".")
	return !isHost && !filepath.IsAbs(name) && !strings.ContainsAny(name, ":@?%") && !strings.Contains(name, "//")
}

// listPaths returns the paths in a field of a kustomization: texts, and members path, files, env or envs. An inline
// patch has several lines, and an entry of files may have a key, as in "config.txt=dir/file.txt".
func listPaths(field any) (paths []string) {
	switch is := field.(type) {
	case string:
		// An inline patch names no file.
		if !strings.Contains(is, "\n") {
			paths = append(paths, is)
		}
	case []any:
		for _, one := range is {
			paths = append(paths, listPaths(one)...)
		}
	case map[string]any:
		for member, value := range is {
			switch strings.ToLower(member) {
			case "path", "env", "envs":
				paths = append(paths, listPaths(value)...)
			case "files":
				for _, path := range listPaths(value) {
					if _, after, hasKey := strings.Cut(path, "="); hasKey {
						path = after
					}
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}
