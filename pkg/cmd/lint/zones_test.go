// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
)

// writeManifests writes a Zone and a Record for each RRset of a zone file into a directory.
func writeManifests(t *testing.T, file string, origin name.Name) (path string, rrsets int) {
	in := must.Get(os.Open(file))(t)
	defer in.Close()
	type id struct {
		owner name.Name
		of    rdata.Type
	}
	sets, order, ttl := map[id][]zonefile.RR{}, []id{}, uint32(3600)
	for rr, err := range zonefile.Read(in, zonefile.ReadOptions{Origin: origin, TTL: &ttl}) {
		if err != nil {
			t.Logf("%s: %v", file, err)
			continue
		}
		if rr.Type == rdata.SOA {
			origin = rr.Name
			continue
		}
		k := id{rr.Name, rr.Type}
		if sets[k] == nil {
			order = append(order, k)
		}
		sets[k] = append(sets[k], rr)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: zone}\nspec: {domainName: %s, delegations: "+
		"[{namespace: default, records: [{pattern: '@'}, {pattern: '*'}]}]}\n", origin)
	for i, k := range order {
		fmt.Fprintf(&text, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: r%d}\nspec:\n  domainName: %q\n"+
			"  type: %s\n  ttl: %d\n  values:\n", i, k.owner.String(), k.of, sets[k][0].TTL)
		for _, rr := range sets[k] {
			fmt.Fprintf(&text, "  - %q\n", rr.Data)
		}
	}
	path = filepath.Join(t.TempDir(), "zone.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path, len(order)
}

// L2: a zone in use has no finding.
func TestLint_ofTheRootZone(t *testing.T) {
	path, rrsets := writeManifests(t, "../../../test/testdata/root-2018031200.zone", name.Root)
	found := lintAll(t, path)
	if rrsets < 2000 || found.Judged != rrsets+1 || len(found.Findings) > 0 {
		t.Errorf("%d RRsets, %d judged: %v", rrsets, found.Judged, found.Findings)
	}
}
