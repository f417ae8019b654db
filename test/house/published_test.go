// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"crypto/sha256"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Files of other projects are as they were published, each with its licence.
func TestPublished_isAsItsTableSays(t *testing.T) {
	for _, directory := range []string{"cmd/kubectl-kubizone/console/published", "test/console/published"} {
		t.Run(directory, func(t *testing.T) { comparePublished(t, directory) })
	}
}

func comparePublished(t *testing.T, directory string) {
	rows := regexp.MustCompile(`(?m)^\| (\S+) \| \S+ \| \S+ \| ([0-9a-f]{64}) \| (\S+) \|$`).FindAllStringSubmatch(
		readFile(t, directory+"/README.md"), -1)
	sums, licences := map[string]string{}, map[string]bool{}
	for _, row := range rows {
		sums[row[1]] = row[2]
		licences[row[3]] = true
	}
	if len(sums) == 0 {
		t.Fatal("the table has no row")
	}
	for _, p := range listFiles(t) {
		name := path.Base(p)
		switch {
		case path.Dir(p) != directory || name == "README.md":
		case strings.HasPrefix(name, "LICENSE."):
			if !licences[name] {
				t.Errorf("%s is the licence of no row", p)
			}
			delete(licences, name)
		default:
			if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(readFile(t, p)))); sum != sums[name] {
				t.Errorf("%s: the checksum is %s, and the table has %q", p, sum, sums[name])
			}
			delete(sums, name)
		}
	}
	for name := range sums {
		t.Errorf("%s/%s has a row, and is missing", directory, name)
	}
	for name := range licences {
		t.Errorf("%s/%s is named in a row, and is missing", directory, name)
	}
}
